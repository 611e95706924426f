"""Constant parts of captions are left out of scoring, and nothing else of the captions changes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from backend.bundled import DEMO
from backend.errors import SettingsError
from backend.jobs import export_facts, export_scores
from backend.jobs.scoring.dataset_constants import constants_before
from backend.workspace import QueueFilter, Workspace
from db.queries import dataset_queries, detection_queries, suggestion_queries
from tests.cli.invoking import as_json
from tests.fixtures.features import needs
from tests.jobs.opening import OpenWorkspace, opened, pairs_of

COUNT = 30  # the fewest in which a part is constant
BEFORE = "ohwx style, "


CHEAP = {"captioner": "none", "detector": "eight signs", "trajectories": "first-step"}
#: The datasets of `scored`: the same pairs without and with `BEFORE`.
PLAIN, TRIGGER = 1, 2


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("constants")
    workspace = opened(folder / "state", **CHEAP)
    for name, before in (("plain", ""), ("trigger", BEFORE)):
        dataset = workspace.find_or_import(str(source(folder / name, before)))
        report = workspace.jobs.score(dataset, anyway=True)
        found = [(part.text, part.captions, part.is_left_out) for part in report.constants]
        assert found == ([("ohwx style", COUNT, True)] if before else [])
        assert report.former_constants is None
    workspace.store.close()
    return folder


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, scored: Path) -> Workspace:
    return open_workspace(copy_of=scored, **CHEAP)


def source(folder: Path, before: str) -> Path:
    """Pairs of the demo, with `before` in front of each caption."""
    (folder / "images").mkdir(parents=True)
    rows = []
    for line in (DEMO / "metadata.jsonl").read_text(encoding="utf-8").splitlines()[:COUNT]:
        row = json.loads(line)
        shutil.copy(DEMO / row["file_name"], folder / row["file_name"])
        rows.append(row | {"caption": before + row["caption"]})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metadata.jsonl").write_text(text, encoding="utf-8")
    return folder


def scores(workspace: Workspace, dataset: int, out: Path) -> list[dict[str, Any]]:
    export_scores.write(workspace.store, dataset, out)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_the_scores_are_those_of_the_captions_without_their_trigger(
    workspace: Workspace, tmp_path: Path
) -> None:
    expected = scores(workspace, PLAIN, tmp_path / "plain.jsonl")
    actual = scores(workspace, TRIGGER, tmp_path / "trigger.jsonl")
    assert [row["s_0"] for row in actual] == pytest.approx([row["s_0"] for row in expected])
    for row, without in zip(actual, expected, strict=True):
        assert row["caption"] == BEFORE + without["caption"]
        assert all(start >= len(BEFORE) for start, _, _ in row["suspects"])
    pairs = pairs_of(workspace, TRIGGER)
    with workspace.store.reading() as session:
        suggestions = [
            (pair, each) for pair in pairs
            for each in suggestion_queries.list_suggestions(session, pair.id)
        ]  # fmt: skip
        suspects = detection_queries.detections_of(session, [pair.id for pair in pairs])
    assert suggestions
    assert all(each.caption.startswith(BEFORE) for _, each in suggestions)
    assert any(row.suspects for row in suspects.values())
    assert workspace.jobs.score(TRIGGER, anyway=True).scored == 0, "nothing is left to do"


def test_where_nothing_is_constant_nothing_is_remembered_or_changed(
    workspace: Workspace, tmp_path: Path
) -> None:
    assert "constants" not in workspace.store.read(dataset_queries.get_dataset, PLAIN).models
    before = scores(workspace, PLAIN, tmp_path / "a.jsonl")
    again = workspace.jobs.score(PLAIN, anyway=True, suggestions=False, constants=False)
    assert (again.scored, again.constants) == (0, ())
    assert scores(workspace, PLAIN, tmp_path / "b.jsonl") == before


def test_parts_are_stated_remembered_and_forgotten(workspace: Workspace, tmp_path: Path) -> None:
    dataset = workspace.find_or_import(str(source(tmp_path / "named", "bluvok, ")))
    first = workspace.jobs.score(dataset, anyway=True, suggestions=False)
    assert [part.is_left_out for part in first.constants] == [False]
    queue = workspace.review.queue_page(QueueFilter(dataset, suspect_word="bluvok"))
    assert first.suspected == (len(queue.rows),) != (0,)
    with pytest.raises(SettingsError):
        workspace.jobs.score(dataset, anyway=True, constant=("bluv",))
    stated = workspace.jobs.score(dataset, anyway=True, suggestions=False, constant=("bluvok,",))
    assert stated.scored == COUNT, "another text is scored"
    assert next(part.text for part in constants_before(workspace.store, dataset)) == "bluvok"
    assert workspace.jobs.score(dataset, anyway=True, suggestions=False).scored == 0
    off = workspace.jobs.score(dataset, anyway=True, suggestions=False, constants=False)
    assert (off.scored, off.constants) == (COUNT, ())


def test_words_that_are_stated_one_by_one_are_no_part_of_their_own(
    workspace: Workspace, tmp_path: Path
) -> None:
    dataset = workspace.find_or_import(str(source(tmp_path / "style", "simple drawing, ")))
    options: dict[str, Any] = {"anyway": True, "suggestions": False}
    report = workspace.jobs.score(dataset, constant=("drawing", "simple"), **options)
    assert {part.words for part in report.constants} == {("drawing",), ("simple",)}


def test_the_command_line_states_and_stops_looking(tmp_path: Path) -> None:
    state = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    state |= {f"TRACED_{name.upper()}": value for name, value in CHEAP.items()}
    command = ("score", str(source(tmp_path / "drawn", "red ")), "--anyway", "--no-suggestions")
    stated = as_json(state, *command, "--constant", "red")
    assert ["red"] in [part["words"] for part in stated["constants"] if part["is_stated"]]
    assert as_json(state, *command, "--no-constants")["constants"] == []


def test_a_part_that_is_switched_off_is_judged_from_the_next_scoring_on(
    workspace: Workspace, tmp_path: Path
) -> None:
    dataset, options = TRIGGER, {"anyway": True, "suggestions": False}
    left_out = scores(workspace, dataset, tmp_path / "a.jsonl")
    workspace.review.switch_constant(dataset, "ohwx style", is_left_out=False)
    assert scores(workspace, dataset, tmp_path / "b.jsonl") == left_out, "nothing was scored yet"
    report = workspace.jobs.score(dataset, **options)
    assert report.scored == COUNT
    assert not any(part.is_left_out for part in report.constants)
    assert scores(workspace, dataset, tmp_path / "c.jsonl") != left_out
    assert workspace.jobs.score(dataset, **options).scored == 0
    workspace.review.switch_constant(dataset, "ohwx style", is_left_out=True)
    workspace.jobs.score(dataset, **options)
    again = scores(workspace, dataset, tmp_path / "d.jsonl")
    assert [row["s_0"] for row in again] == pytest.approx([row["s_0"] for row in left_out])


def test_a_choice_of_parts_is_remembered_with_the_models_or_not_at_all(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill in between would lose it."""
    stored: list[Any] = []
    remember = dataset_queries.remember_models

    def record(session: Session, dataset_id: int, models: Any) -> None:
        stored.append(models)
        remember(session, dataset_id, models)

    monkeypatch.setattr(dataset_queries, "remember_models", record)
    workspace.jobs.score(TRIGGER, anyway=True, suggestions=False, constant=("ohwx style",))
    assert [models["constants"]["stated"] for models in stored] == [["ohwx style"]]


