"""The issues of a picture beside its pair."""

from backend.features.quality.part import PART
from tests.hostile.markup import check_escaping
from tests.traced_ui.samples import pair
from traced_ui.review_page import stage


def drawn(*issues: str) -> str:
    return stage(pair("A dog", parts={PART.name: issues}))


def test_each_issue_is_a_label() -> None:
    assert "picture: odd size" in drawn("odd_size")
    assert "picture: " not in drawn()


def test_hostile_text_is_escaped() -> None:
    check_escaping("picture_issues.html", lambda text: drawn(text), is_whole=False)
