"""What features and packages add to exports, and steps that cannot be used."""

import csv
import inspect
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from backend import plugins
from backend.cli.commands import CommandVariant, as_command
from backend.cli.dataset_commands import export as export_command
from backend.datasets.export_row import MARK
from backend.errors import ExportError, SettingsError, TracedError
from backend.jobs import export_choice, export_steps
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_counts import errors_left_in
from backend.jobs.export_scores import COLUMNS_OF_SCORES
from backend.jobs.export_steps import (
    ExportStep,
    ListColumn,
    PairMark,
    Screening,
    WrittenExport,
)
from backend.measures import export_names
from backend.operations.export import ExportOptions
from backend.options import ComposedOptions, Options, typed_names
from backend.plugins import Plugin
from backend.workspace import Workspace
from tests.fixtures.features import needs
from tests.jobs.test_export_dataset import workspace

__all__ = ["workspace"]


class Wish(Options):
    mood: str = ""


def fails(*_: Any) -> Any:
    raise RuntimeError("no such mood")


def write_mood(export: WrittenExport, folder: Path, digests: Any) -> dict[str, str]:
    (folder / "mood.txt").write_text(export.lines["Mood"])
    return {}


def use(monkeypatch: pytest.MonkeyPatch, *steps: ExportStep) -> None:
    """Exports have these steps alone."""
    loaded = tuple(Plugin("export_steps", step.name, "moods 1.0", step) for step in steps)
    monkeypatch.setattr(plugins, "_LOADED", plugins._LOADED | {"export_steps": loaded})


def export(workspace: Workspace, out: Path, **options: Any) -> str:
    return workspace.jobs.export(1, ExportChoice(), out, "csv", **options).card


