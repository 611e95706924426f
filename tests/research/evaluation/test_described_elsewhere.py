"""The same scenes in each language, half of the captions wrong; gains beside those of English."""

import pytest

from research.evaluation.described_elsewhere import KINDS, LanguageFigures, describe, markdown
from research.scenes.wordings import wording_of


@pytest.mark.parametrize("code", ["en", "de", "zh"])
def test_every_second_caption_is_wrong_in_turn(code: str) -> None:
    pairs, english = (describe(wording_of(each), 24, seed=3) for each in (code, "en"))
    assert [pair.scene for pair in pairs] == [pair.scene for pair in english]
    assert [pair.kind for pair in pairs[1::2]] == [*KINDS] * 4
    assert not any(pair.is_wrong for pair in pairs[::2])
    fine = [pair for pair in pairs if pair.kind == "fine" and pair.is_wrong]
    assert fine
    assert any(pair.spans for pair in fine)


def test_a_gain_is_compared_with_that_of_english_of_the_same_training() -> None:
    def figures(language: str, training: int, gain: float) -> LanguageFigures:
        of = dict.fromkeys(("all", *KINDS), 0.8)
        cold = {kind: auc + gain for kind, auc in of.items()}
        return LanguageFigures(language, training, 300, of, cold, 0.0, 0.1, 0.5, 50, "")

    both = [(0, 0.05, 0.04), (1, 0.03, 0.06)]
    tables = markdown(
        [figures(code, k, gain) for k, *gains in both
         for code, gain in zip(("en", "de"), gains, strict=True)]
    )  # fmt: skip
    gains = next(line for line in tables.splitlines() if line.startswith("| de, cold start"))
    assert "| 0.050 ± 0.010 | 0.010 ± 0.020 |" in gains
