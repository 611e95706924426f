"""`lint`: faults are counted, tagged and mended."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from backend import plugins
from backend.errors import StoreError
from backend.features.lint import linting
from backend.features.lint.linting import LintReport
from backend.jobs.notices import Notice, Sentence
from backend.plugins import Plugin
from backend.workspace import Workspace
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import picture, unlike_pictures, write
from tests.fixtures.features import needs
from tests.jobs.opening import opened
from tests.jobs.test_shared_pictures import ROWS as SPLIT_ROWS
from tests.jobs.test_shared_pictures import written as with_splits

THINGS = ("dog", "cat", "horse", "bus", "boat", "tree", "lamp", "house", "kite", "bear")
FAULTY = {
    "html": "A dog &amp; a cat", "loop": "a dog on the the the beach",
    "refusal": "I'm sorry, I can't help with that.",
    "long": " ".join(f"A {a} and a {b} stand." for a in THINGS for b in THINGS[:3]),
    "german": "Ein Hund liegt auf der Bank und schläft.",
    **{f"same{n}": "A picture of things." for n in range(5)},
}  # fmt: skip


def written(folder: Path, beginning: str = "") -> Path:
    captions = {
        f"fine{a}{b}": f"{beginning}A {THINGS[a]} stands near the {THINGS[b]} in a park."
        for a in range(10)
        for b in range(10)
    } | FAULTY
    rows = [
        {"file_name": f"{name}.png", "id": name, "caption": caption}
        for name, caption in captions.items()
    ]
    return unlike_pictures(folder, rows)


def pairs_with(workspace: Workspace, tag: str) -> set[str]:
    queue = workspace.review.filter_of(1, {"tag": tag, "review": "all"})
    return {row.external_id for row in workspace.review.queue_page(queue).rows}


@pytest.fixture
def report(workspace: Workspace) -> LintReport:
    return workspace.jobs.run("lint", 1)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    opened_ = opened(tmp_path / "state")
    opened_.jobs.import_dataset(written(tmp_path / "pairs"))
    return opened_


def test_each_fault_is_a_queue(workspace: Workspace, report: LintReport) -> None:
    pairs = {fault.name: pairs_with(workspace, fault.tag) for fault in report.faults}
    assert pairs == {
        "same caption": {f"same{n}" for n in range(5)}, "markup": {"html"}, "loop": {"loop"},
        "refusal": {"refusal"}, "length": {"long"}, "language": {"german"},
    }  # fmt: skip
    counts = {fault.name: fault.pairs for fault in report.faults}
    assert counts == {name: len(ids) for name, ids in pairs.items()}
    assert (report.faulty, report.pairs) == (len(FAULTY), 100 + len(FAULTY))
    assert report.shared_words == (("end", "in a park"),)


def test_the_command_import_says_it_too_and_tags_nothing(tmp_path: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    source = str(written(tmp_path / "pairs"))
    first_look = as_json(environment, "import", source)["first_look"]
    assert opened(tmp_path / "state").review.tags(1) == {}
    assert opened(tmp_path / "state").jobs.run("lint", 1, tag=False).in_words() in first_look
    assert as_json(environment, "import", source, "--no-first-look")["first_look"] == []


@pytest.mark.parametrize("in_tar", [False, True])
def test_one_picture_under_many_names_is_a_placeholder(tmp_path: Path, in_tar: bool) -> None:
    """Ten with different captions; not nine, and not as many copies beside one caption."""
    shown = {"gone": 10, "nine": 9, "copies": 10}
    folder = tmp_path / "pairs"
    for place, (name, copies) in enumerate(shown.items()):
        for number in range(copies):
            image = picture(folder / f"{name}{number}.png", (8 + place, 8))
            caption = f"A {THINGS[number]} in a park." if name != "copies" else "A dog runs."
            write(image.with_suffix(".txt"), caption)
    if in_tar:
        with tarfile.open(tmp_path / "pairs.tar", "w") as tar:
            for path in sorted(folder.iterdir()):
                tar.add(path, path.name)
    workspace = opened(tmp_path / "state")
    workspace.jobs.import_dataset(tmp_path / ("pairs.tar" if in_tar else "pairs"))
    report: LintReport = workspace.jobs.run("lint", 1)
    (fault,) = (each for each in report.faults if each.name == linting.PLACEHOLDER)
    assert fault.pairs == len(pairs_with(workspace, fault.tag)) == 10
    assert all("gone" in name for name, _ in fault.examples)


@pytest.mark.parametrize(
    ("problem", "ends_with"),
    [(StoreError("gone"), 0), (ValueError(), 0), (KeyboardInterrupt(), 130)],
)
def test_an_import_outlasts_what_follows_it(
    problem: BaseException, ends_with: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise problem

    monkeypatch.setattr(linting, "lint", fails)
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    status, out, _ = invoked(environment, "import", str(written(tmp_path / "pairs")), "--json")
    assert (status, json.loads(out)["dataset_id"]) == (ends_with, 1)


@needs("bulk_edit")
def test_a_mend_is_previewed_undone_and_no_fault_any_more(
    workspace: Workspace, report: LintReport, tmp_path: Path
) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}

    def faults() -> set[str]:
        return {fault["name"] for fault in as_json(environment, "lint", "pairs")["faults"]}

    edit = ("edit", "pairs", "--mend", "markup", "--author", "Ada")
    assert as_json(environment, *edit, "--dry-run")["changed"] == 1
    assert pairs_with(workspace, "lint: markup") == {"html"}
    assert as_json(environment, *edit)["examples"][0]["after"] == "A dog & a cat"
    assert "markup" not in faults()
    assert "lint: markup" not in workspace.review.tags(1)
    as_json(environment, "edit", "pairs", "--undo", "--author", "Ada")
    assert "markup" in faults()
    status, _, err = invoked(environment, "edit", "pairs", "--mend", "refusal")
    assert (status, "markup" in err) == (2, True), "it says what can be mended"


def test_pictures_in_several_splits_are_tagged(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "leaking_state")
    workspace.jobs.import_dataset(with_splits(tmp_path / "leaking", SPLIT_ROWS))
    report = workspace.jobs.run("lint", 1)
    (fault,) = [fault for fault in report.faults if fault.name == "several splits"]
    assert fault.pairs == 7
    queue = workspace.review.filter_of(1, {"tag": fault.tag, "review": "all"})
    captions = {row.caption for row in workspace.review.queue_page(queue).rows}
    assert captions == {c for picture, _, c in SPLIT_ROWS if picture not in ("green", "yellow")}


def test_what_is_to_be_known_of_the_dataset_is_said(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = Notice(lambda store, dataset_id: [Sentence("Half of the captions moved.")])
    loaded = (Plugin("notices", "halves", "", notice),)
    monkeypatch.setattr(plugins, "_LOADED", plugins._LOADED | {"notices": loaded})
    assert workspace.jobs.run("lint", 1).notices == ("Half of the captions moved.",)
