"""New captions from the image alone, for captions that are entirely wrong."""

from backend.engine.correction.proposing import AskDescription, Proposing
from backend.engine.correction.suggestion import CorrectionContext, Proposer
from backend.engine.english.shortening import tidy


def propose(context: CorrectionContext) -> Proposing:
    """The captioner's own caption of the image, with the capital letter and final punctuation of
    the old one."""
    text: str = yield AskDescription()
    return [in_form(text, context.caption.text)]


def in_form(description: str, model: str) -> str:
    """A captioner's text with the capital letter and final punctuation of the caption `model`.

    >>> in_form("a dog on sand .", "A cat.")
    'A dog on sand.'
    """
    return tidy(description.rstrip(" ."), model)


PROPOSER = Proposer("described anew", propose)
