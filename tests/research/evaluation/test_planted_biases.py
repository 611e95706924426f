"""Planted biases of two writers are found from verdicts, and little else."""

from research.evaluation.planted_biases import BIASES, evaluate_biases, markdown


def test_strong_biases_are_found_from_four_hundred_verdicts() -> None:
    without, marked = evaluate_biases([400], runs=3)
    assert {word for biases in BIASES.values() for word in biases} == without.detected.keys()
    assert without.detected["three"] == marked.detected["three"] == 1
    assert without.spurious <= 1
    assert marked.spurious <= 1
    assert "| 400 | yes |" in markdown([without, marked])
