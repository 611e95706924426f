"""Planted biases of two writers are found from verdicts, and little else."""

import random
from pathlib import Path

from backend.engine.captions import Caption
from backend.features.patterns.error_patterns import Pattern
from research.captioning.likelihood import LikelihoodRecipe
from research.evaluation.biased_captioners import (
    WRITERS,
    Sizes,
    TrainedWriters,
    WrittenCaption,
    biased_caption,
    trained_writers,
)
from research.evaluation.planted_biases import (
    SimulatedWriters,
    evaluate_biases,
    markdown,
    verdicts_until,
)
from research.scenes.caption_reading import claims_of
from research.scenes.truth import facts
from research.scenes.world import make_scene


def test_strong_biases_are_found_from_four_hundred_verdicts() -> None:
    writers = SimulatedWriters()
    report = evaluate_biases(writers, [400], runs=3)
    without, marked = report.figures
    assert {bias.name for bias in writers.biases} == without.detected.keys()
    three = writers.biases[0].name
    assert without.detected[three] == marked.detected[three] == 1
    assert verdicts_until([without], three) == 400
    assert without.unplanned == without.spurious <= 1
    assert marked.spurious <= 1
    assert "| 400 | yes |" in markdown(report)


def test_captions_of_the_training_are_wrong_by_a_planted_bias_alone() -> None:
    rng = random.Random(0)
    scenes = [make_scene(rng) for _ in range(300)]
    for writer, (_, mistakes) in WRITERS.items():
        words = frozenset[str]().union(*(bias.words for bias in mistakes))
        captions = [biased_caption(writer, scene, rng) for scene in scenes]
        wrong = [
            caption
            for scene, caption in zip(scenes, captions, strict=True)
            if not (claims_of(caption) or frozenset()) <= facts(scene)
        ]
        assert 15 < len(wrong) < 150
        assert all(words & set(map(str.lower, Caption.parse(c).words)) for c in wrong)


def test_a_pattern_is_none_by_all_that_its_writer_wrote() -> None:
    captions = [
        WrittenCaption("A red car.", True),
        WrittenCaption("A red bus.", False),
        WrittenCaption("A bus.", False),
    ]
    writers = TrainedWriters(
        {"first": [*captions, WrittenCaption("A car car.", None)], "second": []}
    )

    def pattern(name: str) -> Pattern:
        return Pattern("first", "word", name, 2, 1, 0, 1, 0, 1, 0.01, 0.01)

    assert not writers.is_none(pattern("red"))
    assert writers.is_none(pattern("bus"))


def test_captioners_learn_planted_biases_and_resume(tmp_path: Path) -> None:
    sizes = Sizes(40, 30, LikelihoodRecipe(2, 8, 5e-4, warm_up=1))
    writers = trained_writers(tmp_path, sizes)
    assert writers.captions.keys() == WRITERS.keys()
    assert all(len(captions) == 30 for captions in writers.captions.values())
    (tmp_path / "second.json").unlink()
    assert trained_writers(tmp_path, sizes) == writers
    assert all(not figures.are_marked for figures in evaluate_biases(writers, [20], 1).figures)
