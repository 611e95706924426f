"""The bench of many images, on a few: every stage is measured, and the export is complete."""

from research.bench.many_images import bench_images


def test_every_stage_is_measured() -> None:
    report = bench_images(24)
    assert [stage.name for stage in report.stages] == ["import", "score", "export"]
    for stage in report.stages:
        assert 0 < stage.early <= stage.peak
        assert stage.seconds > 0
    assert "first tenth" in report.table()
