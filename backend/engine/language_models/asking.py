"""What all questions about captions and pictures have in common: their limits, the picture as it
is sent, and the second question after an answer that cannot be read.
"""

import io
from functools import cache
from pathlib import Path

from PIL import Image

from backend.engine.language_models.chat_model import Question, harmless

FOLDER = Path(__file__).parent / "prompts"
#: Longer side (pixels) to which images are downscaled before they are sent; models use no more.
LONGEST_SIDE = 1024
#: In tokens.
LONGEST_ANSWER = 600
#: Characters of a caption in a prompt, so that a pasted book is never sent anywhere.
LONGEST_CAPTION = 4_000


def reason_to_skip(caption: str) -> str:
    """Why no model is asked about a caption, "" if nothing speaks against it: an answer replaces
    the whole caption, and the prompt would show only a part of it, or show it changed."""
    text = caption.strip()
    if len(text) > LONGEST_CAPTION:
        return "caption too long to ask"
    if len(text.splitlines()) > 1:
        return "caption of several lines"
    return "caption with < or >" if set("<>") & set(text) else ""


def ask_again(original: Question, answer: str, problem: str) -> Question:
    """The same question, followed by what was wrong with the first answer."""
    repair = (
        _repair_prompt().replace("{problem}", problem).replace("{answer}", harmless(answer[:300]))
    )
    return Question(
        original.system, f"{original.user}\n\n{repair}", temperature=0.0, seed=1,
        longest_answer=2 * original.longest_answer, image=original.image, schema=original.schema,
    )  # fmt: skip


@cache
def _repair_prompt() -> str:
    return (FOLDER / "repair.md").read_text("utf-8")


def encode_picture(image: Image.Image) -> bytes:
    """The picture as it is sent: JPEG without metadata, at most LONGEST_SIDE pixels per side."""
    picture = image.convert("RGB")
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    into = io.BytesIO()
    picture.save(into, "JPEG", quality=92)
    return into.getvalue()
