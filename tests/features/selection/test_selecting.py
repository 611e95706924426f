"""Two-stage selection of a dataset: exact counts, precedence of verdicts, saved view, losses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update

from backend.errors import SettingsError
from backend.features.selection.options import TwoStage
from backend.features.selection.report import SelectionReport
from backend.features.selection.selecting import choose, report_on, split_for
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_reports import ExportCounts
from backend.progress import no_progress
from backend.review.caption_edits import change_each, edit_captions
from backend.review.queue_form import from_fields
from backend.workspace import QueueFilter, Workspace
from db.models import Pair, PhraseScore, Run
from db.queries import pair_queries, run_queries, trajectory_queries
from db.queries.phrase_queries import PhraseRow, pack
from db.queries.ranking_queries import p_error_of
from db.queries.statements import set_columns
from db.queries.trajectory_queries import TrajectoryRow
from tests.cli.invoking import as_json
from tests.datasets.folders import image_folder
from tests.db.building import start_run
from tests.fixtures.features import needs
from tests.jobs.opening import OpenWorkspace, opened

pytestmark = needs("phrases")  # most select by its support
COUNT = 100


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs with made-up scores: s_0 decreases with the number, support increases."""
    base = tmp_path_factory.mktemp("selection")
    workspace = opened(base / "state")
    rows = [
        {"id": f"p{i}", "file_name": "a.png",
         "caption": f"a dog left of word{i:03d}" if i else "a rare zebra",
         "split": "train" if i < 90 else "test"}
        for i in range(COUNT)
    ]  # fmt: skip
    image_folder(base / "pairs", rows, ("a.png",))
    workspace.find_or_import(str(base / "pairs"))
    score(workspace)
    workspace.store.close()
    return base


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, scored: Path) -> Workspace:
    return open_workspace(copy_of=scored)


def score(workspace: Workspace, s_0: list[float] | None = None) -> None:
    runs = {kind: start_run(workspace.store.opened, 1, kind=kind) for kind in ("score", "support")}
    scores = s_0 or [1 - i / COUNT for i in range(COUNT)]
    with workspace.store.writing() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
        single, nothing = np.ones(1, np.float32), np.zeros(0, np.float32)
        rows = [
            TrajectoryRow(i, np.array([s], np.float32), single, (), nothing)
            for i, s in zip(ids, scores, strict=True)
        ]
        trajectory_queries.save_trajectories(session, runs["score"], rows)
        for n, i in enumerate(ids):
            phrases = [PhraseRow(0, 1, 0, 1, n % 3, n / 100, 0.0, n / 100)] * (1 + n % 2)
            session.add(PhraseScore(pair_id=i, run_id=runs["support"], phrases=pack(phrases)))
        values = {i: {"support": n / 10, "weakest": n / 20} for n, i in enumerate(ids)}
        set_columns(session, values)
        for run_id in runs.values():
            run_queries.finish_run(session, run_id)


def ids_of(workspace: Workspace) -> list[int]:
    with workspace.store.reading() as session:
        return [pair.id for pair in pair_queries.iterate_pairs(session, 1)]


def selected(workspace: Workspace, choice: TwoStage) -> set[int]:
    """Numbers of the pairs that stay, by the rule of an export."""
    chosen = choose(workspace.store, 1, choice)
    return set(np.flatnonzero(chosen.selection.kept).tolist())


def report_of(workspace: Workspace, choice: TwoStage) -> SelectionReport:
    return report_on(workspace.store, 1, choice)


def saved(workspace: Workspace, choice: TwoStage, name: str) -> Any:
    """The report of a selection whose lines become a view."""
    return workspace.jobs.run("select", 1, no_progress, stages=choice, split="all", name=name)


def exported(workspace: Workspace, choice: TwoStage) -> ExportCounts:
    return workspace.jobs.export_counts(1, ExportChoice.parse({"two_stage": choice}))


