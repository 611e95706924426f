"""What a job says of itself where it was started and in the drawer."""

from dataclasses import replace
from datetime import UTC, datetime

from backend.jobs.job_view import JobView
from backend.progress import Step
from traced_ui import jobs

NOW = datetime(2026, 11, 20, tzinfo=UTC)
SCORING = JobView(
    1, "score", "a", 1, "done", False, 0, 9, Step(), "", "", None, {}, NOW, NOW,
)  # fmt: skip
FAILED = replace(SCORING, status="failed", message="Out of memory.")


def test_scoring_that_could_not_read_its_pictures_is_no_success() -> None:
    result = {"pairs": 6, "scored": 0, "unreadable": 6}
    job = replace(SCORING, step=Step(is_usable=True), result=result)
    assert "6 of 6 pairs" in jobs.state_of(job)
    html = jobs.job_html(job)
    assert "warning" in html
    assert "good" not in html
    assert "data-ranked" not in html, "Review has nothing to show"
    assert jobs.summarise_jobs([job], NOW).share == "!"


def test_the_drawer_says_that_a_job_failed_and_folds_what_to_do() -> None:
    message = "The model cannot be loaded: no connection. Start it again to resume."
    job = replace(FAILED, kind="download", dataset_id=None, message=message)
    summary, _, folded = jobs.drawer_html([job], NOW).partition("<details")
    assert "Failed" in summary
    assert "no connection." in summary
    assert "Start it again" in folded
    assert 'data-job-action="retry"' in folded


def test_a_failed_job_that_another_has_taken_over_is_no_news() -> None:
    """That one is: it runs, or is done."""
    assert jobs.summarise_jobs([FAILED], NOW).failed
    continued = replace(FAILED, continued_by=2)
    for status in ("running", "done"):
        retried = replace(FAILED, id=2, status=status, message="")
        news = jobs.summarise_jobs([retried, continued], NOW)
        assert not news.failed
        assert news.share != "!"


def test_a_failed_job_that_its_own_button_has_started_again_is_no_news() -> None:
    again = replace(FAILED, id=2, status="running", message="")
    assert not jobs.summarise_jobs([again, FAILED], NOW).failed
    for other in (replace(again, dataset_id=2), replace(again, kind="train"), replace(again, id=0)):
        assert jobs.summarise_jobs([other, FAILED], NOW).failed


def test_a_preview_is_called_one() -> None:
    for is_dry_run in (True, False):
        job = replace(SCORING, kind="restore", result={"is_dry_run": is_dry_run})
        assert jobs.name_of(job).startswith("Preview") == is_dry_run


def test_a_finished_export_leads_to_its_downloads() -> None:
    def drawer(kind: str, status: str) -> str:
        return jobs.drawer_html([replace(SCORING, kind=kind, status=status, dataset_id=7)], NOW)

    assert 'href="./export?dataset=7"' in drawer("export", "done")
    for others in (("export", "running"), ("export", "failed"), ("score", "done")):
        assert "./export" not in drawer(*others)