def test_constant_parts_are_exported_beside_the_scores_and_on_the_card(
    workspace: Workspace, tmp_path: Path
) -> None:
    rows = scores(workspace, TRIGGER, tmp_path / "a.jsonl")
    assert {row["caption"][slice(*span)] for row in rows for span in row["constants"]} == {
        "ohwx style"
    }
    card = export_facts.facts(workspace.store, TRIGGER)
    assert any("ohwx style" in str(line) for line in card.values())
    again = workspace.jobs.score(TRIGGER, anyway=True, suggestions=False, constants=False)
    assert again.former_constants == ("ohwx style",)
    assert again.constants == ()
    assert "ohwx style" in again.in_words()
    assert "constants" not in scores(workspace, TRIGGER, tmp_path / "b.jsonl")[0]


@needs("specificity")
@needs("phrases")
def test_specificity_and_support_do_not_read_them(workspace: Workspace) -> None:
    numbers = []
    for dataset in (PLAIN, TRIGGER):
        workspace.jobs.run("specificity", dataset)
        workspace.jobs.run("support", dataset)
        pairs = pairs_of(workspace, dataset)
        numbers.append([(p.numbers["specificity"], p.numbers["support"]) for p in pairs])
    plain, trigger = numbers
    assert all(any(each[place] is not None for each in plain) for place in (0, 1))
    assert [each[0] for each in trigger] == pytest.approx([each[0] for each in plain], abs=1e-4)
    assert [each[1] for each in trigger] == pytest.approx(
        [each[1] for each in plain], abs=1e-4, nan_ok=True
    )
