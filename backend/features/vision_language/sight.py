"""Does a model behind a server see the picture that it is asked about?

Proxies and chat templates drop pictures, caches answer about an earlier one, and adapters exchange
yes and no: the answers look well and say nothing. It shows where the *same text* is asked about two
unlike pictures. Whether the model is any good is not judged here, only whether its answers change
with the picture, and not to the opposite.
"""

import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from PIL import Image, ImageDraw

from backend.engine.language_models.chat_model import ChatModel, Question
from backend.errors import PictureUnseen, QuestionRefused

Sight = Literal["sees", "blind", "stale", "reversed"]
#: Log-odds of yes that differ by less do not differ: numbers of 16 bits are a few hundredths to an
#: eighth apart. A model that is merely bad differs by more on at least one of several pairs.
SAME = 0.25
#: A mean difference of the log-odds of yes that is no chance: a factor of e.
CLEAR = 1.0
#: The longest description that is asked for, in tokens.
_LONGEST_DESCRIPTION = 60
DESCRIPTION = Question(
    "", "Describe this picture in one sentence.", temperature=0.0,
    longest_answer=_LONGEST_DESCRIPTION,
)  # fmt: skip
#: The colours of two squares that nobody takes for each other.
UNLIKE = ("red", "blue")
_ALTERNATIVES = 20
_SIDE = 448


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
    """Two whose truth nobody doubts."""
    red, green, blue = (drawn_square(colour) for colour in ("red", "green", "blue"))
    return [
        Example("A red square.", red, green, "A green square."),
        Example("A blue square.", blue, red, "A red square."),
    ]


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
    examples: Sequence[Example], p_yes: Callable[[Image.Image, str], float | None]
) -> list[Look]:
    """Ask about each example's two pictures, by turns its own first and the unlike one first; those
    that the model answers by neither yes nor no, or refuses, tell nothing and are left out."""
    looks = []
    for number, example in enumerate(examples):
        own_first = number % 2 == 0
        pictures = (
            (example.own_picture, example.unlike_picture)
            if own_first
            else (example.unlike_picture, example.own_picture)
        )
        try:
            answers = [p_yes(picture, example.text) for picture in pictures]
        except QuestionRefused:
            continue
        odds = [log_odds(p) for p in answers if p is not None]
        if len(odds) == len(pictures):
            first, second = odds if own_first else odds[::-1]
            looks.append(Look(example.text, first, second, own_first))
    return looks


def log_odds(p: float) -> float:
    """The log-odds of a probability, within ±9.2."""
    p = min(max(p, 1e-4), 1 - 1e-4)
    return math.log(p / (1 - p))


def sight_of(looks: Sequence[Look]) -> Sight:
    """What the answers say; *sees* if there are too few to say anything.

    *blind*: no answer changes with the picture; *stale*: they are about an earlier picture (the
    first one with a text, so that answers follow the order; or the one before); *reversed*: they
    change to the opposite."""
    if not _in_both_orders(looks):
        return "sees"
    early = [look.gain for look in looks if look.own_first]
    late = [look.gain for look in looks if not look.own_first]
    if max(map(abs, (*early, *late))) < SAME:
        is_first_kept = _mean([k.own_odds for k in looks if k.own_first]) >= CLEAR + _mean(
            [k.own_odds for k in looks if not k.own_first]
        )
        return "stale" if is_first_kept else "blind"
    if _mean(early) > -CLEAR or _mean(late) >= CLEAR:
        return "sees"
    return "reversed" if _mean(late) <= -CLEAR else "stale"


def _in_both_orders(looks: Sequence[Look]) -> bool:
    return {look.own_first for look in looks} == {True, False}


def check_answers(
    looks: Sequence[Look], sure_looks: Callable[[], Sequence[Look]], where: str
) -> None:
    """Raises PictureUnseen if these looks, and those at drawn examples, which are asked for only
    then, say that the model does not see, sees earlier pictures, or says the opposite. `where`: the
    model and its server."""
    if _in_both_orders(looks) and sight_of(looks) == "sees":
        return
    sure = sure_looks()
    all_looks = [*looks, *sure]
    sight = sight_of(all_looks)
    # A doubtful dataset's captions may be wrong, and its pictures may look alike to the model.
    if sight == "sees" or (sure and _mean([look.gain for look in sure]) >= CLEAR):
        return
    raise PictureUnseen(f"{where} {_REASONS[sight]} {in_words(all_looks)}", sight=sight)


_REASONS: dict[Sight, str] = {
    "blind": "does not see the pictures: its answers to the same question do not change with the "
    "picture. The server, or what lies before it, removes the picture, or the model has no vision.",
    "stale": "answers about earlier pictures, not about the one that is sent. Switch the server's "
    "prefix cache off, or update the server.",
    "reversed": "says the opposite of what the pictures show: yes and no seem to be exchanged.",
}


def in_words(looks: Sequence[Look]) -> str:
    """The numbers of a check, for people."""
    listing = "; ".join(
        f"'{look.text[:60]}' {_p(look.own_odds):.2f} and {_p(look.unlike_odds):.2f}"
        for look in looks
    )
    return f"P(yes) of a text about its own and about another picture: {listing}."


def check_descriptions(model: ChatModel, questions: Sequence[Question], where: str) -> None:
    """Ask each of these questions about two unlike pictures, until the answers differ. Raises
    PictureUnseen if they never do, and are not empty. Those answers are not kept: the server may be
    repaired."""
    questions_sent: list[Question] = []
    answer = ""
    for question in _descriptions(questions):
        pair = about_unlike_pictures(question)
        questions_sent += pair
        texts = [" ".join(model.ask(each).text.split()) for each in pair]
        if len(set(texts)) > 1:
            return
        answer = texts[0] or answer
    for question in questions_sent:
        model.kept.forget(question)
    if not answer:  # nothing readable: the run itself says so
        return
    raise PictureUnseen(
        f"{where} does not see the pictures: asked the same about a red and about a blue square, "
        f"it answers the same: '{answer[:120]}'. The server, or what lies before it, removes the "
        "picture or answers about an earlier one, or the model has no vision.",
        sight="blind",
    )


def _descriptions(questions: Sequence[Question]) -> Iterator[Question]:
    yield from questions
    yield DESCRIPTION


def about_unlike_pictures(question: Question) -> list[Question]:
    """The question about each of `UNLIKE`."""
    return [replace(question, image=encode(drawn_square(colour))) for colour in UNLIKE]


def encode(image: Image.Image) -> bytes:
    into = io.BytesIO()
    image.save(into, "JPEG", quality=92)
    return into.getvalue()


def _p(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
