"""The sentence and the strip of pictures about a pair's specificity."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from backend.review.views import SpecificityView, SuggestionView
from traced_ui.support import enrichments, specificity_line

FOUND = SpecificityView(-1.1712, 3, 21, (17, 4), False, 400, 400, "clip")


class View:
    def __init__(self, specificity: SpecificityView | None) -> None:
        self.specificity = specificity
        self.may_enrich = False


def html(result: SpecificityView | None) -> str:
    view: Any = View(result)
    return str(specificity_line(view) or "")


def test_the_rank_and_the_more_similar_pictures_are_shown() -> None:
    message = html(FOUND)
    assert "finds its own picture as 3rd of 21 similar ones (31 %), by clip" in message
    assert "fits <b>2 similar pictures</b> as well or better" in message
    assert [f'data-target="{pair}"' in message for pair in (17, 4)] == [True, True]
    assert message.index("pictures/17") < message.index("pictures/4")
    assert 'data-action="confused"' in message


def test_richer_captions_are_listed_apart_from_corrections() -> None:
    suggestion = SuggestionView(
        7, "A red dog <b>", "vlm · blend v1", 0.2, 0.3, 0.1, 0.12, 1, 0.9, (), (3, 1, 21),
        ("the picture does not show 'a kite'",), (0.5, 0.75), ("the model reads 32 of 41 words",),
    )  # fmt: skip
    view: Any = SimpleNamespace(caption="A dog", enrichments=(suggestion,))
    message = str(enrichments(view))
    assert 'data-action="enrich-1"' in message
    assert "3rd → 1st of 21" in message
    assert "does not show" in message
    assert "concrete–vague 0.50 → 0.75" in message
    assert "the model reads 32 of 41 words" in message
    assert "<b>" not in message.replace("<kbd>", "")
    assert "<ins>red" in message
    # A description from scratch is not shown as an edit: two interleaved texts are unreadable.
    afresh = replace(suggestion, caption="On a bench at the lake, two men in red.")
    view: Any = SimpleNamespace(caption="A dog", enrichments=(afresh,))
    assert "On a bench at the lake, two men in red." in str(enrichments(view))
    none: Any = SimpleNamespace(caption="A dog", enrichments=())
    assert enrichments(none) is None
