"""Constant parts stand in a quieter grey, with how many captions have them."""

from traced_ui.highlighting import highlighted_caption


def test_a_constant_part_says_that_it_is_not_judged() -> None:
    html = highlighted_caption("ohwx, a dog", [], constants=[(0, 4, "in 118 of 120 captions")])
    assert html.count('class="word constant"') == 1
    assert html.count("in 118 of 120 captions") == 1
    assert "constant" not in highlighted_caption("ohwx, a dog", [])
