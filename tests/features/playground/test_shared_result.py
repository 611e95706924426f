"""A link to what *Try one picture* found: what is in it, and what another picture says to it."""

import hashlib
import re
import shutil
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from markupsafe import Markup

from backend.features.playground.page import Example, compare_with_link, open_shared
from backend.features.playground.shared_result import (
    LONGEST_CAPTION,
    SharedResult,
    digest_of,
    shared_in,
)
from backend.workspace import Workspace
from tests.datasets.folders import picture

DIGEST = "0123456789abcdef" * 4
SHARED = SharedResult("a dog & <cat>", DIGEST, 0.25, 0.5, "clip · small", 7)


def query_of(shared: SharedResult) -> str:
    return urlsplit(shared.address).query


def test_a_link_holds_what_was_found_and_no_picture() -> None:
    assert shared_in(f"?{query_of(SHARED)}") == SHARED
    assert set(parse_qs(query_of(SHARED))) == {
        "caption", "picture", "match", "wrong", "model", "example",
    }  # fmt: skip


@pytest.mark.parametrize(
    "query",
    ["", None, "?dataset=1", "?caption=a", f"?picture={DIGEST}", "?caption=a&picture=abc",
     f"?caption=a&picture={DIGEST.upper()}",
     f"?caption={'a' * (LONGEST_CAPTION + 1)}&picture={DIGEST}",
     f"?caption=a&picture={DIGEST}{'&more=1' * 60}"],
)  # fmt: skip
def test_what_is_no_link_is_none(query: str | None) -> None:
    assert shared_in(query) is None


@pytest.mark.parametrize("value", ["x", "nan", "inf", "-1", "2", ""])
def test_a_number_that_is_no_chance_is_left_out(value: str) -> None:
    shared = shared_in(f"?caption=a&picture={DIGEST}&wrong={value}")
    assert shared is not None
    assert shared.p_error is None


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    file = picture(tmp_path / "a.png")
    assert digest_of(file) == hashlib.sha256(file.read_bytes()).hexdigest()
    assert digest_of(tmp_path / "gone.png") == ""


def words(html: str) -> str:
    return str(Markup(html).striptags())


def test_another_picture_is_said_to_be_another(tmp_path: Path) -> None:
    own, other = picture(tmp_path / "a.png"), picture(tmp_path / "b.png", (9, 9))
    shared = SHARED._replace(digest=digest_of(own), example=None)
    query = f"?{query_of(shared)}"
    same = compare_with_link(query, str(own), SHARED.caption)
    another = compare_with_link(query, str(other), SHARED.caption)
    reworded = compare_with_link(query, str(own), "another caption")
    assert 'class="traced-note good"' not in reworded
    assert SHARED.caption in words(reworded)
    assert 'class="traced-note good"' in same
    assert digest_of(own) not in words(same)
    assert 'class="traced-note warning"' in another
    assert {digest_of(own), digest_of(other)} <= set(re.findall(r"[0-9a-f]{64}", another))
    assert compare_with_link("", str(own), SHARED.caption) == ""
    assert compare_with_link(query, None, SHARED.caption) == ""


def test_a_link_opens_with_its_caption_and_the_servers_own_picture_alone(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = picture(tmp_path / "a.png")
    example = Example(7, str(file), "another caption")
    shared = SHARED._replace(digest=digest_of(file))
    _, (shown, caption, *_) = open_shared(workspace, shared, [example])
    assert (shown, caption) == (str(file), SHARED.caption)
    for examples in ([], [example._replace(pair_id=8)]):
        message, (shown, caption, *_) = open_shared(workspace, shared, examples)
        assert (shown, caption) == (None, SHARED.caption)
        assert shared.digest in message
    shutil.copy(picture(tmp_path / "b.png", (9, 9)), file)  # it has been replaced since
    _, (shown, *_) = open_shared(workspace, shared, [example])
    assert shown is None
