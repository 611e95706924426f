"""What a server loads before people wait for it."""

import os
from pathlib import Path

from tests.fixtures import programs

#: Prints what comparing the captions of a picture imports after the warm-up, and what the garbage
#: collector leaves alone since.
WARMED_UP = """
import gc, sys
from backend.engine.correction.anchoring import conflicts
from backend.loaded_models import Engine
from backend.settings import load_settings

folder = sys.argv[1]
settings = load_settings({"data_directory": folder, "concreteness": f"{folder}/no-model"})
Engine(settings).warm_up()
before = set(sys.modules)
conflicts("Two dogs", ["Three dogs."])
print(len(set(sys.modules) - before), gc.get_freeze_count())
"""


def test_the_first_pair_imports_nothing(tmp_path: Path) -> None:
    status, printed, problem = programs.run(["-c", WARMED_UP, str(tmp_path)], os.environ)
    assert status == 0, problem
    imported, frozen = map(int, printed.split())
    assert imported == 0
    assert frozen > 10_000