def test_a_step_has_an_option_lines_columns_and_files(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moods: list[tuple[str, str]] = []
    use(monkeypatch, ExportStep(
        "mood", Wish,
        begin=lambda store, dataset_id, author, options: moods.append((author, options.mood)),
        card=lambda store, dataset_id: {"Mood": moods[-1][1]},
        columns={"mood": lambda session, pair_ids: {2: "calm"}, "caption": lambda *_: {}},
        describe=write_mood, describes=("mood.txt",),
    ))  # fmt: skip
    out = tmp_path / "out"
    assert "- Mood: calm\n" in export(workspace, out, mood="calm")
    assert moods == [(workspace.settings.author, "calm")]
    assert (out / "mood.txt").read_text() == "calm"
    with (out / "data.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    moods_in_rows = [json.loads(row["extra"])["mood"] for row in rows]
    assert moods_in_rows == [None, "calm", None]
    assert [row["caption"] for row in rows] == ["A dog 0", "A dog 1", "A dog 2"], "ours stay"


class Picks(Options):
    picks: str | None = None


def screening(choice: Picks) -> Screening | None:
    """Pair 1 leaves, or all are tagged."""
    if choice.picks is None:
        return None
    mark = PairMark("not picked") if choice.picks == "leave out" else PairMark(tags=("picked",))
    marks = {1: mark, 2: PairMark(tags=mark.tags)}
    return Screening(
        {"Picks": choice.picks}, choice.picks == "leave out",
        lambda store, dataset_id: lambda pair_id: marks.get(pair_id, PairMark()),
    )  # fmt: skip


def test_a_step_chooses_among_undecided_pairs(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ExportStep("picks", choice=Picks, screening=screening))
    choices: dict[str, Any] = {}
    for picks in ("leave out", "tag"):
        # A choice has the fields of the steps that there are when it is first imported.
        choices[picks] = type("Chosen", (Picks, ExportChoice), {})(picks=picks)
    counts = workspace.jobs.export_counts(1, choices["leave out"])
    assert (counts.kept, counts.left_out) == (2, {"not picked": 1})
    assert workspace.jobs.export_counts(1, choices["tag"]).tagged == 2
    card = workspace.jobs.export(1, choices["tag"], tmp_path / "out", "csv").card
    assert "- Picks: tag\n" in card
    assert errors_left_in(workspace.store, 1, choices["tag"], 3) is not None
    assert errors_left_in(workspace.store, 1, choices["leave out"], 2) is None
    workspace.review.decide(1, 0, "correct")
    assert workspace.jobs.export_counts(1, choices["leave out"]).kept == 3


def test_what_an_export_has_without_steps_is_known() -> None:
    added = {name for step in export_steps.steps() for name in step.options.model_fields}
    assert {*export_choice.OF_EXPORT} == ExportOptions.model_fields.keys() - added
    parameters = inspect.signature(as_command(export_command)).parameters.keys()
    added |= typed_names(ExportChoice)
    assert {*export_choice.OF_COMMAND} == parameters - {*export_choice.OF_EXPORT} - added


def test_what_our_features_add_to_an_export_is_known() -> None:
    of_variants = {
        name for variant in plugins.load("command_variants", CommandVariant)
        if variant.command == "export" for name in typed_names(variant.options)
    }  # fmt: skip
    of_steps = {name for step in export_steps.steps() for name in step.options.model_fields}
    assert plugins.own_options("command_variants") == of_variants
    assert plugins.own_options("export_steps") == of_steps


def test_an_option_of_no_step_is_refused(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ExportStep("mood", Wish))
    with pytest.raises(SettingsError, match="weather"):
        export(workspace, tmp_path / "out", weather="rain")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "step",
    [
        ExportStep("mood", begin=fails), ExportStep("mood", card=fails),
        ExportStep("mood", columns={"mood": fails}),
        ExportStep("mood", describe=fails, describes=("mood.txt",)),
        ExportStep("mood", screening=fails),
    ],
    ids=["begin", "card", "columns", "describe", "screening"],
)  # fmt: skip
def test_a_step_that_fails_is_named_and_leaves_nothing(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: ExportStep
) -> None:
    use(monkeypatch, step)
    with pytest.raises((SettingsError, ExportError)) as problem:
        export(workspace, tmp_path / "out")
    assert isinstance(problem.value, TracedError)
    assert not list(tmp_path.glob("*out*"))


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Steps (or choices) that packages add, by the names of their entry points."""
    steps: dict[str, Any] = {}

    class Entry:
        dist = None

        def __init__(self, name: str) -> None:
            self.name = name

        def load(self) -> Any:
            return steps[self.name]

    monkeypatch.setattr(plugins, "_LOADED", {})
    monkeypatch.setattr(plugins, "entries_of", lambda group: [Entry(name) for name in steps])
    return steps


def test_two_steps_with_one_option_and_one_of_ours_are_left_out(
    entries: dict[str, ExportStep],
) -> None:
    class Format(Options):
        format: str = ""

    entries |= {
        "first": ExportStep("first", Wish), "format": ExportStep("format", Format),
        "second": ExportStep("second", Wish), "third": ExportStep("third", choice=Wish),
    }  # fmt: skip
    assert [step.name for step in export_steps.steps()] == ["first"]


#: What there is already of an export: of its choice, its command, a variant, a step of ours.
TAKEN = (
    "drop_above", "seed", "db", pytest.param("select", marks=needs("selection")),
    pytest.param("snapshot", marks=needs("snapshots")),
)  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_a_choice_or_an_option_of_a_taken_name_is_left_out(
    entries: dict[str, Any], name: str
) -> None:
    fields: Any = {name: (int, 0)}
    taken = create_model("Taken", __base__=ComposedOptions, **fields)
    entries |= {"first": Wish, "taken": taken, "second": Wish}
    assert list(export_choice.added_choices()) == [Wish]
    entries.clear()
    if name != "snapshot":  # ours comes first, and is not among these
        entries["taken"] = ExportStep("taken", taken)
        assert export_steps.steps() == ()


def test_a_choice_without_its_step_is_not_passed_over(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch)
    monkeypatch.setattr(export_steps, "ADDED", (Picks,))
    for picks, is_refused in (("tag", True), (None, False)):
        choice: Any = type("Chosen", (Picks, ExportChoice), {})(picks=picks)
        with pytest.raises(SettingsError, match="picks") if is_refused else nullcontext():
            workspace.jobs.export_counts(1, choice)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b"])
def test_a_step_whose_description_would_leave_the_export_is_left_out(
    entries: dict[str, ExportStep], name: str
) -> None:
    entries["torn"] = ExportStep("torn", describes=(name,))
    assert export_steps.steps() == ()


def test_two_steps_with_one_column_or_one_description_are_left_out(
    entries: dict[str, ExportStep],
) -> None:
    entries |= {
        "first": ExportStep("first", columns={"mood": fails}, describes=("mood.json",)),
        "second": ExportStep("second", columns={"mood": fails}),
        "third": ExportStep("third", describes=("mood.json",)),
    }
    assert [step.name for step in export_steps.steps()] == ["first"]


def test_a_list_takes_no_name_that_a_file_of_scores_has(entries: dict[str, ExportStep]) -> None:
    of_scores = export_steps.OF_SCORES
    assert {*of_scores, *COLUMNS_OF_SCORES} == {*of_scores, *export_names()}
    lists = ListColumn(fails, fails)
    entries |= {name: ExportStep(name, lists={name: lists}) for name in ("caption", "s_0", "mood")}
    entries["phrases"] = ExportStep("phrases", columns={"phrases": fails})
    assert [step.name for step in export_steps.steps()] == ["mood", "phrases"]


@pytest.mark.parametrize("name", ["data.csv", "README.md", "SHA256SUMS", MARK])
def test_a_description_never_replaces_a_file_of_the_export(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    use(monkeypatch, ExportStep("table", describe=lambda *_: {}, describes=(name,)))
    with pytest.raises(ExportError, match=f"'{re.escape(name)}'"):
        export(workspace, tmp_path / "out")
    assert not (tmp_path / "out").exists()
