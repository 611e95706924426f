"""What a first step and lazy elimination save, counted from their queries."""

import pytest

from backend.engine.trajectories.exploring import Exploring
from tests.research.bench.counted import TEXT, main, overhead


@pytest.mark.parametrize("kind", TEXT)
def test_fewer_queries_mean_fewer_operations(kind: str) -> None:
    ways = (Exploring(whole=False), *(Exploring(lazy=m) for m in (1, 3)), Exploring())
    costs = [overhead(kind, way, (8, 20)) for way in ways]
    assert costs == sorted(costs)
    assert 1 < costs[0] < 1 + (costs[-1] - 1) / 2
    longer = overhead(kind, Exploring(whole=False), (21, 40))
    assert longer - 1 < 5 * (costs[0] - 1), "the first step grows with the length's square at most"


def test_the_table_has_a_row_for_each_explorer(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    lines = capsys.readouterr().out.splitlines()
    print("\n".join(lines))
    assert len(lines) == 2 + 6 * len(TEXT)
    assert lines[3].startswith("| blip-itm | elimination, first step |")
