"""Does a model behind a server see the picture that it is asked about?

Proxies and chat templates drop pictures, caches answer about an earlier one, and adapters exchange
yes and no: the answers look well and say nothing. It shows where the *same text* is asked about two
pictures. `sight_proof` tells how many such looks it takes.
"""

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.engine.language_models.chat_model import ChatModel, Question
from backend.errors import PictureUnseen, QuestionRefused

#: The longest description that is asked for, in tokens.
_LONGEST_DESCRIPTION = 60
DESCRIPTION = Question(
    "", "Describe this picture in one sentence.", temperature=0.0,
    longest_answer=_LONGEST_DESCRIPTION,
)  # fmt: skip
#: The colours of two squares that nobody takes for each other.
UNLIKE = ("red", "blue")
#: Each is described, one of them perhaps twice.
MOST_OF_DESCRIPTION = 3
_ALTERNATIVES = 20
_SIDE = 448
#: Looks that a message lists.
_LISTED = 5
#: As long as each other, so that neither colours nor coarse shapes tell them apart.
_WORDS = ("apple", "horse", "music", "river", "chair", "light", "stone")


@dataclass(frozen=True)
class Look:
    """The log-odds of yes to one text, about its `own` picture and about an `unlike` one.
    `own_first`: the own picture was asked about first."""

    text: str
    own_odds: float
    unlike_odds: float
    own_first: bool

    @property
    def gain(self) -> float:
        return self.own_odds - self.unlike_odds

    def is_right(self, middle: float) -> bool:
        """Whether yes is said about the own picture alone, where `middle` of the log-odds is
        neither yes nor no."""
        return self.own_odds > middle >= self.unlike_odds


@dataclass(frozen=True)
class Example:
    """A text that its own picture shows, and the unlike one does not. `unlike_text`: what the
    unlike one shows; it is asked about in the same request where a server takes several texts, so
    that answers in each other's places show too."""

    text: str
    own_picture: Image.Image
    unlike_picture: Image.Image
    unlike_text: str = ""


def drawn_examples() -> list[Example]:
    """Printed words, whose truth nobody doubts; each picture is one text's own and another's unlike
    one."""
    texts = [f'The word "{word}".' for word in _WORDS]
    pictures = [drawn_word(word) for word in _WORDS]
    return [
        Example(text, own, unlike, unlike_text)
        for text, own, unlike, unlike_text in zip(
            texts, pictures, (*pictures[1:], pictures[0]), (*texts[1:], texts[0]), strict=True
        )
    ]


