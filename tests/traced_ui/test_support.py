"""Phrase chips: plain text, escaped, with the change of s on hover."""

from dataclasses import replace

from backend.review.views import PhraseView
from traced_ui.support import phrase_chips

CAPTION = "A <b>red</b> bus"
PHRASES = (
    PhraseView(5, 8, "attribute", 0.04, 0.01),
    PhraseView(13, 16, "object", -0.02, 0.05),
    PhraseView(0, 1, "relation", None, None),
)


def test_chips_show_the_change_of_s() -> None:
    html = phrase_chips(CAPTION, PHRASES)
    assert html.count("<li") == 3
    assert "attribute · s falls by 0.040 ± 0.010 when it is made meaningless" in html
    assert "object · s rises by 0.020 ± 0.050" in html
    assert 'class="phrase against unsure"' in html
    assert "not tested" in html
    # The largest bar reaches the edge; the negative one is left of the middle.
    assert "left:50.0%;width:50.0%" in html
    assert "left:25.0%;width:25.0%" in html


def test_a_suspect_word_that_is_supported_has_a_hint() -> None:
    """The two readings of the picture disagree: the scorer is not sure about this word."""
    phrases = [replace(view, suspect_yet_supported=view.start == 5) for view in PHRASES]
    html = phrase_chips(CAPTION, phrases)
    assert html.count("the scorer is not sure about this word") == 1
    chip = html.split("<li")[1]
    assert "suspect, and yet supported more than usual" in chip
    assert "doubtful" in chip
    assert "doubtful" not in phrase_chips(CAPTION, PHRASES[:1])
