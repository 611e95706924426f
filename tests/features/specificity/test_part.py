"""The sentence and the strip of pictures about a pair's specificity."""

from dataclasses import replace

from backend.features.specificity.page import render_in
from backend.features.specificity.part import PART, OwnRank
from tests.hostile.markup import check_escaping
from tests.traced_ui.samples import pair
from traced_ui.review_page import side_panel

FOUND = OwnRank(-1.1712, 3, 21, (17, 4), False, 400, 400, "clip")


def drawn(record: OwnRank, text: str = "A dog") -> str:
    return side_panel(pair(text, guidelines="", parts={PART.name: record}))


def test_the_rank_and_the_more_similar_pictures_are_shown() -> None:
    message = drawn(FOUND)
    assert "finds its own picture as 3rd of 21 similar ones (31 %), by clip" in message
    assert "fits <b>2 similar pictures</b> as well or better" in message
    assert [f'data-target="{other}"' in message for other in (17, 4)] == [True, True]
    assert message.index("pictures/17") < message.index("pictures/4")
    assert 'data-action="confused"' in message


def test_it_stands_above_similar_pairs_and_alone_where_there_are_none() -> None:
    assert drawn(FOUND).index('class="specificity"') < drawn(FOUND).index('class="alike-to"')
    alone = pair("A dog", trajectory=None, reasons=None, parts={PART.name: FOUND})
    assert 'data-tab="alike"' in side_panel(alone)
    assert 'data-tab="alike"' not in side_panel(replace(alone, parts={}))


def test_hostile_text_is_escaped() -> None:
    check_escaping(
        "specificity.html", lambda text: drawn(replace(FOUND, easy=True, pool=9, by=text), text)
    )
    check_escaping(
        "no_model.html",
        lambda text: render_in("no_model.html", reason=text, page="language-model"),
    )
