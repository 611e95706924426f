"""Captions of other rows are found, and where none is, none is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.engine.unit_vectors import unit
from backend.errors import NotScored, SettingsError
from backend.features.rows import search as searching
from backend.features.rows.alignment import align, centre
from backend.features.rows.report import Finding
from backend.features.rows.search import Search, find_moved
from backend.store import Store
from tests.db.building import add_dataset, start_run
from tests.features.rows.pairs import WIDTH, DrawnPairs, store_pairs
from tests.fixtures.sizes import Sizes

ROWS = 300
ALL = list(range(ROWS))


@pytest.fixture
def store(sqlite_store: Any) -> Store:
    return Store(sqlite_store)


def found_in(store: Store, folder: Path, drawn: DrawnPairs, **options: Any) -> Search:
    engine, dataset_id, _ = store_pairs(store, folder, drawn, **options)
    return find_moved(store, engine, dataset_id)


def kinds(search: Search) -> list[str]:
    return [finding.kind for finding in search.findings]


def only(search: Search) -> Finding:
    (finding,) = search.findings
    return finding


def shifted(first: int, last: int, by: int) -> list[int]:
    """All rows; those from `first` to `last` get the caption `by` rows before, in a ring."""
    return [*ALL[:first], *np.roll(ALL[first:last], by).tolist(), *ALL[last:]]


@pytest.mark.parametrize("share", [0, 0.2, 0.5])
def test_right_rows_are_no_finding(store: Store, tmp_path: Path, share: float) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.make_wrong(drawn.rng.choice(ROWS, int(share * ROWS), replace=False).tolist())
    search = found_in(store, tmp_path, drawn)
    assert (search.findings, search.reasons, len(search.moves)) == ([], [], 0)
    assert search.compared == ROWS


@pytest.mark.parametrize(
    ("by", "share"), [(1, 0.0), (1, 0.5), (-1, 0.2), (37, 0.0), (50, 0.0), (-50, 0.2)]
)
def test_a_shifted_file_is_one_finding(store: Store, tmp_path: Path, by: int, share: float) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.make_wrong(drawn.rng.choice(ROWS, int(share * ROWS), replace=False).tolist())
    drawn.move(shifted(0, ROWS, by))
    search = found_in(store, tmp_path, drawn)
    assert set(kinds(search)) <= {"shifted", "unordered"}
    finding = max(search.findings, key=lambda finding: finding.rows)
    assert (finding.offset, finding.file) == (-by, "a.csv")
    assert finding.rows >= ROWS - abs(by) - 2
    assert finding.likeness > finding.own_likeness
    assert finding.chance < 1e-6


def right_moves(search: Search, dataset: DrawnPairs, ids: list[int]) -> int:
    """How many captions would come to their own pictures."""
    row_of = {pair: row for row, pair in enumerate(ids)}
    return sum(
        dataset.captions[row_of[origin]] == f"caption {row_of[target]}"
        for target, origin in search.moves.tolist()
    )


def blocks(count: int, rows: int, seed: int = 0) -> list[int]:
    """So many rows, in blocks of another order."""
    order = np.random.default_rng(seed).permutation(count // rows)
    return [rows * int(block) + row for block in order for row in range(rows)]


@pytest.mark.parametrize(
    ("order", "found"),
    [
        pytest.param([*range(150, 300), *range(150)], 300, id="halves exchanged"),
        pytest.param([*range(100), *range(200, 400)], 100, id="a hundred captions left out"),
        pytest.param(blocks(600, 100), 500, id="blocks of 100"),
        pytest.param(blocks(600, 20), 480, id="blocks of 20"),
        pytest.param(blocks(600, 20, 1), 480, id="other blocks of 20"),
    ],
)
def test_blocks_far_from_their_pictures_are_moved_back(
    store: Store, tmp_path: Path, order: list[int], found: int
) -> None:
    dataset = DrawnPairs(max(order) + 1)
    dataset.pictures = dataset.pictures[: len(order)]
    dataset.move(order)
    engine, dataset_id, ids = store_pairs(store, tmp_path, dataset)
    search = find_moved(store, engine, dataset_id)
    right = right_moves(search, dataset, ids)
    assert right >= 0.97 * len(search.moves)
    assert right >= 0.97 * found
    assert set(kinds(search)) <= {"shifted", "unordered"}


def test_a_shifted_block_is_found_to_the_row(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.move(shifted(80, 140, 1))
    search = found_in(store, tmp_path, drawn)
    finding = only(search)
    assert abs(finding.first - 81) <= 2
    assert abs(finding.last - 140) <= 2
    assert len(search.moves) == 59
    assert (search.moves[:, 1] - search.moves[:, 0] == 1).all()


def test_swaps_are_found_and_each_moved(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(ROWS)
    order = [*ALL]
    order[10], order[200] = 200, 10
    drawn.move(order)
    search = found_in(store, tmp_path, drawn)
    finding = only(search)
    assert (finding.kind, finding.first, finding.last) == ("swapped", 11, 201)
    assert len(search.moves) == 2


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        ("reversed", ALL[::-1]),
        ("alphabetical", sorted(ALL, key=str)),
        ("numerical", np.argsort(sorted(ALL, key=lambda row: str(row + 1))).tolist()),
    ],
)
def test_another_order_of_a_whole_file_is_one_finding(
    store: Store, tmp_path: Path, kind: str, order: list[int]
) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.make_wrong(ALL[::3])
    drawn.move(order)
    engine, dataset_id, ids = store_pairs(store, tmp_path, drawn)
    search = find_moved(store, engine, dataset_id)
    assert (kinds(search), search.open_rows) == ([kind], 0)
    assert dict(search.moves.tolist()) == {
        ids[target]: ids[row] for row, target in enumerate(order) if target != row
    }


def test_the_order_of_a_whole_file_needs_no_other_stretch(
    store: Store, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(STRETCH=100)
    drawn = DrawnPairs(ROWS)
    drawn.move(ALL[::-1])
    search = found_in(store, tmp_path, drawn)
    assert (kinds(search), len(search.moves), search.compared) == (["reversed"], ROWS, 100)


def test_an_order_that_most_rows_stand_in_does_not_explain_a_stretch(
    store: Store, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(STRETCH=100)
    drawn = DrawnPairs(ROWS)
    drawn.move(shifted(0, 100, 1))
    renamed = {298: "299.png", 299: "298.png"}
    search = found_in(store, tmp_path, drawn, renamed=renamed)
    assert set(kinds(search)) == {"shifted"}


def test_names_with_endless_numbers_are_sorted(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.move(ALL[::-1])
    search = found_in(store, tmp_path, drawn, renamed={0: "1" * 5000, 1: "²", 2: "٣"})
    assert kinds(search) == ["reversed"]


def test_a_shuffled_file_is_in_no_order_and_nothing_moves(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.move(drawn.rng.permutation(ROWS).tolist())
    search = found_in(store, tmp_path, drawn)
    assert kinds(search) == ["unordered"]
    assert not len(search.moves)


def test_a_block_in_another_order_is_put_in_order(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(ROWS)
    order = np.array(ALL)
    order[100:160] = drawn.rng.permutation(order[100:160])
    drawn.move(order.tolist())
    engine, dataset_id, ids = store_pairs(store, tmp_path, drawn)
    search = find_moved(store, engine, dataset_id)
    assert kinds(search) == ["permuted"]
    moves = {ids.index(of): ids.index(to) for to, of in search.moves.tolist()}
    right = sum(order[of] == to for of, to in moves.items())
    assert right >= 0.9 * len(moves)
    assert right >= 30


def one_caption() -> DrawnPairs:
    drawn = DrawnPairs(ROWS)
    drawn.captions = ["caption 0"] * ROWS
    return drawn


def one_scene() -> DrawnPairs:
    scene = np.ones((1, WIDTH)) + 0.02 * np.random.default_rng(3).normal(size=(ROWS, WIDTH))
    return DrawnPairs(ROWS, pictures=scene)


def few_rows() -> DrawnPairs:
    drawn = DrawnPairs(49)
    drawn.move([48, *range(48)])
    return drawn


@pytest.mark.parametrize(
    ("draw", "without", "compared"),
    [
        (one_caption, (), None),
        (one_scene, (), None),
        (few_rows, (), 0),
        (lambda: DrawnPairs(60), range(30), 0),  # too few have a picture
    ],
)
def test_what_tells_nothing_is_no_finding(
    store: Store,
    tmp_path: Path,
    draw: Callable[[], DrawnPairs],
    without: Sequence[int],
    compared: int | None,
) -> None:
    search = found_in(store, tmp_path, draw(), without=without)
    assert (search.findings, len(search.reasons)) == ([], 1)
    assert compared in (None, search.compared)


def test_similar_neighbours_are_no_shift(store: Store, tmp_path: Path) -> None:
    """Frames of a film: each picture is nearly the one before."""
    frames = np.repeat(np.random.default_rng(4).normal(size=(ROWS // 10, WIDTH)), 10, axis=0)
    frames += 0.2 * np.random.default_rng(5).normal(size=frames.shape)
    assert found_in(store, tmp_path, DrawnPairs(ROWS, pictures=frames)).findings == []


def test_rows_without_a_vector_or_a_caption_are_passed_over(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.move(shifted(0, ROWS, 1))
    drawn.captions[30] = ""
    search = found_in(store, tmp_path, drawn, without=range(100, 110))
    assert {finding.kind for finding in search.findings} == {"shifted"}
    assert search.compared == ROWS - 11
    # A row without a vector gets its caption back as well.
    assert len(search.moves) >= ROWS - 4


@pytest.mark.parametrize("wrong", [ALL[100:160], ALL])
def test_wrong_captions_in_a_row_are_not_moved(
    store: Store, tmp_path: Path, wrong: list[int]
) -> None:
    """All are wrong in a language that the model has not read: any vector, whatever the picture."""
    drawn = DrawnPairs(ROWS)
    drawn.make_wrong(wrong)
    search = found_in(store, tmp_path, drawn)
    assert set(kinds(search)) <= {"unordered"}
    assert len(wrong) < ROWS or search.findings or search.reasons
    assert not len(search.moves)


def test_captions_in_another_language_are_no_finding(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.captions = [f"Ein Hund auf der Bank und eine Katze {row}" for row in ALL]
    vectors = drawn.rng.normal(size=(ROWS, WIDTH))
    drawn.vector_of = dict(zip(drawn.captions, unit(vectors), strict=True))
    search = found_in(store, tmp_path, drawn)
    assert (search.findings, search.set_aside, len(search.moves)) == ([], [], 0)
    assert len(search.reasons) == 1


@pytest.mark.parametrize("share", [0, 0.2, 0.5])
def test_fifty_rows_give_no_finding_by_chance(store: Store, tmp_path: Path, share: float) -> None:
    for seed in range(20):
        drawn = DrawnPairs(50, seed)
        wrong = drawn.rng.choice(50, int(share * 50), replace=False)
        drawn.make_wrong(wrong.tolist())
        assert found_in(store, tmp_path / str(seed), drawn, name=str(seed)).findings == []


@pytest.mark.parametrize("wrong", [0, ROWS // 5])
def test_several_captions_a_picture_are_no_finding(
    store: Store, tmp_path: Path, wrong: int
) -> None:
    pictures = np.repeat(np.random.default_rng(6).normal(size=(ROWS // 5, WIDTH)), 5, axis=0)
    drawn = DrawnPairs(ROWS, pictures=pictures)
    drawn.make_wrong(drawn.rng.choice(ROWS, wrong, replace=False).tolist())
    search = found_in(store, tmp_path, drawn)
    assert (search.findings, len(search.moves)) == ([], 0)


def test_captions_dealt_to_neighbours_are_mostly_dealt_back(store: Store, tmp_path: Path) -> None:
    """Of each six rows, five have the caption of the row before, the first that of the sixth."""
    drawn = DrawnPairs(ROWS)
    order = np.array(ALL)
    for first in range(60, 240, 6):
        order[first : first + 6] = np.roll(order[first : first + 6], 1)
    drawn.move(order.tolist())
    engine, dataset_id, ids = store_pairs(store, tmp_path, drawn)
    search = find_moved(store, engine, dataset_id)
    assert kinds(search) == ["shifted"]
    rows = [(ids.index(to), ids.index(of)) for to, of in search.moves.tolist()]
    assert sum(order[of] == to for to, of in rows) >= 145
    # No picture that had its own caption gets another one, but at the ends.
    assert all(58 <= to < 242 for to, _ in rows)


@pytest.mark.parametrize("by", [1, 5])
def test_five_captions_a_picture_may_be_off(store: Store, tmp_path: Path, by: int) -> None:
    pictures = np.repeat(np.random.default_rng(6).normal(size=(ROWS // 5, WIDTH)), 5, axis=0)
    drawn = DrawnPairs(ROWS, pictures=pictures)
    drawn.move(shifted(0, ROWS, by))
    assert "shifted" in kinds(found_in(store, tmp_path, drawn))


def test_stretches_are_joined(store: Store, tmp_path: Path, sizes: Sizes) -> None:
    sizes(STRETCH=100)
    drawn = DrawnPairs(ROWS)
    drawn.move(shifted(0, ROWS, 1))
    finding = only(found_in(store, tmp_path, drawn))
    assert finding.rows >= ROWS - 4
    assert searching.STRETCH == 100


def test_short_files_are_compared_together(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(ROWS)
    drawn.move(shifted(0, ROWS, 1))
    finding = only(found_in(store, tmp_path, drawn, file=""))
    assert finding.kind == "shifted"


def test_what_has_no_vectors_says_so(store: Store, tmp_path: Path) -> None:
    drawn = DrawnPairs(60)
    engine, _, _ = store_pairs(store, tmp_path, drawn)
    dataset_id, _ = add_dataset(store.opened, 60, "other")
    with pytest.raises(NotScored):
        find_moved(store, engine, dataset_id)
    start_run(store.opened, dataset_id)
    with pytest.raises(SettingsError):
        find_moved(store, engine, dataset_id)
    engine.scorer.info.compares_pairs = True
    with pytest.raises(SettingsError):
        find_moved(store, engine, dataset_id)


@pytest.mark.parametrize("row", [50, 220])
def test_far_offsets_count_rows_without_a_vector(store: Store, tmp_path: Path, row: int) -> None:
    dataset = DrawnPairs(ROWS)
    dataset.move([*ALL[150:], *ALL[:150]])
    engine, dataset_id, ids = store_pairs(store, tmp_path, dataset, without=[row])
    search = find_moved(store, engine, dataset_id)
    assert len(search.moves) >= ROWS - 4
    assert right_moves(search, dataset, ids) == len(search.moves)
    assert {abs(finding.offset or 0) for finding in search.findings} == {150}


@pytest.mark.parametrize("by", [1, 7])
@pytest.mark.parametrize("every", [5, 2])
def test_lines_of_a_table_are_no_rows_where_captions_have_several(
    store: Store, tmp_path: Path, every: int, by: int
) -> None:
    dataset = DrawnPairs(ROWS)
    dataset.move(shifted(0, ROWS, by))
    lines = np.cumsum([2 if row % every == 0 else 1 for row in range(ROWS)])
    engine, dataset_id, ids = store_pairs(store, tmp_path, dataset, numbers=lines.tolist())
    search = find_moved(store, engine, dataset_id)
    assert only(search).offset == -by
    assert len(search.moves) == right_moves(search, dataset, ids) == ROWS - by


@pytest.mark.parametrize("reports", [1, 2, 6])
def test_a_search_is_cancelled_within_a_stretch(store: Store, tmp_path: Path, reports: int) -> None:
    """While captions are encoded, and while far offsets are looked for, 32 rows at a time."""
    drawn = DrawnPairs(ROWS)
    drawn.move([*ALL[150:], *ALL[:150]])
    engine, dataset_id, _ = store_pairs(store, tmp_path, drawn)
    made: list[int] = []

    def cancel(done: int, *_: Any) -> None:
        made.append(done)
        if len(made) > reports:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        find_moved(store, engine, dataset_id, cancel)
    assert set(made) == {0}


def test_a_few_rows_far_away_do_not_say_how_many_captions_are_wrong() -> None:
    drawn = DrawnPairs(ROWS)
    drawn.make_wrong(ALL[30:270:2])
    drawn.move([*ALL[270:], *ALL[30:270], *ALL[:30]])
    runs, likenesses = align(centre(drawn.encode(drawn.captions)), centre(drawn.pictures))
    assert {run.offset for run in runs} == {270, -270}
    assert likenesses.wrong == pytest.approx(0.6, abs=0.1)
