"""What the review page calls verdicts, orders and filters."""

from typing import Any

from backend.measures import MEASURES, filter_names
from backend.review.queue_form import EXTRA, REVERSED
from backend.review.views import VerdictView
from backend.verdict_texts import ENRICHED, ENRICHMENT, TEXTS, UNDECIDED, judgement
from traced_ui.keyboard import KEYS

#: Verdicts with a button: (key shown, button text, explanation).
DECISIONS = {
    key.action: (key.shown, text.button, key.description)
    for key in KEYS
    for verdict, text in TEXTS.items()
    if verdict == key.action
}
#: Verdict labels in lists of pairs.
SHORT: dict[str, str] = {verdict: text.listed for verdict, text in TEXTS.items()}
#: The same for judgements: an accepted enrichment is not a correction.
LISTED: dict[str, str] = {**SHORT, ENRICHED: ENRICHMENT.listed}
ORDERS = {
    **{name: MEASURES[name].order or f"by {MEASURES[name].title}" for name in filter_names()},
    "uncertainty": "most uncertain",
    "random": "check a random sample",
    "position": "as imported",
    "picture": "by picture",
}
#: Orders that only the heads of the table offer.
TABLE_ORDERS = {
    "external_id": "by id", "caption": "by caption", "split": "by split",
    "decision": "by verdict", "note": "by note", "tag": "by tag",
}  # fmt: skip
SHOWS = {
    "unreviewed": UNDECIDED, "decided": "decided", "all": "all", "disputed": "disputed",
}  # fmt: skip
#: Display names of the measures with range filters.
MEASURE_TITLES = {name: MEASURES[name].title for name in filter_names()}


def order_label(order: str) -> str:
    """
    >>> order_label("-caption"), order_label("extra:width"), order_label("s_0")
    ('by caption, reversed', 'by width', 'lowest match')
    """
    name = order.removeprefix(REVERSED)
    label = {**ORDERS, **TABLE_ORDERS}.get(name, f"by {name.removeprefix(EXTRA)}")
    return label if name == order else f"{label}, reversed"


def by_order(row: Any, order: str) -> str:
    """The number by which a queue in this order sorts a row; "" if it has none or p is the order.

    >>> from types import SimpleNamespace
    >>> by_order(SimpleNamespace(numbers={"support": -0.4321}), "support")
    'backed -0.43'
    >>> by_order(SimpleNamespace(numbers={"support": None}), "support"), by_order(None, "random")
    ('', '')
    """
    measure = MEASURES.get(order.removeprefix(REVERSED))
    if measure is None or not measure.word:  # p is always shown
        return ""
    value = row.numbers.get(measure.name)
    return "" if value is None else f"{measure.word} {measure.write(value)}"


def state_after(act: VerdictView) -> str:
    """The state of a pair after a verdict, in words."""
    if act.claim:
        label = {True: "right", False: "wrong", None: "taken back"}[act.is_right]
        return f"claim {label}: “{act.claim}”"
    if act.decision:
        return LISTED[judgement(act.decision, act.enriches) or ""]
    text = f"edited, {UNDECIDED}" if act.corrected_caption else UNDECIDED
    return f"undone: {text}" if act.is_undo else text


def verdict_label(action: str) -> str:
    """The label in lists of the verdict that an action would give; the action if it gives none.

    >>> verdict_label("suggestion-2"), verdict_label("enrich-1"), verdict_label("jump")
    ('✎ corrected', '✎ enriched', 'jump')
    """
    if action.startswith("enrich-"):
        return LISTED[ENRICHED]
    if action in CLAIM_ACTS:
        return CLAIM_ACTS[action]
    return LISTED.get("correction" if action.startswith("suggestion-") else action, action)


#: What the page reports of an act on a claim.
CLAIM_ACTS = {
    "claim-right": "Claim right.",
    "claim-wrong": "Claim wrong.",
    "claim-clear": "Label taken back.",
    "claim-remove": "Claim taken out.",
}
