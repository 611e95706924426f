"""A new caption from the image alone: where all of the old one is wrong, nothing of it helps."""

from backend.correction.captioner import Captioner
from backend.correction.from_trajectory import tidy
from backend.correction.suggestion import Case

PROPOSER = "described anew"


def propose(case: Case, captioner: Captioner) -> str:
    """The captioner's own caption, with a full stop if the old one has one."""
    caption = tidy(captioner.describe(case.image).rstrip(" ."))
    return caption + "." if case.caption.text.rstrip().endswith(".") and caption else caption
