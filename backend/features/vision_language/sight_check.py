"""Before a second opinion: does the server's model see this dataset's pictures?

A few captions are asked about with their own and with an unlike picture (`language_models.sight`).
Captions of the dataset may be wrong, so the most trusted are taken, and drawn pictures are asked
about as well before a server is refused.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.detection.opinion_signs import p_yes
from backend.engine.language_models.endpoint import ChatEndpoint
from backend.engine.language_models.sight import (
    Example,
    Sight,
    check_answers,
    drawn_examples,
    look_at,
    sight_of,
)
from backend.features.vision_language.server_question import question_about
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
#: Pixels per side of the pictures that are compared to find unlike ones.
_THUMBNAIL = 8


def check_sight(store: Store, dataset_id: int, endpoint: ChatEndpoint) -> None:
    """Ask `FEWEST` to `MOST` questions. Raises PictureUnseen for a model whose answers do not
    change with the picture, or to the opposite; ModelUnavailable, BudgetSpent."""

    def ask(image: Image.Image, caption: str) -> float | None:
        return p_yes(endpoint.ask(question_about(image, caption)).likeliest)

    looks = look_at(examples_of(store, dataset_id), ask)
    check_answers(looks, lambda: look_at(drawn_examples(), ask), endpoint.where)


def sight_of_server(endpoint: ChatEndpoint) -> Sight:
    """By drawn pictures alone. Raises ModelUnavailable."""
    return sight_of(
        look_at(
            drawn_examples(),
            lambda image, text: p_yes(endpoint.ask(question_about(image, text)).likeliest),
        )
    )


def examples_of(store: Store, dataset_id: int) -> list[Example]:
    """The most trusted captions, each with the picture that is most unlike its own; none if there
    are no two different pictures."""
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        pairs = pair_queries.pairs_after(session, dataset_id, 0, _PAIRS)
    texts, pictures = [], list[Image.Image]()
    for pair in sorted(pairs, key=_distrust):
        if len(pictures) == _OPENED:
            break
        image = open_picture(root, pair.image_path)
        if pair.caption and pair.caption not in texts and not isinstance(image, str):
            texts.append(pair.caption)
            pictures.append(image)
    thumbnails = [_thumbnail(picture) for picture in pictures]
    examples = []
    for own, thumbnail in enumerate(thumbnails):
        distances = [float(np.abs(other - thumbnail).mean()) for other in thumbnails]
        unlike = int(np.argmax(distances))
        if distances[unlike] > 0 and len(examples) < _CAPTIONS:
            examples.append(Example(texts[own], pictures[own], pictures[unlike]))
    return examples


def _distrust(pair: PairRow) -> tuple[bool, float, int]:
    """Captions judged right first, then the least likely wrong ones, then the first ones."""
    return pair.judgement != "correct", 1.0 if pair.p_error is None else pair.p_error, pair.id


def _thumbnail(image: Image.Image) -> NDArray[np.float32]:
    return np.asarray(image.convert("RGB").resize((_THUMBNAIL, _THUMBNAIL)), np.float32)
