"""The guard for richer captions on drawn scenes, whose claims can be parsed exactly: whatever is
doubted, nothing that people wrote is lost, and a caption is left."""

import random
from collections.abc import Sequence

import pytest

from backend.engine.english.phrases import Phrase
from backend.features.specificity.boosting import Boost, guard
from backend.features.specificity.doubting import Doubt
from research.evaluation.boosted_captions import Claims, _with_implied
from research.scenes import blending
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import describe
from research.scenes.world import make_scene

SCENES = 120


def claims(text: str) -> Claims:
    read = claims_of(text)
    assert read is not None, f"the grammar cannot read: {text}"
    return read


@pytest.mark.parametrize(("seed", "read_words"), [(5, None), (6, None), (8, 20), (7, 24)])
def test_nothing_that_people_wrote_is_lost(seed: int, read_words: int | None) -> None:
    rng = random.Random(seed)
    struck = kept = 0

    def doubts(text: str, phrases: Sequence[Phrase]) -> list[Doubt]:
        return [Doubt(p.start, p.end, rng.choice((-1.0, 1.0)), 0.0, 0.0) for p in phrases]

    for _ in range(SCENES):
        scene = make_scene(rng)
        people = [describe(scene, rng).text for _ in range(rng.randint(1, 5))]
        visual = blending.visual(scene, rng, 0.6).text
        blend = blending.blend(people) if len(people) > 1 else people[0]
        boost = Boost("holistic", blending.holistic(blend, visual), (*people, blend, visual))
        guarded = guard(boost, people, doubts, read_words)
        if not guarded.caption:
            continue
        kept += 1
        struck += len(guarded.struck)
        after = _with_implied(claims(guarded.caption))
        written = frozenset[str]().union(*map(claims, people))
        assert claims(people[0]) <= after, guarded
        if read_words is None:  # what others wrote may lie beyond what the model reads
            assert claims(boost.caption) & written <= after, guarded
    assert kept > (0.9 if read_words is None else 0.7) * SCENES
    assert struck > SCENES / 3
