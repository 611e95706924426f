"""An image is decoded and encoded once, however many captions it has and wherever they occur."""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from backend.engine.familiarity import Familiarity
from backend.engine.trajectories.depth import ALL, parse_depth
from backend.jobs import image_batches
from backend.jobs.score_dataset import run_of
from backend.jobs.stage import Scoring
from backend.jobs.trajectory_stages import BATCH, Trajectories
from backend.jobs.workers import Workers
from backend.progress import no_progress
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.checkpoints import drawn_pairs

IMAGES = 3
CAPTIONS = BATCH // IMAGES + 5


def test_each_image_is_decoded_and_encoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    for number, (image, _) in enumerate(drawn_pairs(IMAGES)):
        image.save(folder / f"{number}.png")
    with (folder / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file_name", "caption"])
        for number in range(IMAGES * CAPTIONS):  # the captions of an image are far apart
            writer.writerow([f"{number % IMAGES}.png", f"a dog {number}"])
        writer.writerow(["0.png", "a cat"])
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    dataset = workspace.jobs.import_dataset(folder).dataset_id
    decoded: Counter[str] = Counter()
    encoded: list[int] = []
    real_open, engine = image_batches.open_picture, workspace.engine
    real_encode = engine.encode

    def opened(root: Path, name: str) -> Image.Image | str:
        decoded[name.partition("#")[0]] += 1  # without the hash of its content
        return real_open(root, name)

    def encode(images: Sequence[Image.Image]) -> Any:
        encoded.append(len(images))
        return real_encode(images)

    monkeypatch.setattr(image_batches, "open_picture", opened)
    monkeypatch.setattr(engine, "encode", encode)
    run = run_of(workspace.store, engine, dataset)
    total = IMAGES * CAPTIONS + 1
    # Images unknown to the model are recognised without encoding any image again.
    known = Familiarity.of_model(engine.settings.model)
    assert known is not None

    def compute(known: Familiarity | None) -> Trajectories:
        workers = Workers(engine, folder)
        stage = Trajectories(
            Scoring(
                workspace.store, engine, dataset, folder, total, parse_depth(ALL), run, workers,
                familiarity=known,
            )
        )  # fmt: skip
        stage.run(no_progress)
        return stage

    scored = compute(known)
    assert (scored.scored, scored.unreadable, scored.unknown) == (total, 0, 0)
    assert decoded == {f"{number}.png": 1 for number in range(IMAGES)}
    assert sum(encoded) == IMAGES
    # A second run has nothing to do.
    again = compute(None)
    assert (again.remaining(), again.scored) == (0, 0)
    workspace.store.close()
