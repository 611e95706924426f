"""What each phrase of a caption contributes to its match with a picture, by a session's scorer."""

import logging
import os
import re
from collections.abc import Sequence
from typing import Any

from backend.engine import memory
from backend.engine.captions import Caption
from backend.engine.phrases.attribution import PhraseScore, attribute_phrases, check_scorer
from backend.engine.phrases.nonce import NoncePools, Nonces, make_pools
from backend.loaded_models import Engine

log = logging.getLogger(f"traced.{__name__}")


def phrase_scores(
    engine: Engine, pools: NoncePools, requests: Sequence[tuple[Any, str]]
) -> list[tuple[PhraseScore, ...]]:
    """The phrases of each (image state, caption), in order."""
    with engine.lock:
        nonces = Nonces(engine.scorer.reader, pools)
        pairs = ((state, Caption.parse(caption)) for state, caption in requests)
        phrases = [scores for _, scores in attribute_phrases(engine.scorer, pairs, nonces)]
    memory.release()
    return phrases


def nonce_pools(engine: Engine) -> NoncePools:
    """The pools of the session's scorer: read from file, or computed now (a minute at most).

    A damaged file is replaced, with a warning. Raises SettingsError for LEMoN.
    """
    with engine.lock:
        scorer = engine.scorer
        check_scorer(scorer)
        revision = re.sub(r"[^\w.-]", "_", scorer.info.revision)[:80]
        path = engine.settings.data_directory / "nonces" / f"{scorer.info.kind}-{revision}.json"
        if path.exists():
            try:
                return NoncePools.from_json(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as problem:
                log.warning(
                    "The nonces in %s cannot be read (%s) and are created again.", path, problem
                )
        pools = make_pools(scorer.reader, scorer.open_session().embed)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.part")
    temporary.write_text(pools.to_json(), encoding="utf-8")
    temporary.replace(path)
    return pools
