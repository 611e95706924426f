"""A word's suspicion from its phrase, and its row next to that of the suspect words."""

from dataclasses import replace

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.settings import MODELS
from research.evaluation.interventions import word_interventions
from research.evaluation.labelled import from_scenes
from research.evaluation.result_figures import test_half as half
from research.evaluation.scored import states_of
from research.evaluation.suspect_hits import INTERVENTION, OURS, localisation
from tests.checkpoints import drawn_pairs


def test_words_outside_phrases_are_least_suspect() -> None:
    scorer = load_scorer(str(MODELS / "scenes-clip"), "clip", "cpu")
    (state,) = scorer.encode_images([drawn_pairs(1)[0][0]])
    caption = Caption.parse("A dog to the left of a bus")
    (words,) = word_interventions(scorer, [(state, caption)])
    assert words.shape == (8,)
    assert words[0] == words[6] == words.min()  # the articles
    assert len(set(words[2:6].tolist())) == 1  # one relation, one score
    assert words[2] > words[0]


def test_interventions_are_reported_for_each_kind_of_change() -> None:
    scorer = load_scorer(str(MODELS / "scenes-clip"), "clip", "cpu")
    pairs = from_scenes(24, "fine-grained", 31)
    encoded = list(states_of(scorer, pairs))
    result = dict(run_trajectories(scorer, encoded))
    rows = [i for i, changed in enumerate(pairs.changed) if changed]
    scores = dict(zip(rows, word_interventions(scorer, [encoded[i] for i in rows]), strict=True))
    given = [scores.get(i, np.zeros(0)) for i in range(len(pairs))]
    message = localisation(
        replace(pairs), [result[i] for i in range(len(pairs))], half(pairs, 0), None, given
    )
    assert message is not None
    assert message.by_score[INTERVENTION].pairs == message.by_score[OURS].pairs
    assert message.by_score[INTERVENTION].top1 > message.by_score["chance"].top1
    assert all(INTERVENTION in rates for rates in message.by_kind.values())
