"""Does the server of a second opinion see this dataset's pictures, before and during its work?

Captions of the dataset may be wrong, so the most trusted are asked about, each with its own picture
and with that of another (`sight`, `sight_proof`).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.language_models.asking import LONGEST_SIDE
from backend.engine.statistics.distributions import mean_ranks
from backend.errors import PictureUnseen
from backend.features.vision_language import queries
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.opinions import p_yes
from backend.features.vision_language.server_question import question_about, without_constants
from backend.features.vision_language.sight import Example, Look, look_at
from backend.features.vision_language.sight_proof import (
    GROUP,
    MOST_LOOKS,
    ROUND,
    SightWatch,
    prove_sight,
)
from backend.jobs.scoring.dataset_constants import constants_in
from backend.jobs.scoring.image_batches import open_picture
from backend.store import Store
from db.queries import dataset_queries, pair_queries
from db.queries.pair_queries import PairRow

#: The requests of a check before the work, at least and at most, and of one during it.
FEWEST, MOST = 2 * GROUP, 2 * (MOST_LOOKS + GROUP)
FEWEST_AGAIN, MOST_AGAIN = 2 * ROUND, 2 * MOST_LOOKS
#: Pairs among which the most trusted are looked for, and groups of pictures that are opened.
_PAIRS, _GROUPS = 2000, 8
#: Answers from which on their course is judged, and how many are read for it.
LEAST_ANSWERS, _JUDGED = 30, 500
#: A rank correlation that leaves nothing to the picture: honest answers reach .2 to .4.
FOLLOWS = 0.95
#: A share of doubts that is no opinion, unless the captions are as likely wrong.
DOUBTS, _LIKELY = 0.9, 0.6
#: Pixels per side of the pictures that are compared to find unlike ones.
_THUMBNAIL = 8


def check_sight(
    store: Store, dataset_id: int, endpoint: ChatEndpoint, at_once: int = 1
) -> SightWatch:
    """Send `FEWEST` to `MOST` requests, `at_once` together. Returns what looks again during the
    work. Raises PictureUnseen for a model that is not seen to look; ModelUnavailable, BudgetSpent.
    """

    def look(examples: Sequence[Example]) -> list[Look]:
        others = {example.text: example.unlike_text for example in examples}

        def ask(image: Image.Image, text: str) -> float | None:
            question, other = (question_about(image, each) for each in (text, others[text]))
            return p_yes(endpoint.ask_beside(question, other).likeliest)

        return look_at(examples, ask, at_once)

    return prove_sight(examples_of(store, dataset_id), look, endpoint.where)


def examples_of(store: Store, dataset_id: int) -> Iterator[Example]:
    """The most trusted captions of different pictures, opened by `GROUP`, each with the picture of
    another; none if there are no two different pictures."""
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        pairs = pair_queries.pairs_after(session, dataset_id, 0, _PAIRS)
    group, known = list[tuple[str, Image.Image]](), set[str]()
    groups = 0
    for pair in sorted(pairs, key=_distrust):
        text = without_constants(pair.caption, constants_in(dataset.models))
        if not text or not known.isdisjoint((text, pair.image_path)):
            continue
        image = open_picture(Path(dataset.root), pair.image_path)
        if isinstance(image, str):
            continue
        known |= {text, pair.image_path}
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        group.append((text, image))
        if len(group) == GROUP:
            yield from _exchanged(group)
            group, groups = [], groups + 1
            if groups == _GROUPS:
                return
    yield from _exchanged(group)


def _exchanged(group: Sequence[tuple[str, Image.Image]]) -> Iterator[Example]:
    """Each text with its own picture and another's, in turn, so that each picture is own and unlike
    once: a model that answers by the picture alone, such as by its brightness, tells nothing apart.
    Those whose mean colours are most alike are taken: colours alone shall not tell, either."""
    thumbnails = [_thumbnail(picture) for _, picture in group]
    means = np.array([thumbnail.mean((0, 1)) for thumbnail in thumbnails])

    def gap(shift: int) -> float:
        return float(np.abs(means - np.roll(means, -shift, 0)).sum())

    shift = min(range(1, len(group)), key=gap, default=0)
    for number, (text, picture) in enumerate(group):
        unlike = (number + shift) % len(group)
        if (thumbnails[number] != thumbnails[unlike]).any():
            unlike_text, unlike_picture = group[unlike]
            yield Example(text, picture, unlike_picture, unlike_text)


def check_course(store: Store, run_id: int, endpoint: ChatEndpoint) -> None:
    """Raises PictureUnseen if the answers of a run so far look as if nobody had looked; they are
    kept. Nothing is said about fewer than `LEAST_ANSWERS`."""
    with store.reading() as session:
        opinions = queries.opinions_of_run(session, run_id)
        answered = [row for row in opinions.values() if row.p_yes is not None][:_JUDGED]
        pairs = {p.id: p for p in pair_queries.pairs_of(session, [row.pair_id for row in answered])}
    rows = [
        (row.p_yes, len(pair.caption), pair.s_0, pair.p_error)
        for row in answered
        if (pair := pairs.get(row.pair_id)) is not None and pair.p_error is not None
    ]
    if len(rows) < LEAST_ANSWERS:
        return
    p, length, s_0, p_error = np.array(rows, float).T
    for sight, measure, what in (
        ("length", length, "the length of the captions"),
        ("score", s_0, "the match that is known already"),
    ):
        if abs(r := _rank_correlation(p, measure)) >= FOLLOWS:
            raise _unlooked(
                f"{endpoint.where} answers by {what} alone (rank correlation {r:.2f} over "
                f"{len(rows)} answers).",
                sight,
            )
    doubted, expected = float((p < 0.5).mean()), float(p_error.mean())
    if doubted >= DOUBTS and expected < _LIKELY:
        raise _unlooked(
            f"{endpoint.where} doubts {doubted:.0%} of {len(rows)} captions, of which about "
            f"{expected:.0%} are likely wrong.",
            "doubts",
        )


def _unlooked(message: str, sight: str) -> PictureUnseen:
    """Of a model whose kept answers look as if nobody had looked."""
    return PictureUnseen(
        f"{message} Its answers are kept, and no number has changed.",
        sight=sight,
        terminal="Repair it, then run this again with --ask-again, which discards them, or choose "
        "another; to use its answers nevertheless: --trust-server.",
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
