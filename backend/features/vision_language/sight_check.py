"""Before a second opinion: does the server's model see this dataset's pictures?

A few captions are asked about with their own and with an unlike picture (`sight`).
Captions of the dataset may be wrong, so the most trusted are taken, and drawn pictures are asked
about as well before a server is refused.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.statistics.distributions import mean_ranks
from backend.errors import PictureUnseen
from backend.features.vision_language import queries
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.opinions import p_yes
from backend.features.vision_language.server_question import question_about, without_constants
from backend.features.vision_language.sight import (
    Example,
    Look,
    check_answers,
    drawn_examples,
    look_at,
)
from backend.jobs.scoring.dataset_constants import constants_in
from backend.jobs.scoring.image_batches import open_picture
from backend.store import Store
from db.queries import dataset_queries, pair_queries
from db.queries.pair_queries import PairRow

#: Captions of the dataset that are asked about.
_CAPTIONS = 4
#: The requests of a check, at least and at most.
FEWEST, MOST = 2 * _CAPTIONS, 2 * (_CAPTIONS + 2)
#: Pairs among which the most trusted are looked for, and pictures that are opened.
_PAIRS, _OPENED = 2000, 16
#: Answers from which on their course is judged, and how many are read for it.
_LEAST_ANSWERS, _JUDGED = 30, 500
#: A rank correlation that leaves nothing to the picture: honest answers reach .2 to .4.
FOLLOWS = 0.95
#: A share of doubts that is no opinion, unless the captions are as likely wrong.
DOUBTS, _LIKELY = 0.9, 0.6
_KEPT = "Its answers are kept, and no number has changed."
#: Pixels per side of the pictures that are compared to find unlike ones.
_THUMBNAIL = 8


def check_sight(store: Store, dataset_id: int, endpoint: ChatEndpoint) -> None:
    """Send `FEWEST` to `MOST` requests. Raises PictureUnseen for a model whose answers do not
    change with the picture, or to the opposite; ModelUnavailable, BudgetSpent."""

    def look(examples: Sequence[Example]) -> list[Look]:
        others = {example.text: example.unlike_text for example in examples}

        def ask(image: Image.Image, text: str) -> float | None:
            question, other = (question_about(image, each) for each in (text, others[text]))
            return p_yes(endpoint.ask_beside(question, other).likeliest)

        return look_at(examples, ask)

    looks = look(examples_of(store, dataset_id))
    check_answers(looks, lambda: look(drawn_examples()), endpoint.where)


def examples_of(store: Store, dataset_id: int) -> list[Example]:
    """The most trusted captions, each with the picture that is most unlike its own; none if there
    are no two different pictures."""
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        pairs = pair_queries.pairs_after(session, dataset_id, 0, _PAIRS)
    texts, pictures = [], list[Image.Image]()
    for pair in sorted(pairs, key=_distrust):
        if len(pictures) == _OPENED:
            break
        image = open_picture(Path(dataset.root), pair.image_path)
        text = without_constants(pair.caption, constants_in(dataset.models))
        if text and text not in texts and not isinstance(image, str):
            texts.append(text)
            pictures.append(image)
    thumbnails = [_thumbnail(picture) for picture in pictures]
    examples = []
    for number, thumbnail in enumerate(thumbnails):
        distances = [float(np.abs(other - thumbnail).mean()) for other in thumbnails]
        farthest = int(np.argmax(distances))
        if distances[farthest] > 0 and len(examples) < _CAPTIONS:
            examples.append(
                Example(texts[number], pictures[number], pictures[farthest], texts[farthest])
            )
    return examples


def check_course(store: Store, run_id: int, endpoint: ChatEndpoint) -> None:
    """Raises PictureUnseen if the answers of a run so far look as if nobody had looked; they are
    kept. Nothing is said about fewer than `_LEAST_ANSWERS`."""
    with store.reading() as session:
        opinions = queries.opinions_of_run(session, run_id)
        answered = [row for row in opinions.values() if row.p_yes is not None][:_JUDGED]
        pairs = {p.id: p for p in pair_queries.pairs_of(session, [row.pair_id for row in answered])}
    rows = [
        (row.p_yes, len(pair.caption), pair.s_0, pair.p_error)
        for row in answered
        if (pair := pairs.get(row.pair_id)) is not None and pair.p_error is not None
    ]
    if len(rows) < _LEAST_ANSWERS:
        return
    p, length, s_0, p_error = np.array(rows, float).T
    for sight, measure, what in (
        ("length", length, "the length of the captions"),
        ("score", s_0, "the match that is known already"),
    ):
        if abs(r := _rank_correlation(p, measure)) >= FOLLOWS:
            raise PictureUnseen(
                f"{endpoint.where} answers by {what} alone (rank correlation {r:.2f} over "
                f"{len(rows)} answers). {_KEPT}",
                sight=sight,
            )
    doubted, expected = float((p < 0.5).mean()), float(p_error.mean())
    if doubted >= DOUBTS and expected < _LIKELY:
        raise PictureUnseen(
            f"{endpoint.where} doubts {doubted:.0%} of {len(rows)} captions, of which about "
            f"{expected:.0%} are likely wrong. {_KEPT}",
            sight="doubts",
        )


def _rank_correlation(p: NDArray[np.float64], measure: NDArray[np.float64]) -> float:
    """Spearman's; 0 for a constant, or where a value is missing."""
    if len(set(p)) < 2 or len(set(measure)) < 2 or np.isnan(measure).any():
        return 0.0
    return float(np.corrcoef(mean_ranks(p), mean_ranks(measure))[0, 1])


def _distrust(pair: PairRow) -> tuple[bool, float, int]:
    """Captions judged right first, then the least likely wrong ones, then the first ones."""
    return pair.judgement != "correct", 1.0 if pair.p_error is None else pair.p_error, pair.id


def _thumbnail(image: Image.Image) -> NDArray[np.float32]:
    return np.asarray(image.convert("RGB").resize((_THUMBNAIL, _THUMBNAIL)), np.float32)
