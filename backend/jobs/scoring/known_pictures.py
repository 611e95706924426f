"""Check that a model knows the kind of pictures in a dataset before spending hours on scoring."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from PIL import Image

from backend.datasets.cells import split_proof
from backend.engine.familiarity import Familiarity
from backend.engine.scoring.protocol import ImageState
from backend.errors import UnknownPictures
from backend.jobs.scoring.dataset_models import model_name, was_scored_anyway
from backend.jobs.scoring.image_batches import encode_opened, open_pictures
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import dataset_queries, pair_queries, trajectory_queries
from db.queries.dataset_queries import DatasetRow
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow

#: Number of pictures sampled.
SAMPLE = 60
#: A dataset is refused if more than this share is unknown; about one in a hundred of the pictures
#: that the model does know is misclassified as unknown.
MOST_UNKNOWN = 0.1
#: What the list of problems calls a picture that was left out because the model does not know it.
UNKNOWN = "unknown picture"


@dataclass(frozen=True)
class Recognition:
    """Of the pictures still to be scored, `sampled` were examined and `unknown` are unlike those
    that `model` was trained on. `share`: of the dataset's pairs that are still to be scored; the
    model knows the pictures of the others."""

    model: str
    sampled: int
    unknown: int
    share: float = 1.0

    @property
    def refusal(self) -> str:
        """Why the dataset is refused; "" if it is not."""
        if self.unknown * self.share <= MOST_UNKNOWN * self.sampled:
            return ""
        are = "is" if self.unknown == 1 else "are"
        return (
            f"{self.unknown} of {self.sampled} pictures checked {are} unlike anything that "
            f"{_name_of(self.model)} was trained on: its scores would mean nothing."
        )


def recognise(store: Store, engine: Engine, dataset: DatasetRow, run_id: int = 0) -> Recognition:
    """Examine a sample of the pictures that have no trajectory of the run (0: of all pictures), or
    neither caption nor suggestion, and have not been left out before.

    Nothing is examined for a general-purpose model, or if a user chose to score the dataset anyway.
    """
    if was_scored_anyway(dataset, engine.settings):
        return Recognition(engine.settings.model, 0, 0)
    return examine(store, engine, dataset, run_id)


def examine(store: Store, engine: Engine, dataset: DatasetRow, run_id: int = 0) -> Recognition:
    """As `recognise`, whatever a user chose."""
    model = engine.settings.model
    familiarity = Familiarity.of_model(model)
    if familiarity is None:
        return Recognition(model, 0, 0)
    with store.reading() as session:
        left_out = dataset_queries.files_with_problem(session, dataset.id, UNKNOWN)
        waiting = chain(
            pair_queries.unscored_by_image(session, dataset.id, run_id),
            pair_queries.without_description(session, dataset.id),
        )
        names = sample_names(name for _, name in waiting if name not in left_out)
        unscored = pair_queries.count_unscored(session, dataset.id, run_id)
        unscored += pair_queries.count_without_description(session, dataset.id)
        total = pair_queries.totals(session, dataset.id)[0]
    pictures = open_pictures(Path(dataset.root), names).values()
    images = [image for image in pictures if isinstance(image, Image.Image)]
    with engine.lock:
        unknown = int(familiarity.unknown(engine.scorer, images).sum())
    return Recognition(model, len(images), unknown, min(1.0, unscored / max(total, 1)))


def sample_names(names: Iterator[str]) -> list[str]:
    """At most `SAMPLE` distinct names, drawn at random; equal names must be adjacent in `names`."""
    rng = random.Random(0)
    paths: list[str] = []
    count, last = 0, None
    for name in names:
        if name == last:
            continue
        last, count = name, count + 1
        if len(paths) < SAMPLE:
            paths.append(name)
        elif (place := rng.randrange(count)) < SAMPLE:
            paths[place] = name
    return paths


def familiarity_for(engine: Engine, dataset: DatasetRow) -> Familiarity | None:
    """The test by which single pictures of the dataset are left out; None: all are scored."""
    if was_scored_anyway(dataset, engine.settings):
        return None
    return Familiarity.of_model(engine.settings.model)


def encode_known(
    engine: Engine, pictures: Mapping[str, Any], familiarity: Familiarity | None
) -> tuple[dict[str, ImageState], dict[str, str], dict[str, str]]:
    """`encode_opened` without the pictures that the model does not know, and the reason for each of
    those; the test uses the same encoding."""
    if familiarity is None:
        return *encode_opened(engine, pictures), {}
    with engine.lock, familiarity.watching(engine.scorer) as features:
        states, broken = encode_opened(engine, pictures)
    unknown = {
        name: why_unknown(engine.settings.model)
        for name, is_unknown in zip(states, familiarity.unknown_of(features), strict=True)
        if is_unknown
    }
    return {n: s for n, s in states.items() if n not in unknown}, broken, unknown


def check_pictures(store: Store, engine: Engine, dataset: DatasetRow, run_id: int = 0) -> None:
    """Raises UnknownPictures if the model does not know the dataset's pictures."""
    if refusal := recognise(store, engine, dataset, run_id).refusal:
        raise UnknownPictures(refusal)


def check_picture(engine: Engine, image: Image.Image, name: str = "") -> None:
    """Check one picture, which a dataset calls `name`. Raises UnknownPictures."""
    familiarity = Familiarity.of_model(engine.settings.model)
    if familiarity is None:
        return
    with engine.lock:
        if familiarity.unknown(engine.scorer, [image])[0]:
            picture = f"'{name}'" if name else "This picture"
            raise UnknownPictures(why_unknown(engine.settings.model, picture))


def check_picture_of(
    store: Store,
    engine: Engine,
    dataset: DatasetRow,
    run: RunRow | None,
    pair: PairRow,
    image: Image.Image,
) -> None:
    """A pair's picture. `run`: the dataset's newest scoring. Raises UnknownPictures, unless the
    pair has a score by this model or the dataset is to be scored anyway."""
    if was_scored_anyway(dataset, engine.settings):
        return
    info = engine.scorer.info
    is_scored = (
        run is not None
        and (run.scorer_kind, run.revision) == (info.kind, info.revision)
        and bool(store.read(trajectory_queries.get_trajectories, pair.id, run.id))
    )
    if not is_scored:
        check_picture(engine, image, split_proof(pair.image_path)[0])


def why_unknown(model: str, picture: str = "It") -> str:
    """The message for a picture that the model does not know."""
    return (
        f"{picture} is unlike anything that {_name_of(model)} was trained on: its scores would "
        "mean nothing."
    )


def _name_of(model: str) -> str:
    name = model_name(model)
    return "the embedded model" if name == "embedded" else f"'{Path(name).name}'"