def test_counts_are_exact_and_stages_nest(workspace: Workspace) -> None:
    report = report_of(workspace, TwoStage())
    assert (report.taking_part, report.pool, report.kept) == (100, 70, 50)
    # Stage one keeps numbers 0 to 69; support increases with the number.
    assert selected(workspace, TwoStage()) == set(range(20, 70))
    assert selected(workspace, TwoStage(by="alignment")) == set(range(50))
    assert selected(workspace, TwoStage(align=1.0)) == set(range(50, 100))
    assert selected(workspace, TwoStage(align=0.5, keep=0.5)) == set(range(50))
    assert len(selected(workspace, TwoStage(by="random"))) == 50


def shown(workspace: Workspace, fields: dict[str, str]) -> list[int]:
    """The numbers of the pairs in a queue."""
    ids = ids_of(workspace)
    rows = workspace.review.queue_page(from_fields(1, fields), None, COUNT).rows
    return [ids.index(row.pair_id) for row in rows]


@pytest.mark.parametrize(
    ("by", "leaves"),
    [("support", {"lowest match", "hollow"}), ("worst", {"lowest match", "hollow"}),
     ("alignment", {"lowest match"}), ("specificity", {"lowest match", "generic"})],
)  # fmt: skip
def test_queues_contain_the_selected_and_the_other_pairs(
    workspace: Workspace, by: str, leaves: set[str]
) -> None:
    with workspace.store.writing() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
        p_error = p_error_of(session, 1).key
        for n, pair_id in enumerate(ids):
            values = {"specificity": -float(n), "icc": n % 3 / 2, p_error: n % 4 / 3}
            session.execute(update(Pair).where(Pair.id == pair_id).values(**values))
        # One pair has neither a probability of error nor an ICC yet.
        unknown: dict[str, None] = {"icc": None, p_error: None}
        session.execute(update(Pair).where(Pair.id == ids[45]).values(**unknown))
    stays = selected(workspace, TwoStage(by=by))
    report = report_of(workspace, TwoStage(by=by))
    assert sorted(shown(workspace, report.stays)) == sorted(stays)
    assert set(report.goes) == leaves
    gone = [number for fields in report.goes.values() for number in shown(workspace, fields)]
    assert sorted(gone) == sorted(set(range(COUNT)) - stays)


def test_queues_contain_undecided_pairs_and_say_so(workspace: Workspace) -> None:
    ids = ids_of(workspace)
    before = report_of(workspace, TwoStage())
    assert not any("verdict" in note for note in before.notes)
    workspace.review.decide(ids[95], 0, "correct")  # below the lines
    workspace.review.decide(ids[60], 0, "drop")  # above them
    report = saved(workspace, TwoStage(), "for training")
    (view,) = workspace.review.saved_views(1)
    assert set(shown(workspace, view.fields)) == selected(workspace, TwoStage())
    assert not {60, 95} & set(shown(workspace, view.fields))
    assert "2 decided pairs are not in the view: they are kept or left out by their verdicts" in (
        report.notes
    )


def test_verdicts_override_the_selection_and_do_not_count_in_quotas(workspace: Workspace) -> None:
    verdicts = ("correct", "drop", "unsure", "abstract")
    for pair_id, verdict in zip(ids_of(workspace)[90:94], verdicts, strict=True):
        workspace.review.decide(pair_id, 0, verdict)
    report = report_of(workspace, TwoStage())
    assert (report.taking_part, report.pool, report.kept, report.decided) == (96, 67, 48, 4)
    counts = exported(workspace, TwoStage())
    assert counts.total == COUNT
    assert counts.kept == 48 + 2  # the right one and the unsure one
    assert counts.left_out == {
        "match in the lowest 30%": 96 - 67,
        "hollow: support in the lowest 29% of the rest": 67 - 48,
        "decided: removed": 1,
        "decided: vague": 1,
    }


def test_only_the_training_split_is_thinned(workspace: Workspace) -> None:
    split = split_for(workspace.store, 1, None)
    assert (split, split_for(workspace.store, 1, "all")) == ("train", None)
    report = report_of(workspace, TwoStage(split=split))
    assert (report.taking_part, report.pool, report.kept) == (90, 63, 45)
    assert report.lost.splits["test"] == 1.0
    counts = exported(workspace, TwoStage(split="train"))
    assert counts.kept == 45 + 10


