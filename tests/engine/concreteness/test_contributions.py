"""A word's contribution is what the caption's ICC loses without it."""

import subprocess
import sys

import pytest

from backend.engine.concreteness.scoring import MOST_WORDS, contributions, score_captions
from tests.engine.concreteness.test_concreteness import ABSTRACT, CONCRETE


def test_a_contribution_is_the_difference_without_the_word() -> None:
    caption = "What a wonderful brown dog, a true friend for life!"
    icc, words = contributions(caption)
    assert icc == pytest.approx(score_captions([caption])[0])
    gains = {caption[word.start : word.end]: word.gain for word in words}
    assert gains["dog"] > 0.02
    assert gains["life"] < -0.02
    without = caption.replace("brown ", "")
    assert gains["brown"] == pytest.approx(icc - score_captions([without])[0], abs=1e-3)


def test_every_caption_has_contributions() -> None:
    for caption in [*CONCRETE, *ABSTRACT, "dog", "word " * 270, "犬が走る"]:
        icc, words = contributions(caption)
        assert icc == pytest.approx(score_captions([caption])[0], abs=1e-4)
        assert len(words) <= MOST_WORDS
        assert all(caption[word.start : word.end].strip() for word in words)
    assert contributions("  ") == (0.0, ())
    icc, words = contributions("Best day ever, no doubt about it.")
    assert icc == 0
    assert min(word.gain for word in words) < -0.02, "they differ even if the score is 0"


@pytest.mark.nightly
def test_it_works_in_a_process_that_has_imported_nothing_else() -> None:
    """The order of imports matters to transformers: see `backend.engine.torchvision_compat`."""
    module = "backend.engine.concreteness.scoring"
    program = f"from {module} import contributions; contributions('A dog')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
