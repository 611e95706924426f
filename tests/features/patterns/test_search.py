"""`patterns`: from verdicts to queues, by every door."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from backend.errors import SettingsError
from backend.features.patterns.page import last_report, report_html
from backend.features.patterns.search import FEWEST_AT_RANDOM, PatternsReport
from backend.workspace import Workspace
from db.decisions import AT_RANDOM
from tests.datasets.folders import image_folder
from tests.jobs.opening import opened

THINGS = ("dog", "cat", "horse", "bus", "boat", "tree", "lamp")
PAIRS, JUDGED = 160, 100


def caption(number: int) -> str:
    action = "smiling" if number % 4 == 0 else "standing"
    return f"A {THINGS[number % 7]} is {action} outside"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    rows = [
        {"file_name": "a.png", "id": f"p{n}", "caption": caption(n), "model": f"m{n % 2}"}
        for n in range(PAIRS)
    ]  # fmt: skip
    made = opened(tmp_path / "state")
    made.jobs.import_dataset(image_folder(tmp_path / "pairs", rows, ("a.png",)))
    return made


def judge(workspace: Workspace, is_wrong: Callable[[int], bool], sampling: str = "queue") -> None:
    ids = {row.external_id: row.pair_id
           for row in workspace.review.queue_page(
               workspace.review.filter_of(1, {"review": "all"}), limit=PAIRS).rows}  # fmt: skip
    for number in range(JUDGED):
        decision = "wrong" if is_wrong(number) else "correct"
        workspace.review.decide(ids[f"p{number}"], 0, decision, sampling=sampling)


def smiles(number: int) -> bool:
    return (number % 4 == 0 and number % 20 != 0) or number == 33


def test_a_blind_spot_is_a_queue_with_an_estimate(workspace: Workspace) -> None:
    judge(workspace, smiles, AT_RANDOM)
    report: PatternsReport = workspace.jobs.run("patterns", 1)
    (spot,) = report.spots
    assert (spot.pattern.name, spot.pattern.captions, spot.pattern.wrong) == ("smiling", 25, 20)
    assert spot.pattern.random == 25 >= FEWEST_AT_RANDOM
    queue = workspace.review.filter_of(1, {"tag": spot.tag, "review": "all"})
    tagged = {row.external_id for row in workspace.review.queue_page(queue, limit=PAIRS).rows}
    assert tagged == {f"p{n}" for n in range(PAIRS) if n % 4 == 0}
    assert spot.undecided == (PAIRS - JUDGED) // 4
    assert spot.mends is not None
    assert spot.breaks is not None
    assert spot.mends[0] + spot.breaks[1] == spot.undecided
    assert "“smiling”" in report.in_words()


def test_tags_of_an_earlier_run_go(workspace: Workspace) -> None:
    judge(workspace, smiles)
    first = workspace.jobs.run("patterns", 1)
    assert first.spots[0].mends is None  # none was drawn at random
    assert set(workspace.review.tags(1)) == {first.spots[0].tag}
    nothing = workspace.jobs.run("patterns", 1, rate=1e-20)
    assert nothing.spots == ()
    assert workspace.review.tags(1) == {}
    workspace.jobs.run("patterns", 1, tag=False)
    assert workspace.review.tags(1) == {}


def test_writers_are_told_apart_by_a_column(workspace: Workspace) -> None:
    judge(workspace, smiles)
    report = workspace.jobs.run("patterns", 1, by="model", least=2)
    assert report.writers == 2
    assert {spot.pattern.writer for spot in report.spots} <= {"m0", "m1"}
    with pytest.raises(SettingsError, match="no-such"):
        workspace.jobs.run("patterns", 1, by="no-such")


def spots_html(workspace: Workspace) -> str:
    return report_html(last_report(workspace, 1), workspace.review.tags(1), 1)


def page_after_search(workspace: Workspace) -> str:
    workspace.jobs.start("patterns", 1)
    assert workspace.jobs.background.wait(60)
    return spots_html(workspace)


def test_the_page_shows_each_below_its_writer_as_a_queue(workspace: Workspace) -> None:
    judge(workspace, smiles, AT_RANDOM)
    page = page_after_search(workspace)
    assert re.findall("<h3[^>]*>([^<]*)<", page) == ["m0"]
    ((address, pairs),) = re.findall('<a href="([^"]*)">([^<]*)<', page)
    assert parse_qs(unescape(address).lstrip("?"))["tag"] == ["pattern: smiling by m0"]
    assert pairs == f"{PAIRS // 4} pairs"


def test_the_page_before_a_search_and_without_a_pattern(workspace: Workspace) -> None:
    before = spots_html(workspace)
    assert not re.findall("<li|“|%", before), "no example that could be taken for a finding"
    judge(workspace, lambda number: number % 9 == 0)
    assert "<li" not in page_after_search(workspace)
