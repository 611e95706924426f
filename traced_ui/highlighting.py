"""The caption with its words shaded by suspicion.

Colour is never the only cue: suspect words are also underlined, thicker the more suspect, so that
no one has to distinguish colours. The text is the user's, byte for byte.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from backend.engine.captions import Caption
from backend.engine.detection.localisation import VISIBLE
from backend.engine.detection.types import SuspectWord
from traced_ui.templates import render


def highlighted_caption(
    caption: str,
    suspects: Sequence[SuspectWord],
    words_read: int | None = None,
    gains: Sequence[float] = (),
    removal: Mapping[int, int] | None = None,
    wrong: Collection[tuple[int, int]] | None = None,
    expected: Sequence[str] = (),
    named: Collection[SuspectWord] | None = None,
) -> Markup:
    """The caption as a paragraph; words are shaded by suspicion, and hovering shows the number.

    `words_read`: words beyond this number are marked as not read by the model. `gains`: what
    deleting the word alone adds to s, shown on hover, as is `removal`: the step at which a word was
    removed, from which on the page strikes it out. `wrong`: character ranges of the
    words that a curator marked as wrong; None disables marking. `expected`: what a captioner
    expected in place of each word ("cat 0.61, dog 0.20"), shown on hover. `named`: the words to
    shade; None: all that are suspect enough.
    """
    shaded = {(word.start, word.end) for word in suspects if word.score >= VISIBLE}
    if named is not None:
        shaded = {(word.start, word.end) for word in named}
    score = {(suspect.start, suspect.end): suspect.score for suspect in suspects}
    pieces: list[_Piece] = []
    position = 0
    for index, (start, end) in enumerate(Caption.parse(caption).spans):
        pieces.append(_Piece(caption[position:start]))
        is_read = words_read is None or index < words_read
        called_wrong = None if wrong is None else (start, end) in wrong
        suspicion = score.get((start, end), 0.0)
        gain = gains[index] if index < len(gains) else None
        step = (removal or {}).get(index)
        instead = expected[index] if index < len(expected) else ""
        hint = (
            _hint(suspicion, gain, step, instead) if is_read else "beyond the model's limit"
        ) + _mark_hint(called_wrong)
        pieces.append(
            _Piece(
                caption[start:end],
                index,
                suspicion,
                step,
                is_read,
                called_wrong,
                hint,
                start,
                (start, end) in shaded,
            )
        )
        position = end
    pieces.append(_Piece(caption[position:]))
    return render("caption.html", pieces=pieces)


@dataclass(frozen=True)
class _Piece:
    """A word, or (`index` None) the text between two words."""

    text: str
    index: int | None = None
    suspicion: float = 0.0
    gone: int | None = None
    is_read: bool = True
    wrong: bool | None = None
    hint: str = ""
    start: int = 0
    is_shaded: bool = False

    @property
    def classes(self) -> str:
        kinds = {
            "word": True,
            "suspect": self.is_shaded,
            "unread": not self.is_read,
            "wrong": bool(self.wrong),
        }
        return " ".join(kind for kind, holds in kinds.items() if holds)


def _hint(suspicion: float, gain: float | None, step: int | None, expected: str = "") -> str:
    hint = f"suspicion {suspicion:.2f}"
    if gain is not None:
        hint += f" · without just this word s changes by {gain:+.3f}"
    if step is not None:
        hint += f" · removed at step {step}"
    if expected:
        hint += f" · the captioner expected: {expected}"
    return hint


def _mark_hint(called_wrong: bool | None) -> str:
    if called_wrong is None:
        return ""
    return " · marked wrong; click to unmark" if called_wrong else " · click to mark as wrong"
