"""Suspicion of a word from its phrase: how far s *rises* when the phrase becomes nonsense (-PAS).

Reported next to the suspect words, by kind of error, but not part of them: an intervention measures
nearly the same as a deletion. It would be adopted for a kind of error only if it were better there
by two standard errors over three trainings.
"""

from collections.abc import Iterable

import numpy as np

from backend.engine.captions import Caption
from backend.engine.phrases.attribution import attribute_phrases
from backend.engine.phrases.nonce import Nonces, make_pools
from backend.engine.scoring.protocol import ImageState, Scorer
from research.evaluation.suspect_hits import WordScores


def word_interventions(
    scorer: Scorer, pairs: Iterable[tuple[ImageState, Caption]]
) -> list[WordScores]:
    """One score per word for each pair, shape [words]; words in no phrase score below all others.

    Raises SettingsError for LEMoN."""
    listed = list(pairs)
    nonces = Nonces(scorer.reader, make_pools(scorer.reader, scorer.open_session().embed))
    by_caption = []
    for index, scores in attribute_phrases(scorer, listed, nonces):
        caption = listed[index][1]
        known = [-score.pas for score in scores if score.pas is not None]
        words = np.full(len(caption), min(known, default=0.0) - 1.0)
        for score in scores:
            if score.pas is None:
                continue
            for i, (start, end) in enumerate(caption.spans):
                if score.phrase.start <= start and end <= score.phrase.end:
                    words[i] = -score.pas
        by_caption.append(words)
    return by_caption
