"""Ids that an import made of a picture's name and a digest are read without the digest."""

import re
from pathlib import Path

from backend.datasets.reading.pair_checks import derived_id, pair_name
from db.queries import dataset_queries, pair_queries
from db.queries.pair_queries import NewPair
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.pages import Page

#: Tips and the table show the whole id.
DIGEST = re.compile(r"a/\d\.png:[0-9a-f]{12}")


def test_no_digest_is_read(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    rows = [NewPair(derived_id(f"a/{i}.png", "a cat"), f"a/{i}.png", "a cat") for i in range(4)]
    with workspace.store.writing() as session:
        dataset = dataset_queries.create_dataset(session, "cats", "/data/cats", "/data/cats")
        pair_queries.add_pairs(session, dataset.id, rows)
    page = Page(workspace)
    acts = ("skip", "correct", "undo", "redo", "history", "grid")
    said = "".join(page.press(action) + "".join(page.shown.values()) for action in acts)
    read = re.sub(r'<span class="name" title="[^"]*"', "", said)
    assert len(re.findall(r"a/\d\.png", read)) > len(acts)
    assert not DIGEST.findall(read)
    workspace.store.close()


def test_an_id_of_the_dataset_is_read_whole() -> None:
    ids = ("coco:000000391895", ":000000391895", "hf:pets:7")
    assert [pair_name(each) for each in ids] == list(ids)
