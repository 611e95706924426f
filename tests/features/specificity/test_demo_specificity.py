"""The demo of the first start comes with how specific its captions are."""

from pathlib import Path

from backend.jobs import scored_demo
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import run_queries


def test_a_second_measurement_of_the_demo_has_nothing_to_do(tmp_path: Path) -> None:
    settings = load_settings({"data_directory": str(tmp_path / "state")}, {})
    assert scored_demo.unpack(settings)
    workspace = Workspace(settings)
    (dataset,) = workspace.datasets()
    run = workspace.store.read(run_queries.latest_run, dataset.id, "specificity")
    assert run is not None
    assert workspace.jobs.run("specificity", dataset.id).run_id == run.id
    workspace.store.close()
