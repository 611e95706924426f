"""A word's suspicion from its phrase, and its row next to that of the suspect words."""

from backend.engine.captions import Caption
from backend.engine.scoring.loading import load_scorer
from backend.settings import MODELS
from research.evaluation.scored import word_interventions
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
