"""s = P(yes) / (P(yes) + P(no)) at the first token of the answer."""

import logging
from collections.abc import Sequence
from functools import cached_property

from backend.engine.embeddings import embed
from backend.engine.model_fit import probe
from backend.engine.scoring.independent import Independent
from backend.engine.scoring.protocol import FloatArray, Session
from backend.engine.scoring.vqa.asked_model import AskedModel
from backend.engine.scoring.vqa.packed_session import PackedSession, is_exact
from backend.engine.scoring.vqa.plain_session import PlainSession

log = logging.getLogger(f"traced.{__name__}")


class VqaScorer(AskedModel, Independent):
    """c comes from the sentence model: a chat model has no vector for a caption."""

    def open_session(self) -> Session:
        return PackedSession(self) if self.shares_prefixes else PlainSession(self)

    @cached_property
    def shares_prefixes(self) -> bool:
        """Whether packed sessions are exact with this model; tried out once."""
        exact = is_exact(self, self.encode_images([probe()])[0])
        if not exact:
            log.warning("%s reads each caption by itself: slow.", self.info.model)
        return exact

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        return embed(captions)
