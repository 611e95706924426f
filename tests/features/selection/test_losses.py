"""The losses of a selection as sentences, shown by the command line and the Export page."""

from dataclasses import replace

import pytest

from backend.features.selection.options import TwoStage
from backend.features.selection.part import render_in, selection_html
from backend.features.selection.report import SelectionLosses, SelectionReport
from tests.hostile.markup import check_escaping

NOTHING = SelectionLosses(kinds={}, short=None, words=0, examples=(), splits={}, images=0)
REPORT = SelectionReport(
    dataset_id=7, choice=TwoStage(), taking_part=200, pool=140, kept=100, decided=0, edited=0,
    align_line=0.3, keep_line=0.1, refitted=False, lost=NOTHING,
)  # fmt: skip


def lines(**lost: object) -> list[str]:
    return replace(REPORT, lost=replace(NOTHING, **lost)).losses_in_words()  # pyrefly: ignore[bad-argument-type]


@pytest.mark.parametrize(
    ("share", "is_thin"), [(0.5, False), (0.41, False), (0.39, True), (0.0, True), (1.0, False)]
)
def test_a_split_that_loses_ten_points_more_than_the_whole_is_named(
    share: float, is_thin: bool
) -> None:
    """Half of the pairs are kept."""
    expected = (
        [f"Splits that lose more than the dataset as a whole: val {share:.0%}."] if is_thin else []
    )
    assert lines(splits={"train": 0.5, "val": share}) == expected


def test_the_export_page_says_what_is_lost_and_links_to_it() -> None:
    report = replace(
        REPORT,
        lost=replace(NOTHING, words=1, examples=("<b>zebra</b>",), splits={"val": 0.1}),
        stays={"review": "unreviewed", "s_0_from": "0.3"},
        goes={"lowest match": {"order": "s_0", "s_0_to": "0.29"}},
        notes=("2 pairs of the first stage have no support and go last",),
    )
    html = " ".join(str(selection_html(report, 7)).split())
    assert "100 of 200 undecided pairs are kept." in html
    of_train = replace(report, choice=TwoStage(split="train"))
    assert "pairs of the split &#39;train&#39; are kept." in selection_html(of_train, 7)
    assert "1 word is lost: &lt;b&gt;zebra&lt;/b&gt;." in html
    assert "Splits that lose more than the dataset as a whole: val 10%." in html
    assert "Note: 2 pairs of the first stage have no support and go last." in html
    assert ">see what stays</a>" in html
    assert ">see what would be left out: lowest match</a>" in html
    assert html.count('href="?dataset=7&amp;') == 2
    assert "s_0_from=0.3" in html
    assert "s_0_to=0.29" in html


def test_texts_are_shown_as_texts() -> None:
    check_escaping(
        "selection.html",
        lambda text: render_in("selection.html", queues=[(f"?text={text}", text)], lines=[text]),
    )
