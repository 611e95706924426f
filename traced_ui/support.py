"""How well the image supports each phrase of a caption: one chip per phrase, in caption order.

The caption itself is not shaded, because shading marks suspect words. Hollow is not wrong, so a
chip states the change in s without judging it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from backend.engine.detection.localisation import most_suspect
from backend.engine.detection.types import SuspectWord
from backend.review.views import PairView, PhraseView, SuggestionView
from traced_ui.differences import readable
from traced_ui.templates import ordinal, part, percent, render

HELP = (
    "How much s falls, for this model, when a phrase is made meaningless by replacing its head "
    "with a nonsense word. Our reading of Counterfactual Phrase Intervention. Hollow is not wrong."
)
_DOUBTFUL = " · suspect, and yet supported more than usual: the scorer is not sure about this word"


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


def phrase_chips(
    caption: str, phrases: Sequence[PhraseView], suspects: Sequence[SuspectWord] = ()
) -> Markup:
    """A list of chips; a bar left of centre means the caption fits better without the phrase.
    `suspects`: those of the caption's words. Nothing without any chip."""
    return part("phrase_chips", _chips(caption, phrases, suspects))


def phrases_section(
    caption: str,
    phrases: Sequence[PhraseView] | None,
    support: float | None,
    note: str = "",
    suspects: Sequence[SuspectWord] = (),
) -> Markup | None:
    """The collapsed line below the trajectory; None if phrases were not measured."""
    if phrases is None:
        return None
    chips = _chips(caption, phrases, suspects)
    return render("review/phrases.html", chips=chips, support=support, help=HELP, note=note)


def _chips(
    caption: str, phrases: Sequence[PhraseView], suspects: Sequence[SuspectWord]
) -> list[PhraseChip]:
    """Without the phrases that could not be tested and have a tinted word: of these the caption
    says more."""
    tinted = most_suspect(caption, suspects)
    phrases = [
        view
        for view in phrases
        if view.pas is not None
        or not any(word.start < view.end and view.start < word.end for word in tinted)
    ]
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


def enrichments(view: PairView) -> Markup | None:
    """Suggested richer captions, shown below the corrections; None if there are none."""
    if not view.suggestions.enrichments:
        return None
    suggestions = [
        (suggestion, readable(view.caption, suggestion.caption), _facts(suggestion))
        for suggestion in view.suggestions.enrichments[:3]
    ]
    return render("review/enrichments.html", suggestions=suggestions)


def _facts(suggestion: SuggestionView) -> list[str]:
    """The proposer of a suggestion, and its scores before and after."""
    facts = [suggestion.proposer]
    if suggestion.ranks is not None:
        before, after, of = suggestion.ranks
        facts.append(f"{ordinal(before)} → {ordinal(after)} of {of}")
    facts.append(f"match {suggestion.s_before:.3f} → {suggestion.s_after:.3f}")
    if suggestion.p_before is not None and suggestion.p_after is not None:
        facts.append(f"{percent(suggestion.p_before)} → {percent(suggestion.p_after)} likely wrong")
    if suggestion.icc is not None:
        before_icc, after_icc = suggestion.icc
        facts.append(f"concreteness {before_icc:.2f} → {after_icc:.2f}")
    return [*facts, *suggestion.notes]
