"""The phrase rules against the grammar's own claims, on captions with a known meaning."""

import random

from backend.engine.captions import Caption
from backend.engine.english.phrases import phrases_of
from research.scenes.claimed_phrases import claimed_phrases
from research.scenes.grammar import describe
from research.scenes.world import make_scene


def test_phrases_agree_with_the_claims_of_drawn_captions() -> None:
    rng = random.Random(20_261_122)
    right = extracted = claimed = 0
    for _ in range(2000):
        description = describe(make_scene(rng), rng)
        spans = Caption.parse(description.text).spans
        truth = {
            (spans[first][0], spans[end - 1][1], kind)
            for first, end, kind in claimed_phrases(description)
        }
        result = {(p.start, p.end, p.kind) for p in phrases_of(description.text)}
        right += len(truth & result)
        extracted += len(result)
        claimed += len(truth)
    assert 2 * right / (extracted + claimed) >= 0.98
