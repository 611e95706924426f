"""The contribution of each phrase to the match: the drop in s when its head becomes nonsense.

    PAS(p; x, y) = s(x, y) - mean over nonces of s(x with p's head replaced, y)

Positive: the phrase contributes to the match. About 0: it is irrelevant to the image, or the scorer
cannot see it. Negative: the caption fits better without its meaning. `spread` is the standard
deviation over the nonces: if it exceeds |PAS|, the choice of nonce matters more than the phrase.

s(x, y) is recomputed in the same call, so that both terms are rounded alike. If the scorer has an
auxiliary score (BLIP's ITC besides ITM, which saturates), the pair's support is based on that score
(`basis`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from backend.engine.captions import Caption
from backend.engine.english.phrases import Phrase, phrases_of
from backend.engine.phrases.nonce import Nonces, Substitution
from backend.engine.scoring.protocol import FloatArray, ImageState, Scorer, Session, Tokens
from backend.errors import SettingsError


@dataclass(frozen=True)
class PhraseScore:
    """A phrase's attribution by s, its spread over the nonces, and the attribution used for
    support; all None if no nonce fits the phrase (it is not covered)."""

    phrase: Phrase
    pas: float | None = None
    spread: float | None = None
    basis: float | None = None

    @property
    def covered(self) -> bool:
        return self.pas is not None


def check_scorer(scorer: Scorer) -> None:
    """Raise SettingsError for a scorer whose s depends on other pairs."""
    if scorer.info.compares_pairs:
        raise SettingsError(
            "LEMoN compares pairs; phrases need a scorer that does not, such as CLIP."
        )


def attribute_phrases(
    scorer: Scorer,
    pairs: Iterable[tuple[ImageState, Caption]],
    nonces: Nonces,
    session: Session | None = None,
    live: int | None = None,
) -> Iterator[tuple[int, tuple[PhraseScore, ...]]]:
    """(index, the caption's phrases) of each pair, in order.

    `pairs` is consumed lazily, `live` at a time, by default as many as fit into memory
    according to the session. Raises SettingsError for LEMoN.
    """
    check_scorer(scorer)
    session = session or scorer.open_session()
    waiting = enumerate(pairs)
    while batch := list(islice(waiting, live or session.live)):
        substitutes: list[list[Substitution]] = []
        requests: list[tuple[ImageState, Sequence[Tokens]]] = []
        for _, (state, caption) in batch:
            words_read = scorer.reader.words_read(caption.text)
            substitutions = nonces.substitutions(caption, phrases_of(caption, words_read))
            substitutes.append(substitutions)
            texts = [tokens for substitution in substitutions for tokens in substitution.tokens]
            whole = scorer.reader.tokenise([caption.text]) if texts else []
            requests.append((state, [*whole, *texts]))
        # A pair without phrases sends no queries: its image's keys and values are not computed.
        with_texts = [number for number, (_, texts) in enumerate(requests) if texts]
        scores = dict(
            zip(with_texts, session.score([requests[n] for n in with_texts]), strict=True)
        )
        others = _auxiliary(scorer, session, [requests[n] for n in with_texts])
        bases = dict(zip(with_texts, others, strict=True)) if others is not None else scores
        for number, (index, _) in enumerate(batch):
            yield index, _phrase_scores(substitutes[number], scores.get(number), bases.get(number))


def _auxiliary(
    scorer: Scorer, session: Session, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]
) -> list[FloatArray] | None:
    """The scorer's auxiliary score for the same queries; None if it has none."""
    if not scorer.info.auxiliary or not requests:
        return None
    images = scorer.image_embeddings([state for state, _ in requests])
    if images is None:
        return None
    every = list(dict.fromkeys(text for _, texts in requests for text in texts))
    row_of = {text: row for row, text in enumerate(every)}
    vectors = session.embed(every)
    return [
        (vectors[[row_of[text] for text in texts]] * image).sum(1, dtype=np.float32)
        for (_, texts), image in zip(requests, images, strict=True)
    ]


def _phrase_scores(
    substitutions: Sequence[Substitution], scores: FloatArray | None, basis: FloatArray | None
) -> tuple[PhraseScore, ...]:
    phrase_scores, at = [], 1
    for substitution in substitutions:
        if not substitution.covered or scores is None or basis is None:
            phrase_scores.append(PhraseScore(substitution.phrase))
            continue
        rows = slice(at, at + len(substitution.tokens))
        at += len(substitution.tokens)
        nonce_scores = scores[rows].astype(np.float64)
        phrase_scores.append(
            PhraseScore(
                substitution.phrase,
                float(scores[0]) - float(nonce_scores.mean()),
                float(nonce_scores.std()),
                float(basis[0]) - float(basis[rows].astype(np.float64).mean()),
            )
        )
    return tuple(phrase_scores)
