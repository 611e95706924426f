"""How specific a caption is: the rank of its own picture, and the pictures that it fits better.

The strip of these pictures is the purpose of the measure: what they have in common with the caption
is what it says, and what distinguishes its own picture from them is what it leaves out.
"""

import math

from markupsafe import Markup

from backend.review.views import PairView, SuggestionView
from traced_ui.differences import readable
from traced_ui.markup import percent
from traced_ui.templates import render

#: Pictures in the strip; the link leads to all of them.
SHOWN = 7


def ordinal(number: int) -> str:
    """
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 21, 112)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st', '112th']
    """
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def line(view: PairView) -> Markup | None:
    """The sentence, with the strip if there is one; None if the caption was not measured."""
    retrieval = view.specificity
    if retrieval is None:
        return None
    return render(
        "review/specificity.html", retrieval=retrieval, rank=ordinal(retrieval.rank),
        share=math.exp(retrieval.log_share), shown=SHOWN, may_enrich=view.may_enrich,
    )  # fmt: skip


def enrichments(view: PairView) -> Markup | None:
    """Suggested richer captions, shown below the corrections; None if there are none."""
    if not view.enrichments:
        return None
    suggestions = [
        (suggestion, readable(view.caption, suggestion.caption), _facts(suggestion))
        for suggestion in view.enrichments[:3]
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
        facts.append(f"concrete–vague {before_icc:.2f} → {after_icc:.2f}")
    return [*facts, *suggestion.notes]
