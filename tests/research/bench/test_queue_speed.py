"""The generated store has the stated contents, and every query of the bench has a result."""

from backend.settings import load_settings
from backend.workspace import QueueFilter, Workspace
from research.bench.queue_speed import bench_store


def test_every_query_is_run_and_reported() -> None:
    report = bench_store(300, None)
    assert report.pairs == 300
    assert report.bytes_a_pair is not None
    assert report.bytes_a_pair > 100
    assert len({answer.question for answer in report.answers}) == len(report.answers) == 8
    for item in report.answers:
        assert 0 < item.p50 <= item.p95 <= item.worst
    assert "text search" in report.table()


def test_a_generated_store_resembles_a_scored_one(tmp_path: object) -> None:
    from research.bench.generated_store import generate

    workspace = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    dataset = generate(workspace.store, 120)
    summary = workspace.summary(dataset)
    assert (summary.total, summary.scored, summary.reviewed) == (120, 120, 0)
    rows = workspace.review.queue_page(QueueFilter(dataset), None, 200).rows
    assert len({row.caption for row in rows}) > 100
    whole = workspace.review.open_pair(rows[0].pair_id)
    assert whole.trajectory is not None
    assert whole.suspects
    assert whole.image_size is not None, "the pictures are those of the demo"
    assert workspace.review.queue_count(QueueFilter(dataset, text="a ")) == 120
    workspace.store.close()
