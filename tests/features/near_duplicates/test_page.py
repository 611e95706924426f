"""The page *Duplicates*: texts of captions are escaped."""

from backend.features.near_duplicates import page
from backend.features.near_duplicates.choosing import (
    DuplicateGroup,
    DuplicatePicture,
    DuplicatesView,
)
from backend.features.near_duplicates.queries import MemberRow
from tests.hostile.markup import check_escaping


def test_hostile_text_is_escaped() -> None:
    def draw(text: str) -> str:
        pictures = [
            DuplicatePicture(
                (MemberRow(1, number, text, f"{text}{number}", text, 0.7, decision, 2, 0.99, True,
                           None, None),)
            )
            for number, decision in ((1, None), (2, "drop"), (3, None))
        ]  # fmt: skip
        group = DuplicateGroup(1, (*pictures, *pictures[2:] * 8))
        view = DuplicatesView((group,), 0.98, True, 5, 2, 8, 9)
        return page.groups_html(view, 3, is_first_page=False)

    check_escaping("groups.html", draw)
