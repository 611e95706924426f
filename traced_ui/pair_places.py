"""The places of the review page that features and packages fill (`backend.review.pair_parts`)."""

import logging

from markupsafe import Markup

from backend.review.pair_parts import PairPart, load_pair_parts
from backend.review.views import PairView
from traced_ui.messages import explain_on_page, note
from traced_ui.templates import renderer_of

log = logging.getLogger(f"traced.{__name__}")


def parts_in(place: str, view: PairView) -> list[tuple[PairPart, Markup]]:
    """What stands in a place beside this pair; of a part that fails, its error."""
    return [
        (part, _draw(part, view.parts[part.name], view))
        for part in load_pair_parts()
        if part.place == place and part.name in view.parts
    ]


def _draw(part: PairPart, record: object, view: PairView) -> Markup:
    try:
        if isinstance(record, Exception):
            raise record
        return renderer_of(part.template.parent)(part.template.name, record=record, view=view)
    except Exception as problem:  # of whatever its author wrote
        log.exception("the part '%s' of pair %d cannot be shown", part.name, view.pair_id)
        text = f"The part “{part.name}” cannot be shown. {explain_on_page(problem)}"
        return note(text, "error")
