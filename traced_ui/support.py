"""How well the image supports each phrase of a caption: one chip per phrase, in caption order.

The caption itself is not shaded, because shading marks suspect words. Hollow is not wrong, so a
chip states the change in s without judging it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from backend.review.views import PhraseView
from traced_ui.templates import part, render

HELP = (
    "How much s falls, for this model, when a phrase is made meaningless by replacing its head "
    "with a nonsense word. Our reading of Counterfactual Phrase Intervention. Hollow is not wrong."
)
_DOUBTFUL = " · suspect, and yet supported more than usual: the scorer is unsure about this word"


@dataclass(frozen=True)
class PhraseChip:
    """One phrase for display. `left`, `share`: start and length of its bar, as fractions of the
    width; `is_unsure`: the choice of nonsense word matters more than the phrase; `is_doubtful`: it
    contains a suspect word, and is supported nevertheless."""

    text: str
    kind: str
    message: str
    is_tested: bool = False
    is_against: bool = False
    is_unsure: bool = True
    is_doubtful: bool = False
    pas: float = 0.0
    left: float = 0.5
    share: float = 0.0


def phrase_chips(caption: str, phrases: Sequence[PhraseView]) -> Markup:
    """A list of chips; a bar left of centre means the caption fits better without the phrase."""
    return part("phrase_chips", _chips(caption, phrases))


def phrases_section(
    caption: str, phrases: Sequence[PhraseView] | None, support: float | None, note: str = ""
) -> Markup | None:
    """The collapsed line below the trajectory; None if phrases were not measured."""
    if phrases is None:
        return None
    chips = _chips(caption, phrases)
    return render("review/phrases.html", chips=chips, support=support, help=HELP, note=note)


def _chips(caption: str, phrases: Sequence[PhraseView]) -> list[PhraseChip]:
    largest = max((abs(view.pas) for view in phrases if view.pas is not None), default=0.0)
    return [_chip(caption[view.start : view.end], view, largest) for view in phrases]


def _chip(text: str, view: PhraseView, largest: float) -> PhraseChip:
    if view.pas is None or view.spread is None:
        message = f"{view.kind} · not tested: no nonsense word fits, or it is not recognised"
        return PhraseChip(text, view.kind, message)
    moves = "falls" if view.pas >= 0 else "rises"
    half = view.pas / largest / 2 if largest else 0.0
    return PhraseChip(
        text,
        view.kind,
        f"{view.kind} · s {moves} by {abs(view.pas):.3f} ± {view.spread:.3f} when it is made "
        f"meaningless{_DOUBTFUL if view.suspect_yet_supported else ''}",
        is_tested=True,
        is_against=view.pas < 0,
        is_unsure=view.spread > abs(view.pas),
        is_doubtful=view.suspect_yet_supported,
        pas=view.pas,
        left=0.5 + min(half, 0.0),
        share=abs(half),
    )
