"""What the page says of its numbers is so of every pair of the demo."""

import json
import re
from statistics import median

import pytest

from backend.bundled import DEMO
from backend.engine.detection.localisation import NAMED, VISIBLE, has_content
from backend.engine.languages.identification import language_in
from backend.review.views import PairView
from traced_ui.highlighting import highlighted_caption


@pytest.fixture(scope="module")
def truth() -> dict[str, dict[str, bool]]:
    """What each pair of the demo is, by id."""
    lines = (DEMO / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def test_the_gain_is_the_largest_rise_of_the_match_and_usually_less_for_right_captions(
    demo_views: list[PairView], truth: dict[str, dict[str, bool]]
) -> None:
    gains: dict[bool, list[float]] = {True: [], False: []}
    for view in demo_views:
        path = view.opinion.trajectory
        assert path is not None
        assert view.gain == pytest.approx(float(path.scores.max() - path.scores[0]), abs=1e-4)
        gains[truth[view.external_id]["is_error"]].append(float(view.gain or 0))
    more = [wrong > right for wrong in gains[True] for right in gains[False]]
    assert sum(more) / len(more) > 0.8


def test_the_similarity_of_the_whole_caption_is_one_and_no_other_is_higher(
    demo_views: list[PairView],
) -> None:
    for view in demo_views:
        assert view.opinion.trajectory is not None
        assert view.opinion.trajectory.similarities[0] == pytest.approx(1, abs=1e-3)
        assert max(view.opinion.trajectory.similarities) <= 1.001


def test_concrete_captions_are_near_one_and_vague_ones_near_zero(
    demo_views: list[PairView], truth: dict[str, dict[str, bool]]
) -> None:
    vague = [v.icc for v in demo_views if truth[v.external_id]["is_abstract"] and v.icc is not None]
    others = [v.icc for v in demo_views if not truth[v.external_id]["is_abstract"] and v.icc]
    assert median(vague) < 0.2
    assert median(others) > 0.8


def test_the_shaded_words_are_those_doubted_most_of_the_words_that_say_something(
    demo_views: list[PairView],
) -> None:
    shaded_words = 0
    for view in demo_views:
        html = highlighted_caption(view.caption, view.opinion.suspects)
        shaded = {
            int(at) for at in re.findall(r'class="word suspect"[^>]*data-start="(\d+)"', html)
        }
        assert len(shaded) <= NAMED
        lowest = min((w.score for w in view.opinion.suspects if w.start in shaded), default=None)
        language = language_in(view.caption)
        for word in view.opinion.suspects:
            if word.start in shaded or not has_content(
                [view.caption[word.start : word.end]], language
            ):
                continue
            assert word.score <= (VISIBLE if lowest is None else lowest), view.pair_id
        shaded_words += len(shaded)
    assert shaded_words > 200
