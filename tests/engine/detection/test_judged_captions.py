"""Probabilities of captions of several claims, and of their claims."""

from dataclasses import replace

import numpy as np

from backend.engine.claims.claim import Claim
from backend.engine.claims.scored_caption import ScoredCaption, ScoredClaim
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.families import S_0
from backend.engine.detection.judged_captions import judge_captions
from backend.engine.detection.log_odds import Calibration
from backend.engine.detection.verdict_update import VerdictUpdate
from tests.engine.detection.made_trajectories import trajectory


def test_what_verdicts_teach_moves_the_chances_of_claims_too() -> None:
    long = ScoredCaption(
        tuple(
            ScoredClaim(Claim(start, start + 6), trajectory("A dog.", [0.1, 0.2], s_0))
            for start, s_0 in ((0, 0.2), (7, 0.8))
        )
    )
    single = ScoredCaption.of_one_claim(trajectory("A dog.", [0.1, 0.2], 0.5))
    prior = Classifier(S_0, Calibration())
    before = judge_captions(prior, [long, single])
    update = VerdictUpdate(intercept=1.0)
    after = judge_captions(replace(prior, update=update), [long, single])
    assert (after.p_error > before.p_error).all()
    assert [len(each) for each in after.of_claims] == [2, 1]
    for learnt, known in zip(after.of_claims, before.of_claims, strict=True):
        expected = update(known, np.zeros((len(known), before.features.shape[1])))
        np.testing.assert_allclose(learnt, expected)
    assert after.of_claims[1][0] == after.p_error[1]