@pytest.mark.parametrize(
    ("splits", "kept"),
    [(("train", "test"), 50), (("test", "train"), 50), (("train",), 45), ((), 45 + 10)],
)
def test_an_export_thins_every_split_that_is_named(
    workspace: Workspace, tmp_path: Path, splits: tuple[str, ...], kept: int
) -> None:
    named = [part for split in splits for part in ("--split", split)]
    command = ("export", "pairs", str(tmp_path / "out"), *named, "--align", "0.7", "--dry-run")
    environment = {"TRACED_DATA_DIRECTORY": str(workspace.settings.data_directory)}
    assert as_json(environment, *command)["kept"] == kept


def test_edited_captions_stay_because_their_scores_are_those_of_the_old_text(
    workspace: Workspace,
) -> None:
    ids = ids_of(workspace)
    assert not any("edited" in note for note in report_of(workspace, TwoStage()).notes)
    first = QueueFilter(1, among=(ids[3],))
    others = QueueFilter(1, among=(ids[88], ids[97]))
    today = change_each("{} today".format)
    assert edit_captions(workspace.store, first, today, "Ada").changed == 1
    assert any("1 undecided caption was edited: it is kept, because its scores" in note
               for note in report_of(workspace, TwoStage()).notes)  # fmt: skip
    assert edit_captions(workspace.store, others, today, "Ada").changed == 2
    report = report_of(workspace, TwoStage())
    assert (report.taking_part, report.pool, report.kept) == (97, 67, 48)
    assert (report.edited, report.decided) == (3, 0)
    assert (
        "3 undecided captions were edited: they are kept, because their scores are those of the "
        "original text; the queues still go by these scores"
    ) in report.notes
    assert exported(workspace, TwoStage()).kept == 48 + 3
    assert report_of(workspace, TwoStage(split="train")).edited == 2
    for _ in range(2):
        workspace.review.undo(1, author="Ada")
    assert report_of(workspace, TwoStage()).taking_part == COUNT


def test_worst_and_specificity_keep_the_highest_values_of_their_column(
    workspace: Workspace,
) -> None:
    """In contrast to support, which increases with the number, the weakest phrase decreases, and
    specificity is highest in the middle."""
    with workspace.store.writing() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
        set_columns(
            session,
            {i: {"support": n / 10, "weakest": -n / 20, "specificity": -abs(n - 35.2)}
             for n, i in enumerate(ids)},
        )  # fmt: skip
    assert selected(workspace, TwoStage(by="support")) == set(range(20, 70))
    assert selected(workspace, TwoStage(by="worst")) == set(range(50))
    assert selected(workspace, TwoStage(by="specificity")) == set(range(11, 61))
    half = TwoStage(by="specificity", align=0.5, keep=0.1)
    assert selected(workspace, half) == set(range(31, 41))


def test_losses_are_reported(workspace: Workspace) -> None:
    lost = report_of(workspace, TwoStage()).lost
    assert lost.words == 2 + 0  # "rare", "zebra": their only caption leaves
    assert lost.examples == ("rare", "zebra")
    assert lost.kinds["relation"] == pytest.approx(50 / 99)
    assert lost.short == 0.0
    assert lost.images == 0


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (TwoStage(align=0.5, keep=0.6), r"cannot keep more \(60%\) than the first leaves \(50%\)"),
        (TwoStage(by="magic"), "no selection by 'magic'"),
        (TwoStage(split="dev"), "no split 'dev'; there are: 'train', 'test'"),
        (TwoStage(split="test"), "needs at least 20 undecided pairs; there are 10"),
    ],
)
def test_invalid_choices_are_refused(workspace: Workspace, choice: TwoStage, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        exported(workspace, choice)


@pytest.mark.parametrize("is_measured", [True, False])
def test_a_dataset_without_support_is_refused(workspace: Workspace, is_measured: bool) -> None:
    """No caption has a phrase that could be tested, or the measurement was stopped."""
    with workspace.store.writing() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
        set_columns(session, {i: {"support": None, "weakest": None} for i in ids})
        run = run_queries.latest_run(session, 1, "support")
        assert run is not None
        if not is_measured:
            session.execute(update(Run).where(Run.id == run.id).values(status="running"))
    with pytest.raises(SettingsError, match="phrase" if is_measured else "not been measured"):
        report_of(workspace, TwoStage())


def test_pairs_without_a_match_are_counted_because_no_queue_by_match_has_them(
    workspace: Workspace,
) -> None:
    with workspace.store.writing() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
        nothing = {"s_0": None}
        set_columns(session, dict.fromkeys(ids[60:63], nothing))
    report = report_of(workspace, TwoStage())
    assert any(note.startswith("3 undecided pairs have no match") for note in report.notes)
    random = report_of(workspace, TwoStage(by="random"))
    assert not any("no match" in note for note in random.notes)


def test_pairs_without_support_come_last_and_are_counted(workspace: Workspace) -> None:
    with workspace.store.writing() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, 1)]
        nothing = {"support": None, "weakest": None}
        set_columns(session, dict.fromkeys(ids[60:70], nothing))
    report = report_of(workspace, TwoStage())
    assert "10 pairs of the first stage have no support and go last" in report.notes
    assert selected(workspace, TwoStage()) == set(range(10, 60))


