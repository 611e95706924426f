"""Programs under measurement start where the code can be imported, in a checkout and installed."""

from research.bench import selection_speed


def test_selections_from_a_generated_store_keep_exact_counts() -> None:
    speed = selection_speed.bench_selection(100)
    assert speed.pairs == 100
    assert [cost.kept for cost in speed.costs] == [50, 50, 50]
    assert all(cost.processor_seconds > 0 for cost in speed.costs)
    assert all(cost.peak_mebibytes > 0 for cost in speed.costs)
    lines = speed.table().splitlines()
    assert lines[0] == "100 generated pairs"
    assert [line.split()[-1] for line in lines[2:]] == ["50"] * 3
