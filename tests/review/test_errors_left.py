"""What is left to do: errors, the pairs to look through for them, and the time that it takes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backend.review.charts import (
    BREAK,
    FASTEST,
    FEWEST_PAUSES,
    MOST_ERRORS,
    SECONDS_A_PAIR,
    errors_left,
    progress_of,
    seconds_a_pair,
)
from backend.workspace import QueueFilter, Workspace
from tests.traced_ui.conftest import generated_in

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def at(*pauses: float) -> list[datetime]:
    """Times with these pauses between them, the newest first."""
    times = [NOW]
    for pause in pauses:
        times.append(times[-1] - timedelta(seconds=pause))
    return times


@pytest.mark.parametrize(
    ("pauses", "seconds"),
    [
        ((7.0,) * FEWEST_PAUSES, 7.0),
        ((3.0, 5.0, 9.0, 5.0, 5.0, 2 * BREAK), 5.0),
        ((7.0,) * (FEWEST_PAUSES - 1), SECONDS_A_PAIR),
        ((7.0,) * (FEWEST_PAUSES - 1) + (2 * BREAK,), SECONDS_A_PAIR),
        ((0.01,) * FEWEST_PAUSES, FASTEST),
    ],
)
def test_the_pace_is_that_of_the_newest_verdicts_without_breaks(
    pauses: tuple[float, ...], seconds: float
) -> None:
    assert seconds_a_pair(at(*pauses)) == seconds


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with generated_in(tmp_path, 300) as opened:
        yield opened


def test_the_pairs_are_the_fewest_from_the_head_of_the_queue(workspace: Workspace) -> None:
    rows = workspace.review.queue_page(QueueFilter(1, "unreviewed"), limit=300).rows
    chances = [row.p_error or 0.0 for row in rows]
    with workspace.store.reading() as session:
        left = errors_left(session, 1, len(rows))
    assert left.errors == left.expected == pytest.approx(sum(chances))
    wanted = MOST_ERRORS * sum(chances)
    assert sum(chances[: left.pairs]) >= wanted - 1e-6
    # The queue is added up by hundredths of the chance.
    last = int(chances[left.pairs - 1] * 100)
    assert sum(p for p in chances[: left.pairs] if int(p * 100) > last) < wanted
    assert left.seconds == left.pairs * SECONDS_A_PAIR


def test_a_few_verdicts_renew_what_is_left(workspace: Workspace) -> None:
    """What Review says is left is what Progress says, a few verdicts later at the latest."""
    workspace.review.errors_left(workspace.review.counts(1))
    for row in workspace.review.queue_page(QueueFilter(1, "unreviewed"), limit=3).rows:
        workspace.review.decide(row.pair_id, row.verdict_version, "drop")
        estimate = workspace.review.errors_left(workspace.review.counts(1))
    assert estimate == progress_of(workspace.store, 1).left


def test_review_says_what_progress_has_said(workspace: Workspace) -> None:
    """Also when the estimate is not due to be renewed."""
    before = workspace.review.errors_left(workspace.review.counts(1))
    (row,) = workspace.review.queue_page(QueueFilter(1, "unreviewed"), limit=1).rows
    workspace.review.decide(row.pair_id, row.verdict_version, "drop")
    shown = workspace.review.progress(1).left
    assert shown != before
    assert workspace.review.errors_left(workspace.review.counts(1)) == shown
