"""A task that kills its worker twice for each shard, by SIGKILL as when memory runs out: before it
begins, and when its result is written but not returned.

Each death happens once per run, in whichever worker comes first: a file beside the results says so.
Another says which process is no worker, and lives.
"""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from backend.datasets.safe_files.locations import StoredFile
from backend.features.shards.shard_scores import Facts, Task
from backend.jobs.scoring.workers import Opened
from backend.loaded_models import Engine


class MortalTask(Task):
    def __call__(self, engine: Engine, shards: Sequence[StoredFile], opened: Opened) -> Facts | str:
        self._die_once(f"before {shards[0].name}")
        facts = super().__call__(engine, shards, opened)
        if self.detector is not None:
            self._die_once(f"written {shards[0].name}")
        return facts

    def _die_once(self, moment: str) -> None:
        if os.getpid() == int(Path(f"{self.out}-driver").read_text()):
            return
        try:
            Path(f"{self.out}-died-{moment}").touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
