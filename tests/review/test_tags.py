"""Tags: own words on pairs, as filters, in exports, renamed and merged."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.jobs.export_choice import ExportChoice
from backend.review.pair_selection import rename_tag, tag_pairs
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import dogs


@pytest.fixture
def workspace(url: str, tmp_path: Path) -> Workspace:
    state = {"data_directory": str(tmp_path / "state"), "database": url}
    opened = Workspace(load_settings(state, {}))
    opened.jobs.import_dataset(dogs(tmp_path / "pairs", 5))
    return opened


def tagged(workspace: Workspace, name: str) -> list[str]:
    filter = workspace.review.filter_of(1, {"tag": name, "review": "all", "order": "position"})
    return sorted(row.external_id for row in workspace.review.queue_page(filter).rows)


def test_tags_select_pairs_and_can_be_renamed_merged_and_removed(workspace: Workspace) -> None:
    review = workspace.review
    ids = sorted(review.select_pairs(1, "review=all").pair_ids)  # pyrefly: ignore[missing-attribute]
    assert len(tag_pairs(workspace.store, ids[:3], " look  twice ", "Ada")) == 3
    assert len(tag_pairs(workspace.store, ids[2:4], "look twice", "Ben")) == 1
    assert len(tag_pairs(workspace.store, ids[4:], "odd", "Ada")) == 1
    assert review.tags(1) == {"look twice": 4, "odd": 1}
    assert tagged(workspace, "look twice") == ["p0", "p1", "p2", "p3"]
    assert len(tag_pairs(workspace.store, ids[:2], "look twice", "Ben", remove=True)) == 2
    assert rename_tag(workspace.store, 1, "odd", "look twice", "Ada") == (ids[4:], ids[4:])
    assert review.tags(1) == {"look twice": 3}
    assert tagged(workspace, "look twice") == ["p2", "p3", "p4"]
    with pytest.raises(SettingsError, match="Did you mean 'look twice'"):
        tagged(workspace, "look twise")
    with pytest.raises(SettingsError, match="no tag 'odd'"):
        rename_tag(workspace.store, 1, "odd", "even", "Ada")
    for name in ("", "a\x1b", "x" * 65, "a;b"):
        with pytest.raises(SettingsError, match="1 to 64 characters"):
            tag_pairs(workspace.store, ids, name, "Ada")
    workspace.delete_dataset(1)
    workspace.store.close()


def test_a_list_of_suspects_becomes_a_queue_and_a_column(tmp_path: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}
    (tmp_path / "suspects.txt").write_text("p2\np0\n")
    suspects = str(tmp_path / "suspects.txt")
    assert invoked(environment, "import", str(dogs(tmp_path / "pairs", 3)))[0] == 0
    done = as_json(environment, "tag", "pairs", "cleanlab", "--ids", suspects)
    assert done == {"changed": 2, "tags": {"cleanlab": 2}}
    assert as_json(environment, "tag", "pairs", "odd", "--queue", "tag=cleanlab")["changed"] == 2
    assert as_json(environment, "tag", "pairs")["tags"] == {"cleanlab": 2, "odd": 2}
    assert invoked(environment, "tag", "pairs", "cleanlab")[0] == 2
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "jsonl")
    table = (tmp_path / "out" / "data.jsonl").read_text()
    tags = [json.loads(line)["own_tags"] or "" for line in table.splitlines()]
    assert tags == ["cleanlab; odd", "", "cleanlab; odd"]
    workspace.store.close()


def test_eight_curators_at_once_lose_and_double_no_tag(workspace: Workspace) -> None:
    """Everybody tags every pair, and two rename meanwhile."""
    selection = workspace.review.select_pairs(1, "review=all")
    assert selection is not None
    ids = sorted(selection.pair_ids)
    tag_pairs(workspace.store, ids, "old", "Ada")
    ready = threading.Barrier(8)

    def work(number: int) -> int:
        ready.wait()
        if number < 2:
            return len(rename_tag(workspace.store, 1, "new" if number else "old", "new", "Ada")[0])
        wanted = ids if number % 2 else ids[::-1]
        return len(tag_pairs(workspace.store, wanted, "both", f"curator {number}"))

    tag_pairs(workspace.store, ids[:1], "new", "Ada")
    with ThreadPoolExecutor(8) as pool:
        changed = list(pool.map(work, range(8)))
    assert workspace.review.tags(1) == {"both": 5, "new": 5}
    assert changed[0] == 5
    assert sum(changed[2:]) == 5, "each pair was tagged once"
    workspace.store.close()
