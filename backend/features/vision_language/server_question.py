"""The question to a server whether a picture shows a caption."""

from collections.abc import Sequence

from PIL import Image

from backend.engine.claims.finding import find_claims
from backend.engine.constants.part import ConstantPart
from backend.engine.language_models.asking import LONGEST_CAPTION, encode_picture
from backend.engine.language_models.chat_model import Question
from backend.features.vision_language.caption_question import CAPTION, one_line, read_prompt

#: Alternatives requested: the most that OpenAI and vLLM report.
_ALTERNATIVES = 20


def question_about(image: Image.Image, caption: str) -> Question:
    """Whether the picture shows the caption, to be answered by one token."""
    statement = one_line(caption[:LONGEST_CAPTION])
    text = read_prompt().text.replace(CAPTION, statement)
    return Question(
        "", text, temperature=0.0, longest_answer=1, image=encode_picture(image),
        alternatives=_ALTERNATIVES, statement=statement,
    )  # fmt: skip


def without_constants(caption: str, constants: Sequence[ConstantPart]) -> str:
    """What a model is asked about where a caption is one claim: all of it but its constant parts.
    Of a caption with one in its middle, what stands before it.

    >>> without_constants("Ohwx, a dog.", [ConstantPart(("ohwx",), "begin")])
    'a dog.'
    """
    return find_claims(caption, "whole", constants=constants)[0].question(caption)