def test_either_stage_can_be_off(workspace: Workspace) -> None:
    """A share of 1 turns the first off, equal shares the second."""
    first_off = report_of(workspace, TwoStage(align=1.0, keep=0.5))
    assert (first_off.pool, first_off.kept, first_off.align_line) == (100, 50, None)
    second_off = report_of(workspace, TwoStage(align=0.6, keep=0.6))
    assert (second_off.pool, second_off.kept, second_off.keep_line) == (60, 60, None)
    assert selected(workspace, TwoStage(align=0.6, keep=0.6)) == set(range(60))


def test_another_first_stage_normalises_support_again(workspace: Workspace) -> None:
    report = saved(workspace, TwoStage(align=0.8), "other")
    assert report.refitted
    # The pool's phrases: one or two of a pair, whose kinds take turns.
    pool = np.repeat(np.arange(80), 1 + np.arange(80) % 2)
    of_kind = [pool[pool % 3 == kind] for kind in range(3)]
    support = [(n - of_kind[n % 3].mean()) / of_kind[n % 3].std() for n in range(80)]
    assert report.keep_line == pytest.approx(sorted(support)[-50], abs=1e-4)
    assert any("normalised again" in note for note in report.notes)
    assert len(selected(workspace, TwoStage(align=0.8))) == 50


@pytest.mark.parametrize(
    ("name", "text", "stays"),
    [
        ("mine.csv", "id,score\n" + "\n".join(f"p{n},{n}" for n in range(COUNT)), range(50, 100)),
        ("mine.csv", "id,p_error\n" + "\n".join(f"p{n},{n}" for n in range(COUNT)), range(50)),
        ("suspects.txt", "\n".join(f"p{n}" for n in range(50)), range(50, 100)),
    ],
)
def test_selection_by_the_user_s_own_scores(
    workspace: Workspace, tmp_path: Path, name: str, text: str, stays: range
) -> None:
    (tmp_path / name).write_text(text + "\n")
    choice = TwoStage(align=1.0, scores=str(tmp_path / name))
    assert selected(workspace, choice) == set(stays)
    report = report_of(workspace, choice)
    assert (report.kept, report.choice.criterion) == (50, f"the scores in {name}")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mine.csv", "id,mood\np1,3\n", "needs a column"),
        ("mine.csv", "id,score\np1,high\n", "Row 2.*not a number"),
        ("mine.csv", "id,score\np1,1\np1,2\n", "Row 3.*stands twice"),
        ("mine.csv", "id,score\nnone,1\n", "1 of 1 ids .* 'none'"),
        ("suspects.txt", "\n", "no id"),
        ("suspects.txt", "p1\np100\n", "1 of 2 ids .* not in the dataset: 'p100'"),
    ],
)
def test_scores_that_cannot_be_used_are_refused(
    workspace: Workspace, tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=message):
        selected(workspace, TwoStage(scores=str(tmp_path / name)))
