"""The whole trial on a few coloured squares: three models, three noises, a held-out style."""

from dataclasses import replace
from pathlib import Path

import pytest

from backend.errors import SettingsError
from research.emoji import held_out_style
from research.emoji.emoji_examples import EmojiWorld
from research.emoji.held_out_style import Trial, train, write_pairs
from research.emoji.sets import EmojiSets
from research.evaluation.labelled import RECORDED, from_dataset
from tests.fixtures.small_cold_start import small_cold_start as small_cold_start
from tests.research.emoji.few_emoji import write_sets


def test_pairs_record_their_errors(tmp_path: Path) -> None:
    table = write_pairs(Trial(write_sets(tmp_path), pairs=40), "noto")
    pairs = from_dataset(table, None, 40, RECORDED, 0)
    assert pairs.wrong.mean() == pytest.approx(0.5)
    for row in range(40):
        differ = pairs.captions[row] != pairs.originals[row]
        assert differ == bool(pairs.wrong[row]) == bool(pairs.changed[row])


def test_the_held_out_style_is_never_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[EmojiSets] = []

    def stop(folder: Path, world: EmojiWorld, count: int, seed: int) -> None:
        drawn.append(world.sets)
        raise InterruptedError

    monkeypatch.setattr(held_out_style, "open_emoji_examples", stop)
    with pytest.raises(InterruptedError):
        train(Trial(write_sets(tmp_path), "fluent"))
    assert [sets.styles for sets in drawn] == [("noto", "twemoji", "emojione")]


def test_models_are_trained_and_evaluated_on_the_held_out_style(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_out_style, "SCORERS", ("blip-itm",))
    monkeypatch.setattr(held_out_style, "CURVE_SCENES", 20)
    for name in ("RETRIEVAL", "CAPTIONER", "CLIP"):  # a step or two of each stage
        schedule = getattr(held_out_style, name)
        monkeypatch.setattr(held_out_style, name, replace(schedule, batch=8))
    trial = Trial(write_sets(tmp_path), share=0.0001, scenes=100, pairs=40)
    train(trial)
    report = held_out_style.judge(trial, "noto")
    assert [result.noise for result in report.results] == ["random", "noun", "recorded"]
    assert report.results[2].localisation is not None
    # A second call loads the existing models.
    monkeypatch.setattr(held_out_style, "train_clip", None)
    monkeypatch.setattr(held_out_style, "train_captioner", None)
    train(trial)
    with pytest.raises(SettingsError, match="--scenes 100"):
        train(replace(trial, share=0.5))
