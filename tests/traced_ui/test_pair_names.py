"""Ids that an import made of a picture's name and a digest are read without the digest."""

import re
from pathlib import Path

from backend.datasets.reading.pair_checks import derived_id, pair_name
from db.queries.pair_queries import NewPair
from tests.db.building import add_pairs
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.pages import Page

#: Tips and the table show the whole id.
DIGEST = re.compile(r"a/\d\.png:[0-9a-f]{12}")


def test_no_digest_is_read(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    rows = [NewPair(derived_id(f"a/{i}.png", "a cat"), f"a/{i}.png", "a cat") for i in range(4)]
    add_pairs(workspace.store.opened, "cats", rows)
    page = Page(workspace)
    acts = ("skip", "correct", "undo", "redo", "history", "grid")
    said = "".join(page.press(action) + "".join(page.shown.values()) for action in acts)
    read = re.sub(r'<span class="name" title="[^"]*"', "", said)
    assert len(re.findall(r"a/\d\.png", read)) > len(acts)
    assert not DIGEST.findall(read)
    workspace.store.close()


def test_an_id_of_the_dataset_is_read_whole() -> None:
    ids = ("coco:000000391895", ":000000391895", "hf:pets:7", "a.png:000000391895")
    assert [pair_name(each) for each in ids] == list(ids)


def test_where_picture_and_caption_are_known_only_a_digest_of_them_is_left_out() -> None:
    for picture in ("a/1.png", "a/1"):
        assert pair_name(derived_id(picture, "a cat"), picture, "a cat") == picture
        for own in (f"{picture}:000000391895", f"{picture}:cf0d3dce9f18"):
            assert pair_name(own, picture, "a cat") == own


def test_captions_of_one_picture_have_names_of_their_own(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path)
    texts = ("a cat", "a dog", "")
    rows = [NewPair(derived_id("1.png", text), "1.png", text) for text in texts]
    add_pairs(workspace.store.opened, "cats", rows)
    page = Page(workspace, review="all")
    for view in ("grid", "table"):
        page.press(view)
        names = re.findall(
            r'aria-label="((?:Select|Open|Enlarge|Caption of) 1\.png[^"]*)"', page.shown["stage"]
        )
        assert len(names) == len(set(names)) >= 2 * len(texts)
    workspace.store.close()
