"""Form fields of options start at a value that they offer."""

from backend.jobs.two_stage_selection import TwoStage
from traced_ui.option_fields import field


def test_a_default_that_is_not_offered_gives_way_to_the_first_choice() -> None:
    default = TwoStage.model_fields["by"].default
    others = [("match alone", "alignment"), ("sampled at random", "random")]
    assert field(TwoStage, "by", choices=[*others, ("support", default)]).value == default
    assert field(TwoStage, "by", choices=others).value == "alignment"
