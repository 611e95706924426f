"""The bar of a scoring job is one from 0 to 100, over all its stages, and never goes back."""

from datetime import UTC, datetime

from backend.jobs import noisy_copies, score_dataset
from backend.jobs.reports import JobView
from traced_ui import jobs

NOW = datetime(2026, 11, 20, tzinfo=UTC)
#: What a scoring job reports, in order.
STAGES = (
    score_dataset.Trajectories.name, score_dataset.Completion.name, score_dataset.Concreteness.name,
    score_dataset.Meanings.name, score_dataset.Expectations.name,
    "Training the detector on injected noise", noisy_copies.STAGE, score_dataset.Training.name,
    "Ranking", score_dataset.Whole.name, score_dataset.Corrections.name,
)  # fmt: skip


def scoring(message: str, done: int, total: int = 9) -> JobView:
    return JobView(1, "score", "a", 1, "running", False, done, total, message, {}, NOW, NOW)


def test_the_bar_of_scoring_never_goes_back_over_all_its_stages() -> None:
    """It went 100, 32, 82, 39, 78, 0."""
    shares = [
        jobs.share_of(scoring(f"{stage} · 1.2 s a pair, 3 min left", done))
        for stage in STAGES
        for done in range(10)
    ]
    assert shares == sorted(shares)
    assert 0 < shares[1] < shares[-1] == 1


def test_other_messages_of_scoring_keep_the_bar_at_its_start() -> None:
    assert jobs.share_of(scoring("Loading the model", 0, 0)) == 0


def test_scoring_that_could_not_read_its_pictures_is_no_success() -> None:
    result = {"pairs": 6, "scored": 0, "unreadable": 6}
    job = JobView(1, "score", "a", 1, "done", False, 6, 6, "", result, NOW, NOW)
    assert "6 of 6 pairs" in jobs.state_of(job)
    html = jobs.job_html(job)
    assert "warning" in html
    assert "good" not in html
    assert "data-ranked" not in html, "Review has nothing to show"
    assert "✓" not in jobs.button_html([job], NOW)
