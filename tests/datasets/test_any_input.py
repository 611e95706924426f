"""Whatever a table contains: each row becomes a pair, stored unchanged, or a problem with its
place; no row affects another."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.datasets.read_options import ReadOptions
from backend.datasets.reading import read_dataset
from backend.errors import DatasetError
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import pairs as pair_queries
from tests.datasets.folders import picture

#: Every plane of Unicode, including control characters and NUL; surrogates cannot be encoded.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
HOSTILE = st.sampled_from(
    [
        "<script>alert(1)</script>", "{{7*7}}${7*7}", "=cmd|' /C calc'!A0", "@SUM(1)", "a\x00b",
        "\u202egnp.tac", "'; DROP TABLE pairs; --", "\U0010fffd", "🐕‍🦺", "‏كلب", "犬", "\r\n", "",
        "x" * 5000,
    ]
)  # fmt: skip
PATHS = st.sampled_from(
    [
        "a.png", "A.PNG", "../a.png", "/etc/passwd", "..\\a.png", "a.png\x00.jpg", "a\nb.png",
        "link.png", ".", "", "a.png/", "sub/../a.png", "C:\\a.png", "file:///a.png", "%2e%2e/a.png",
        "x" * 300,
    ]
)  # fmt: skip
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXT, HOSTILE,
    st.lists(TEXT, max_size=2), st.dictionaries(TEXT, st.integers(), max_size=2),
)  # fmt: skip
ROWS = st.lists(
    st.fixed_dictionaries(
        {"file_name": st.one_of(PATHS, TEXT), "caption": st.one_of(TEXT, HOSTILE)},
        optional={"id": VALUES, "split": VALUES, "more": VALUES},
    ),
    max_size=8,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One good picture, and a link out of the folder."""
    made = tmp_path_factory.mktemp("any")
    picture(made / "a.png")
    picture(made.parent / "outside.png")
    (made / "link.png").symlink_to(made.parent / "outside.png")
    return made


def check(path: Path, rows: int, root: Path) -> None:
    """Each row is accounted for once, and no picture lies outside the root."""
    try:
        reader = read_dataset(path, ReadOptions(image_root=root))
        pairs = list(reader)
    except DatasetError:
        return
    assert len(pairs) + len(reader.problems) == rows
    assert len({pair.id for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert pair.caption.strip()
        inside = Path(str(pair.image_path)).resolve()
        assert inside.is_relative_to(root)
        assert inside.name in ("a.png", "A.PNG")
    assert all(problem.message and problem.file for problem in reader.problems)


@given(rows=ROWS)
def test_any_json_lines_become_pairs_or_problems(folder: Path, rows: list[dict[str, Any]]) -> None:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    check(path, len(rows), folder)


@given(rows=ROWS)
def test_pairs_are_stored_byte_for_byte_as_they_were_read(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = folder / "stored.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    try:
        reader = read_dataset(path, ReadOptions(image_root=folder))
        wanted = [(pair.id, pair.caption) for pair in reader]
    except DatasetError:
        return
    state = tmp_path_factory.mktemp("state")
    workspace = Workspace(load_settings({"data_directory": str(state)}, {}))
    if not wanted:
        with pytest.raises(DatasetError, match=r"could be imported|holds no rows|no column"):
            workspace.jobs.import_dataset(path, options=ReadOptions(image_root=folder))
        assert workspace.datasets() == [], "nothing of it is left"
        workspace.store.close()
        return
    report = workspace.jobs.import_dataset(path, options=ReadOptions(image_root=folder))
    with workspace.store.reading() as session:
        stored = [
            (pair.external_id, pair.caption)
            for pair in pair_queries.iterate_pairs(session, report.dataset_id)
        ]
    assert stored == wanted
    assert report.problems == len(rows) - len(wanted)
    workspace.store.close()
