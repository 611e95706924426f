"""What a second model's answers say of captions: P(yes) of each, how far it agrees compared with
its other answers, and the captions without a suspect word that it is asked about as well.

P(yes) is read from the log-probabilities of the answer's first token. What the signs do is said in
`backend/engine/detection/opinion_signs.py`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from backend.engine.captions import Caption
from backend.engine.detection.opinion_signs import Span

#: Words of a doubted caption whose deletion is asked about.
WORDS = 3
_LARGEST_SIGN = 3.0
_EDGE, _TINY = 1e-4, 1e-12
#: Yes and no together have at least this probability, or they are no answer.
_LEAST_MASS = 0.1


def p_yes(likeliest: Sequence[tuple[str, float]]) -> float | None:
    """P(yes) / (P(yes) + P(no)) over all spellings; None if the model most probably says something
    else. A word that is not listed is at most as likely as the last that is, and as all that are
    not listed together.

    >>> p_yes([("Yes", math.log(0.5)), ("no", math.log(0.5))])
    0.5
    >>> p_yes([("<think>", math.log(0.99)), ("Yes", math.log(0.005)), ("No", math.log(0.005))])
    """
    total = {"yes": 0.0, "no": 0.0}
    for token, log_p in likeliest:
        word = token.strip(" \n▁Ġ\"'*.").casefold()
        if word in total:
            total[word] += math.exp(min(log_p, 0.0))
    if sum(total.values()) < _LEAST_MASS:
        return None
    chances = [math.exp(min(log_p, 0.0)) for _, log_p in likeliest]
    least = max(_TINY, min(*chances, 1.0, 1.0 - sum(chances)))
    yes, no = (total[word] or least for word in ("yes", "no"))
    return yes / (yes + no)


def signs_of(answers: Mapping[int, float]) -> dict[int, float]:
    """The log-odds of each answer relative to their median, in units of their spread, at most 3:
    a model that says yes too often moves no pair. By the answers' keys."""
    if not answers:
        return {}
    p = np.clip(np.array(list(answers.values())), _EDGE, 1 - _EDGE)
    odds = np.log(p / (1 - p))
    z_scores = (odds - np.median(odds)) / (odds.std() or 1.0)
    signs = np.clip(z_scores, -_LARGEST_SIGN, _LARGEST_SIGN).round(4)
    return dict(zip(answers, signs.tolist(), strict=True))


def without_suspects(caption: str, suspects: Sequence[Span]) -> list[tuple[int, int, str]]:
    """(start, end, caption without the word at these characters) of the most suspect words; none
    if the caption has no other word."""
    original = Caption.parse(caption)
    word_at = {span: word for word, span in enumerate(original.spans)}
    likely = sorted((s for s in suspects if s[2] > 0), key=lambda suspect: -suspect[2])
    words = [word_at[start, end] for start, end, _ in likely if (start, end) in word_at]
    if len(original) < 2:
        return []
    return [(*original.spans[word], original.without([word])) for word in words[:WORDS]]
