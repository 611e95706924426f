"""Form fields of options start at a value that they offer."""

from backend.options import Options
from traced_ui.option_fields import field


class Search(Options):
    by: str = "meaning"


def test_a_default_that_is_not_offered_gives_way_to_the_first_choice() -> None:
    others = [("by word", "word"), ("at random", "random")]
    assert field(Search, "by", choices=[*others, ("by meaning", "meaning")]).value == "meaning"
    assert field(Search, "by", choices=others).value == "word"
