"""The export page says what it will write, and follows its job to the end, whatever its outcome."""

import html
import re
import shutil
from pathlib import Path

import gradio as gr
import pytest

from backend.counts import count_of
from backend.errors import ExportError, SettingsError, UnsafePath, explain
from backend.jobs.export_reports import ExportCounts
from backend.workspace import ExportChoice, Workspace
from db.queries import job_queries
from traced_ui.export import FILTER, ExportPage, Fields, counts_html, earlier_html


@pytest.mark.parametrize(
    ("status", "message"), [("failed", "The disk is full."), ("cancelled", "Cancelled at 3 of 9.")]
)
def test_a_job_without_a_result_is_no_longer_followed(
    workspace: Workspace, status: str, message: str
) -> None:
    with workspace.store.writing() as session:
        job = job_queries.create_job(session, "export", 1)
        job_queries.update_job(session, job.id, status=status, message=message)
    shown, timer, card = ExportPage(workspace).watch(job.id)
    assert message in shown
    assert isinstance(timer, gr.Timer)
    assert not timer.active
    assert card == ""


def test_the_number_of_pairs_is_said_before_anything_is_written(workspace: Workspace) -> None:
    page = ExportPage(workspace)
    choice = ExportChoice()
    all_pairs = workspace.jobs.export_counts(1, choice).total
    entered = {
        **dict.fromkeys(Fields._fields), "abstract": choice.abstract, "dropped": choice.dropped,
        "unsure": choice.unsure, "wrong": choice.wrong,
        "wrong_claims": choice.wrong_claims, "captions": choice.captions,
        "unconfirmed": False, "keep_pictures_together": False,
    }  # fmt: skip

    def counts(**changes: str) -> tuple[str, ...]:
        fields = {**entered, **changes}
        return page.counts(1, gr.Request(username=None), *fields.values())

    assert f"<b>{count_of(all_pairs)}</b>" in counts(pairs="all")[0]
    assert f"<b>{count_of(0)}</b>" in counts(pairs="decided")[0]
    assert f"<b>{count_of(0)}</b>" in counts(pairs="queue", review="?dataset=1&review=decided")[0]
    problem, *others = counts(filter="reviews=all")
    assert 'role="alert"' in problem
    assert others == [""] * 3
    rows = workspace.jobs.export_preview(1, choice)
    assert [row.id for row, _ in rows] == [1, 2, 3]
    for row, _ in rows:
        assert row.caption in html.unescape(counts(pairs="all")[2])


def test_earlier_exports_are_listed_with_their_downloads(
    workspace: Workspace, tmp_path: Path
) -> None:
    page, request = ExportPage(workspace), gr.Request(username=None)
    jobs = [workspace.jobs.start("export", 1, choice=ExportChoice(), out=str(tmp_path / name),
                                 format="csv")
            for name in ("first", "second")]  # fmt: skip
    assert workspace.jobs.background.wait(200)
    gone = workspace.jobs.job(jobs[0]).result["out"]
    shutil.rmtree(gone)
    listed = earlier_html(workspace.jobs.exports_of(1))
    assert listed.count("<tr>") == 3
    assert re.findall(r"exports/(\d+)\.zip", listed) == [str(jobs[1])]
    assert page.counts(None, request) == ("", "", "", "")


@pytest.mark.parametrize("has_login", [False, True])
def test_a_relative_folder_stays_among_the_exports_and_a_home_is_none(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_login: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)  # where the server was started does not matter
    if has_login:
        workspace.confine()

    def started(out: str) -> str:
        job = workspace.jobs.start("export", 1, choice=ExportChoice(), out=out, format="csv")
        assert workspace.jobs.background.wait(200)
        return str(workspace.jobs.job(job).result["out"])

    assert started("for anna") == str(workspace.jobs.exports / "for anna")
    assert not (tmp_path / "for anna").exists()
    for out in ("../cleaned", "a/../..", "file:///tmp/cleaned"):
        with pytest.raises((UnsafePath, SettingsError)):
            started(out)
    if has_login:
        with pytest.raises(UnsafePath):
            started("~/cleaned")
    else:
        assert started("~/cleaned") == str(tmp_path / "home" / "cleaned")


def test_a_filter_that_is_typed_is_the_choice_of_pairs_until_it_is_removed(
    workspace: Workspace,
) -> None:
    page = ExportPage(workspace)
    workspace.review.save_view(1, "the tests", {"split": "test"})
    assert [value for _, value in page.choices(1, "").choices] == [
        "all", "decided", "queue", "view:the tests",
    ]  # fmt: skip
    assert page.choose_filter(1, "split=test", "all").value == FILTER
    assert page.choose_filter(1, " ", FILTER)["value"] == "all"
    assert page.choose_filter(1, " ", "decided") == gr.skip()


def test_of_the_pairs_that_are_kept_only_what_there_is_has_a_row() -> None:
    counts = ExportCounts(9000, 7000, 2, 0, {"decided: removed": 2000}, {}, likely_wrong=3)
    rows = re.findall(r"<td[^>]*>([\d,]+)</td>", counts_html(counts))
    assert rows == ["7,000", "3", "2", "2,000", "9,000"]
    assert "3" not in re.findall(r"<td[^>]*>([\d,]+)</td>", counts_html(counts, False))


def test_that_nothing_could_be_written_is_said_once(workspace: Workspace, tmp_path: Path) -> None:
    """The parent of the folder is a file: the system refuses it."""
    (tmp_path / "file").touch()
    with pytest.raises(ExportError) as refusal:
        workspace.jobs.export(1, ExportChoice(), tmp_path / "file" / "out", "csv")
    assert explain(refusal.value).count("written") == 1
