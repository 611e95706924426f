"""What features and packages add to exports, and steps that cannot be used."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from backend import plugins
from backend.datasets.export_row import MARK
from backend.errors import ExportError, SettingsError, TracedError
from backend.jobs import export_steps
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
from backend.options import Options
from backend.plugins import Plugin
from backend.workspace import Workspace
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
    assert {*export_steps.OF_EXPORT} == ExportOptions.model_fields.keys() - added


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
def entries(monkeypatch: pytest.MonkeyPatch) -> dict[str, ExportStep]:
    """Steps that packages add, by the names of their entry points."""
    steps: dict[str, ExportStep] = {}

    class Entry:
        dist = None

        def __init__(self, name: str) -> None:
            self.name = name

        def load(self) -> ExportStep:
            return steps[self.name]

    monkeypatch.setattr(plugins, "_LOADED", {})
    monkeypatch.setattr(plugins, "_of_features", lambda: ())
    monkeypatch.setattr(
        plugins, "_of_packages", lambda: {"export_steps": [Entry(name) for name in steps]}
    )
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
    assert [step.name for step in export_steps.steps(taken=["format"])] == ["first"]


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