@cache
def drawn_word(word: str) -> Image.Image:
    """A word in large print, black on white."""
    picture = Image.new("RGB", (_SIDE, _SIDE), "white")
    ImageDraw.Draw(picture).text(
        (_SIDE / 2, _SIDE / 2), word.upper(), "black", ImageFont.load_default(_SIDE // 5), "mm"
    )
    return picture


@cache
def drawn_square(colour: str) -> Image.Image:
    """A square of this colour on white."""
    picture = Image.new("RGB", (_SIDE, _SIDE), "white")
    edge = _SIDE // 6
    ImageDraw.Draw(picture).rectangle((edge, edge, _SIDE - edge, _SIDE - edge), fill=colour)
    return picture


def question_about(image: Image.Image, text: str) -> Question:
    """A question that is answered by yes or no, with the log-probabilities of both."""
    return Question(
        "", f"Does this picture show the following? Answer yes or no.\n{text}", temperature=0.0,
        longest_answer=1, image=encode(image), alternatives=_ALTERNATIVES, statement=text,
    )  # fmt: skip


def look_at(
    examples: Sequence[Example],
    p_yes: Callable[[Image.Image, str], float | None],
    at_once: int = 1,
) -> list[Look]:
    """Ask about one picture of each example, by turns its own and the unlike one, then about the
    other. `at_once`: questions in flight, as many as in the work that is to be checked: servers
    mix up answers only then. Examples that the model answers by neither yes nor no, or refuses,
    tell nothing and are left out."""

    def odds(question: tuple[Image.Image, str]) -> float | None:
        try:
            p = p_yes(*question)
        except QuestionRefused:
            return None
        return None if p is None else log_odds(p)

    # In no plain alternation: a server that is one answer behind would seem to exchange yes and no.
    turns = [(example, number % 4 in (0, 3)) for number, example in enumerate(examples)]
    first = [(e.own_picture if own_first else e.unlike_picture, e.text) for e, own_first in turns]
    then = [(e.unlike_picture if own_first else e.own_picture, e.text) for e, own_first in turns]
    with DaemonPool(at_once) as pool:
        answers = zip(turns, pool.map(odds, first), pool.map(odds, then), strict=True)
    return [
        Look(example.text, *((one, other) if own_first else (other, one)), own_first)
        for (example, own_first), one, other in answers
        if one is not None and other is not None
    ]


def log_odds(p: float) -> float:
    """The log-odds of a probability, within ±9.2."""
    p = min(max(p, 1e-4), 1 - 1e-4)
    return math.log(p / (1 - p))


def in_words(looks: Sequence[Look]) -> str:
    """The first numbers of a check, for people."""
    listing = "; ".join(
        f"'{look.text[:60]}' {_p(look.own_odds):.2f} and {_p(look.unlike_odds):.2f}"
        for look in looks[:_LISTED]
    )
    return f"P(yes) of a text about its own and about another picture: {listing}."


def check_descriptions(model: ChatModel, questions: Sequence[Question], where: str) -> None:
    """Ask each of these questions, and `DESCRIPTION`, about two unlike pictures, until the answers
    depend on them: they name what is shown, or differ, and the first one is given a second time.
    Raises PictureUnseen if they never do, and are not empty. Those answers are not kept: the server
    may be repaired."""
    questions_sent: list[Question] = []
    answer, fault = "", ""
    for question in (*questions, DESCRIPTION):
        pair = about_unlike_pictures(question)
        questions_sent += pair
        is_known = model.kept.read(pair[0]) is not None  # it was seen to see
        one, other = (_words_of(model, each) for each in pair)
        if one != other:
            if is_known or names_squares(one, other):
                return
            model.kept.forget(pair[0])
            if _words_of(model, pair[0]) == one:
                return
            fault = fault or f"it answers at random: '{one[:60]}' and '{other[:60]}'"
        answer = one or other or answer
    for question in questions_sent:
        model.kept.forget(question)
    if not answer:  # nothing readable: the run itself says so
        return
    symptom = fault or f"it answers the same: '{answer[:120]}'"
    raise PictureUnseen(
        f"{where} does not see the pictures: asked the same about a red and about a blue square, "
        f"{symptom}. The server, or what lies before it, removes the picture or answers about an "
        "earlier one, or the model has no vision.",
        sight="unclear" if fault else "blind",
    )


def _words_of(model: ChatModel, question: Question) -> str:
    return " ".join(model.ask(question).text.split())


def names_squares(one: str, other: str) -> bool:
    """Whether descriptions of the two squares each name the colour that is shown, and it alone: no
    chance. In other words than English a model names none.

    >>> names_squares("A red square.", "A blue box."), names_squares("A square.", "A blue box.")
    (True, False)
    """
    return _names(one, 0) and _names(other, 1)


def _names(text: str, shown: int) -> bool:
    """Whether a description names this colour of `UNLIKE`, and not the other."""
    words = re.findall("[a-z]+", text.lower())
    return UNLIKE[shown] in words and UNLIKE[1 - shown] not in words


def about_unlike_pictures(question: Question) -> list[Question]:
    """The question about each of `UNLIKE`."""
    return [replace(question, image=encode(drawn_square(colour))) for colour in UNLIKE]


def encode(image: Image.Image) -> bytes:
    into = io.BytesIO()
    image.save(into, "JPEG", quality=92)
    return into.getvalue()


def _p(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
