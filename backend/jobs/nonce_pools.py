"""Nonces of the session's scorer, computed once and stored in the data folder."""

import logging
import os
import re
from pathlib import Path

from backend.engine.phrases.attribution import check_scorer
from backend.engine.phrases.nonce import NoncePools, make_pools
from backend.loaded_models import Engine

log = logging.getLogger(f"traced.{__name__}")


def nonce_pools(engine: Engine) -> NoncePools:
    """The pools of the session's scorer: read from file, or computed now (a minute at most).

    A damaged file is replaced, with a warning. Raises SettingsError for LEMoN.
    """
    with engine.lock:
        scorer = engine.scorer
        check_scorer(scorer)
        path = _file(engine)
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


def _file(engine: Engine) -> Path:
    info = engine.scorer.info
    revision = re.sub(r"[^\w.-]", "_", info.revision)[:80]
    return engine.settings.data_directory / "nonces" / f"{info.kind}-{revision}.json"
