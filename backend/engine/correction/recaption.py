"""New captions from the image alone, for captions that are entirely wrong."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backend.engine.correction.shortening import tidy
from backend.engine.correction.suggestion import CorrectionContext, Proposer

if TYPE_CHECKING:
    from backend.engine.correction.captioner import Captioner


def propose(
    contexts: Sequence[CorrectionContext], captioner: "Captioner | None"
) -> list[list[str]]:
    """The captioner's own caption of each image, with the capital letter and final punctuation of
    the old one; nothing without a captioner."""
    if captioner is None:
        return [[] for _ in contexts]
    memories = [
        context.memory if context.memory is not None else captioner.see(context.image)
        for context in contexts
    ]
    return [
        [tidy(text.rstrip(" ."), context.caption.text)]
        for context, text in zip(contexts, captioner.describe_all(memories), strict=True)
    ]


PROPOSER = Proposer("described anew", propose)
