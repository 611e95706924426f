"""A task for `Workers` that does not end.

A separate module, because the process that runs it has to import whatever its module imports.
"""

import multiprocessing
import os
import time
from collections.abc import Sequence
from pathlib import Path

from backend.jobs.scoring.workers import Opened
from backend.loaded_models import Engine
from db.queries.pair_queries import PairCaption


def write_and_sleep(engine: Engine, batch: Sequence[PairCaption], opened: Opened) -> None:
    if multiprocessing.parent_process() is not None:
        Path("pid.part").write_text(str(os.getpid()))
        Path("pid.part").rename("pid")
    time.sleep(600)
