"""Replacement gains: how much better other words in a word's place fit the image.

A word's gain is the best rise of the score among small edits of it: those of the noise rules, fast
GCD's candidates along the gradient, and the words that the captioner expected. Rises of ITM and ITC
are added, each in units of the standard deviation of s_0.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.expectation import expectations
from backend.engine.noise.noisy_caption import Replacement, rewrite
from backend.engine.noise.rules import edits_of
from backend.engine.scoring.protocol import ImageState, Scorer, Session, Tokens
from backend.engine.trajectories.edited_text import EditedText
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.gcd import best_replacements
from backend.errors import SettingsError
from research.evaluation.labelled import LabelledPairs

RULES, GCD, CAPTIONER = "rules", "gradient", "captioner"
SOURCES = (RULES, GCD, CAPTIONER)
#: Candidates along the gradient for each token.
TOP = 4
#: A text as the model reads it, and the words of the caption that it changes.
_Edit = tuple[Tokens, frozenset[int]]


def edits_by(
    source: str,
    scorer: Scorer,
    session: Session,
    captioner: Captioner,
    state: ImageState,
    image: Image.Image,
    caption: Caption,
) -> list[_Edit]:
    """The edits of one caption by one source."""
    reader = scorer.reader
    if source == GCD:
        text = EditedText(caption, reader)
        if not text.editable:
            return []
        (gains,) = session.replacement_gains([(state, text.tokens)])
        allowed = reader.replaceable(True)
        top = best_replacements(gains, text.tokens, allowed, Exploring(top=TOP))
        return [
            ((*text.tokens[:j], int(v), *text.tokens[j + 1 :]), frozenset([text.word_of[j]]))
            for j in range(len(top))
            for v in top[j]
        ]
    if source == RULES:
        wanted = [(edit.replacements, edit.positions) for edit in edits_of(caption)]
    else:
        (expected,) = expectations(captioner, [(image, caption.text)])
        wanted = [
            ((Replacement(i, i, word),), frozenset([i]))
            for i, alternatives in enumerate(expected.alternatives)
            for word, _ in alternatives
            if word.lower() != caption.words[i].lower()
        ]
    texts = [rewrite(caption, replacements)[0] for replacements, _ in wanted]
    positions = [where for _, where in wanted]
    return list(zip(reader.tokenise(texts), positions, strict=True)) if texts else []


def gains_of(
    scorer: Scorer,
    captioner: Captioner,
    pairs: LabelledPairs,
    rows: Sequence[int],
    source: str,
    spread: tuple[float, float],
) -> Iterator[NDArray[np.float64]]:
    """For each row the number of edits, and then the best rise of each word, shape [1 + words].

    -inf for words without an edit; `spread`: standard deviations of s_0 by ITM and ITC. Raises
    SettingsError for a scorer without auxiliary score."""
    if not scorer.info.auxiliary:
        raise SettingsError("Replacement gains need a scorer with an auxiliary score: blip-itm.")
    session = scorer.open_session()
    for row in rows:
        image, caption = pairs.picture(row), Caption.parse(pairs.captions[row])
        (state,) = scorer.encode_images([image])
        seen = scorer.image_embeddings([state])
        assert seen is not None  # it has an auxiliary score
        edits = edits_by(source, scorer, session, captioner, state, image, caption)
        (start,) = scorer.reader.tokenise([caption.text])
        texts = [start, *(text for text, _ in edits)]
        (itm,) = session.score([(state, texts)])
        itc = session.embed(texts) @ seen[0]
        rise = (itm - itm[0]) / spread[0] + (itc - itc[0]) / spread[1]
        best = np.full(1 + len(caption), -np.inf)
        best[0] = len(edits)
        for (_, words), gain in zip(edits, rise[1:].tolist(), strict=True):
            for word in words:
                best[1 + word] = max(best[1 + word], gain)
        yield best
