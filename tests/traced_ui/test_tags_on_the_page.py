"""Tags on the review page and by the API: given, taken away, renamed, merged and undone."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from backend.workspace import QueueFilter, Workspace
from tests.fixtures.sizes import Sizes
from tests.traced_ui.pages import Page
from traced_ui.api import create_api

HOSTILE = '<img src=x onerror=alert(1)> "&'


def edit(ids: list[int], name: str, **more: Any) -> dict[str, Any]:
    return {"edit": {"of": ",".join(map(str, ids)), "name": name, **more}}


def test_a_pair_is_tagged_and_untagged(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("tag")
    assert f'value="{page.pair}"' in page.shown["edit"]
    assert "added to 1 pair." in page.press("tag-add", **edit([page.pair], HOSTILE))
    everything = "".join(page.shown.values())
    assert HOSTILE not in everything
    assert everything.count("&lt;img src=x") >= 2, "on the pair and in the form"
    assert workspace.review.open_pair(page.pair).tags == (HOSTILE,)
    assert "Undone: the tags of 1 pair." in page.press("undo")
    assert workspace.review.tags(1) == {}
    page.press("tag-add", **edit([page.pair], "odd"))
    page.press("tag-remove", **edit([page.pair], "odd"))
    page.press("undo")
    assert workspace.review.tags(1) == {"odd": 1}
    for wrong in ("", "a;b", "x" * 65):
        assert "1 to 64 characters" in page.press("tag-add", **edit([page.pair], wrong))


def test_several_pairs_are_tagged_in_the_grid(workspace: Workspace) -> None:
    page = Page(workspace)
    ids = [row.pair_id for row in workspace.review.queue_page(QueueFilter(1)).rows]
    page.press("grid")
    assert "Select pairs first" in page.press("tag")
    page.press("tag", pairs=[[ids[0], 0], [ids[1], 0]])
    assert "2 pairs" in page.shown["edit"]
    page.press("tag-add", **edit([*ids[:2], 10**6], "look twice"))
    assert workspace.review.tags(1) == {"look twice": 2}
    assert page.shown["stage"].count("look twice") == 2
    page.press("filter", filter={"tag": "look twice", "review": "all"})
    assert sorted(page.listed) == sorted(ids[:2])
    page.press("tag-rename", **edit(ids[:2], "look twice", new="two times"))
    assert page.state.filter["tag"] == "two times", "the filter follows"
    page.press("tag-remove", **edit(ids[:2], "two times"))
    assert "tag" not in page.state.filter, "nothing has it any more"


def test_tags_and_verdicts_are_undone_and_redone_in_their_order(workspace: Workspace) -> None:
    page = Page(workspace)
    first = page.pair

    def now() -> tuple[tuple[str, ...], str | None]:
        return page.view(first).tags, page.view(first).verdict.decision

    seen = [now()]
    page.press("tag-add", **edit([first], "a"))
    seen.append(now())
    page.press("drop")
    seen.append(now())
    page.press("tag-add", **edit([first], "b"))
    assert now() == (("a", "b"), "drop")
    for state in reversed(seen):
        page.press("undo")
        assert now() == state
    for state in (*seen[1:], (("a", "b"), "drop")):
        page.press("redo")
        assert now() == state
    page.press("undo")
    page.press("tag-add", **edit([first], "c"))
    assert "nothing to redo" in page.press("redo")


@pytest.mark.parametrize("most", [1000, 1])
def test_tags_are_merged_and_the_merge_is_undone(
    workspace: Workspace, sizes: Sizes, most: int
) -> None:
    sizes(MOST_TAGGED=most)
    ids = [row.pair_id for row in workspace.review.queue_page(QueueFilter(1)).rows]
    workspace.review.tag(ids[:2], "a", "Ada")
    workspace.review.tag(ids[1:2], "b", "Ada")
    page = Page(workspace)
    page.press("tag-rename", **edit([ids[0]], "a", new="b"))
    if most == 1:
        assert "cannot take this back" in page.shown["edit"]
        assert workspace.review.tags(1) == {"a": 2, "b": 1}
        page.press("tag-rename", **edit([ids[0]], "a", new="b", meant="a;b"))
        assert workspace.review.tags(1) == {"b": 2}
        return
    assert workspace.review.tags(1) == {"b": 2}
    page.press("undo")
    assert workspace.review.tags(1) == {"a": 2, "b": 1}
    assert workspace.review.open_pair(ids[1]).tags == ("a", "b")
    assert "no tag" in page.press("tag-rename", **edit([ids[0]], "c", new="b"))


def test_programs_tag_pairs(workspace: Workspace) -> None:
    client = TestClient(create_api(workspace), base_url="http://127.0.0.1/")
    ids = [row.pair_id for row in workspace.review.queue_page(QueueFilter(1)).rows]
    url = "datasets/1/tags"
    assert client.post(url, json={"name": HOSTILE, "pairs": ids[:2]}).json() == sorted(ids[:2])
    assert client.post(url, json={"name": HOSTILE, "pairs": ids[:1]}).json() == []
    assert client.post(url, json={"name": "x", "pairs": [10**6]}).status_code == 422
    assert client.get(url).json() == {HOSTILE: 2}
    renamed = client.post(f"{url}/rename", json={"name": HOSTILE, "new": " look  twice "})
    assert renamed.json() == {"look twice": 2}
    assert client.get(f"pairs/{ids[0]}").json()["tags"] == ["look twice"]
    taken = client.post(url, json={"name": "look twice", "pairs": ids, "remove": True})
    assert sorted(taken.json()) == sorted(ids[:2])
    assert client.post(f"{url}/rename", json={"name": "odd", "new": "x"}).status_code == 422
    assert client.post(url, json={"name": "a;b", "pairs": ids}).status_code == 422
