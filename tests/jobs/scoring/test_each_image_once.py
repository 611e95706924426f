"""An image is decoded and encoded once, however many captions it has and wherever they occur."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from backend.engine.familiarity import Familiarity
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.depth import ALL, parse_depth
from backend.jobs.scoring.score_dataset import run_of
from backend.jobs.scoring.stage import Scoring
from backend.jobs.scoring.trajectory_stages import BATCH, Trajectories
from backend.jobs.scoring.workers import Workers
from backend.loaded_models import Engine
from backend.progress import no_progress
from backend.workspace import Workspace
from tests.checkpoints import drawn_folder
from tests.datasets.folders import image_folder

IMAGES = 3
CAPTIONS = BATCH // IMAGES + 5


class CountingEngine(Engine):
    """Counts how often an image is encoded."""

    encoded: Counter[str] = Counter()

    def encode(self, images: Sequence[Image.Image]) -> list[ImageState]:
        self.encoded.update(str(image.info["file_name"]) for image in images)
        return super().encode(images)


def test_each_image_is_decoded_and_encoded_once(workspace: Workspace, tmp_path: Path) -> None:
    folder = drawn_folder(tmp_path / "pairs", IMAGES)
    # The captions of an image are far apart.
    rows = [{"file_name": f"{n % IMAGES}.png", "caption": f"a dog {n}"}
            for n in range(IMAGES * CAPTIONS + 1)]  # fmt: skip
    dataset = workspace.jobs.import_dataset(image_folder(folder, rows, ())).dataset_id
    engine = CountingEngine(workspace.settings)
    run = run_of(workspace.store, engine, dataset)
    # Images unknown to the model are recognised without encoding any image again.
    familiarity = Familiarity.of_model(engine.settings.model)
    assert familiarity is not None
    scoring = Scoring(
        workspace.store, engine, dataset, folder, len(rows), parse_depth(ALL), run,
        Workers(engine, folder), familiarity=familiarity,
    )  # fmt: skip
    stage = Trajectories(scoring)
    stage.run(no_progress)
    assert (stage.scored, stage.unreadable, stage.unknown) == (len(rows), 0, 0)
    assert engine.encoded == {f"{number}.png": 1 for number in range(IMAGES)}
    assert Trajectories(scoring).remaining() == 0
