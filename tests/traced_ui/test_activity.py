"""What a job says of itself where it was started and in the drawer."""

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
    assert jobs.news_of([job], NOW).share == "!"
