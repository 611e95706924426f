"""A measure of a plug-in is computed for every caption once, in batches, by its own function."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backend.errors import SettingsError
from backend.jobs import measure_captions
from backend.measures import MEASURES, Measure
from backend.workspace import Workspace
from tests.datasets.folders import dogs
from tests.fixtures.interrupting import stop_at

NAME, PAIRS = "length", 7
Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a measure with this function."""

    def install_one(compute: Any, **more: Any) -> None:
        measure = Measure(name=NAME, title="Length", explanation="", compute=compute, **more)
        monkeypatch.setitem(MEASURES, NAME, measure)

    return install_one


@pytest.fixture
def dataset(workspace: Workspace, tmp_path: Path) -> int:
    return workspace.jobs.import_dataset(dogs(tmp_path / "dogs", PAIRS)).dataset_id


def test_an_interrupted_job_goes_on_where_it_stopped(
    workspace: Workspace, dataset: int, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def compute(caption: str, picture: Callable[[], Any]) -> float:
        seen.append(caption)
        return float(picture().width)

    install(compute)
    monkeypatch.setattr(measure_captions, "BATCH", 2)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run("measure", dataset, stop_at(4), measure=NAME)
    report = workspace.jobs.run("measure", dataset, measure=NAME)
    assert report.measured == PAIRS - 4
    assert sorted(seen) == [f"A dog {n}" for n in range(PAIRS)]


@pytest.mark.parametrize(
    ("compute", "words"),
    [
        (lambda caption, picture: float("nan"), "nan"),
        (lambda caption, picture: -1, "-1"),
        (lambda caption, picture: "long", "long"),
        (lambda caption, picture: caption.no_such, "AttributeError"),
    ],
)
def test_a_measure_that_fails_is_named_with_the_pair(
    workspace: Workspace, dataset: int, install: Install, compute: Any, words: str
) -> None:
    install(compute, low=0.0)
    with pytest.raises(SettingsError, match=f"'{NAME}'") as refused:
        workspace.jobs.run("measure", dataset, measure=NAME)
    assert "pair 1" in str(refused.value)
    assert words in str(refused.value)


def test_none_is_no_number(workspace: Workspace, dataset: int, install: Install) -> None:
    install(lambda caption, picture: None if caption.endswith("0") else 1)
    report = workspace.jobs.run("measure", dataset, measure=NAME)
    assert (report.measured, report.without) == (PAIRS - 1, 1)


def test_an_unknown_measure_is_refused(workspace: Workspace, dataset: int) -> None:
    for name in ("nothing", "specificity"):
        with pytest.raises(SettingsError, match=name):
            workspace.jobs.run("measure", dataset, measure=name)
