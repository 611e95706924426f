"""What a job says of itself where it was started and in the drawer."""

from dataclasses import replace
from datetime import UTC, datetime

from backend.jobs.reports import JobView
from backend.progress import Step
from traced_ui import jobs

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def test_scoring_that_could_not_read_its_pictures_is_no_success() -> None:
    result = {"pairs": 6, "scored": 0, "unreadable": 6}
    job = JobView(
        1, "score", "a", 1, "done", False, 6, 6, Step(is_usable=True), "", "", None, result, NOW,
        NOW,
    )  # fmt: skip
    assert "6 of 6 pairs" in jobs.state_of(job)
    html = jobs.job_html(job)
    assert "warning" in html
    assert "good" not in html
    assert "data-ranked" not in html, "Review has nothing to show"
    assert jobs.summarise_jobs([job], NOW).share == "!"


def test_the_drawer_says_that_a_job_failed_and_folds_what_to_do() -> None:
    message = "The model cannot be loaded: no connection. Start it again to resume."
    job = JobView(
        1, "download", "fast", None, "failed", False, 0, 0, Step(), message, "", None, {}, NOW, NOW
    )
    summary, _, folded = jobs.drawer_html([job], NOW).partition("<details")
    assert "Failed" in summary
    assert "no connection." in summary
    assert "Start it again" in folded
    assert 'data-job-action="retry"' in folded


def test_a_failed_job_that_another_has_taken_over_is_no_news() -> None:
    """That one is: it runs, or is done."""
    failed = JobView(
        1, "score", "a", 1, "failed", False, 0, 9, Step(), "Out of memory.", "", None, {}, NOW, NOW
    )
    assert jobs.summarise_jobs([failed], NOW).failed
    continued = replace(failed, continued_by=2)
    for status in ("running", "done"):
        retried = replace(failed, id=2, status=status, message="")
        news = jobs.summarise_jobs([retried, continued], NOW)
        assert not news.failed
        assert news.share != "!"


def test_a_failed_job_that_its_own_button_has_started_again_is_no_news() -> None:
    failed = JobView(
        1, "score", "a", 1, "failed", False, 0, 9, Step(), "Out of memory.", "", None, {}, NOW, NOW
    )
    again = replace(failed, id=2, status="running", message="")
    assert not jobs.summarise_jobs([again, failed], NOW).failed
    for other in (replace(again, dataset_id=2), replace(again, kind="train"), replace(again, id=0)):
        assert jobs.summarise_jobs([other, failed], NOW).failed


def test_a_preview_is_called_one() -> None:
    def name(result: dict[str, bool]) -> str:
        return jobs.name_of(
            JobView(
                1, "restore", "a", 1, "done", False, 1, 1, Step(), "", "", None, result, NOW, NOW
            )
        )

    assert name({"is_dry_run": True}).startswith("Preview")
    assert not name({"is_dry_run": False}).startswith("Preview")


def test_a_finished_export_leads_to_its_downloads() -> None:
    def drawer(kind: str, status: str, dataset_id: int | None) -> str:
        job = JobView(
            1, kind, "pets", dataset_id, status, False, 1, 1, Step(), "", "", None, {}, NOW, NOW
        )
        return jobs.drawer_html([job], NOW)

    assert 'href="./export?dataset=7"' in drawer("export", "done", 7)
    for others in (("export", "running", 7), ("export", "failed", 7), ("score", "done", 7)):
        assert "./export" not in drawer(*others)
