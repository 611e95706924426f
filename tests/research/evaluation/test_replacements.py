"""Replacement gains: which edits are scored, a word's gain, and how hits are counted."""

from dataclasses import replace

import numpy as np
import pytest

from backend.engine.captions import Caption
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import SettingsError
from backend.settings import MODELS
from research.evaluation.labelled import from_scenes
from research.evaluation.replacement_gains import CAPTIONER, GCD, RULES, edits_by, gains_of
from research.evaluation.replacements import SETS, added, markdown, measure


def trajectory(caption: str, deletions: list[float]) -> Trajectory:
    """A trajectory with these deletion scores in its first step, and no further gain."""
    return Trajectory(
        Caption.parse(caption), np.array([0.5, max(deletions)], np.float32),
        np.array([1, 0.9], np.float32), (int(np.argmax(deletions)),),
        np.array(deletions, np.float32),
    )  # fmt: skip


def test_each_source_edits_only_the_words_it_reports() -> None:
    scorer = load_scorer(str(MODELS / "scenes-blip-itm"), "blip-itm", "cpu")
    captioner = load_captioner(str(MODELS / "scenes-blip-captioner"), "cpu")
    pairs = from_scenes(4, "fine-grained", 31)
    image = pairs.picture(0)
    (state,) = scorer.encode_images([image])
    caption = Caption.parse("A red dog on the grass.")
    reader = scorer.reader
    (start,) = reader.tokenise([caption.text])
    for source in (RULES, GCD, CAPTIONER):
        session = scorer.open_session()
        edits = edits_by(source, scorer, session, captioner, state, image, caption)
        assert edits
        for text, words in edits:
            assert text != start
            assert words <= set(range(6))
            if len(text) == len(start):  # tokens are words here, then the full stop
                differ = {k for k, (a, b) in enumerate(zip(text, start, strict=True)) if a != b}
                assert differ & {*words, 6}
    (gains,) = gains_of(scorer, captioner, pairs, [1], RULES, (0.3, 0.1))
    assert gains.shape == (1 + len(Caption.parse(pairs.captions[1])),)
    assert gains[0] > 5


def test_clip_has_no_auxiliary_score() -> None:
    scorer = load_scorer(str(MODELS / "scenes-clip"), "clip", "cpu")
    captioner = load_captioner(str(MODELS / "scenes-blip-captioner"), "cpu")
    with pytest.raises(SettingsError, match="auxiliary"):
        next(gains_of(scorer, captioner, from_scenes(4, "fine-grained", 31), [1], RULES, (1, 1)))


def test_the_replacement_gain_is_added_as_one_more_sign() -> None:
    caption = trajectory("a dog on grass", [0.5, 0.8, 0.5, 0.7])
    none = np.full(4, -np.inf)
    assert added(caption, none).argmax() == 1
    grass = np.array([-np.inf, 0.1, -np.inf, 3.0])
    assert added(caption, grass)[3] - added(caption, none)[3] == pytest.approx(0.6)


def test_hits_count_changed_words_and_bands_of_probability() -> None:
    pairs = from_scenes(4, "fine-grained", 31)
    pairs = replace(
        pairs, captions=["a dog on grass"] * 4, changed=[frozenset([3])] * 4,
    )  # fmt: skip
    trajectories = [trajectory(text, [0.5, 0.8, 0.5, 0.7]) for text in pairs.captions]
    right = np.array([7, -np.inf, 0.1, -np.inf, 9.0])
    nothing = np.array([5, -np.inf, -np.inf, -np.inf, -np.inf])
    gains = {RULES: [right, nothing], GCD: [nothing, nothing], CAPTIONER: [nothing, right]}
    hits, bands = measure(pairs, trajectories, [0, 1], gains, np.array([0.2, 0.9, 0, 0]), 40)
    assert [hit.sources for hit in hits] == list(SETS)
    assert [(hit.today, hit.alone, hit.questions) for hit in hits] == [
        (0, 0.5, 6), (0, 0, 5), (0, 0.5, 6), (0, 0.5, 11), (0, 1, 17),
    ]  # fmt: skip
    assert [(band.low, band.pairs) for band in bands] == [(0.0, 1), (0.8, 1)]
    assert "| 40 | rules, gradient, captioner | 2 |" in markdown(hits, bands)
