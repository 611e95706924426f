"""The texts of verdicts are defined in one place, and the lists on the pages are complete."""

from backend.measures import order_names
from backend.verdict_texts import TEXTS
from db.decisions import ACTS, DECISIONS, REVIEWS
from traced_ui import api, review_labels


def test_every_verdict_has_its_texts() -> None:
    assert tuple(TEXTS) == tuple(ACTS) == DECISIONS
    assert set(review_labels.DECISIONS) == set(DECISIONS) - {"correction"}  # a correction is typed
    documented = api.decide.__doc__ or ""
    assert [name for name in DECISIONS if f"'{name}'" not in documented] == [], "traced_ui/api.py"


def test_every_order_and_every_review_state_can_be_chosen_on_the_page() -> None:
    assert {*review_labels.ORDERS, *review_labels.TABLE_ORDERS} == set(order_names())
    assert set(review_labels.SHOWS) == set(REVIEWS)
