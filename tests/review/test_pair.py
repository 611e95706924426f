"""Opening a pair only reads the store; modules that compute are not even imported."""

import subprocess
import sys

#: Modules that read stored trajectories and suggestions and compute nothing.
READERS = {"backend.jobs", "backend.jobs.stored_suggestions", "backend.jobs.stored_trajectories"}
CODE = "import sys, backend.review.pair; print(*sys.modules)"


def test_opening_a_pair_imports_no_job_and_no_model() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert {name for name in modules if name.startswith("backend.jobs")} <= READERS
    assert modules.isdisjoint({"torch", "transformers", "sklearn", "gradio"})
