"""The places of the review page that features and packages fill (`backend.review.pair_parts`)."""

from markupsafe import Markup

from backend.review.pair_parts import PairPart, load_pair_parts
from backend.review.views import PairView
from traced_ui.messages import draw_added


def parts_in(place: str, view: PairView) -> list[tuple[PairPart, Markup]]:
    """What stands in a place beside this pair; of a part that fails, its error."""
    return [
        (part, draw_added(f"The part “{part.name}”", part.template,
                          record=view.parts[part.name], view=view))
        for part in load_pair_parts()
        if part.place == place and part.name in view.parts
    ]  # fmt: skip
