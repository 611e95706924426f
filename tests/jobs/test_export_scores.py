"""`score --out`: one row per pair, read with few statements."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from backend.jobs import export_scores
from backend.store import Store, open_database
from db.queries import detection_queries
from db.queries.detection_queries import DetectionRow
from tests.db.building import add_dataset, watching


def filled(folder: Path, size: int) -> tuple[Store, int]:
    """A dataset in which every third pair has no detection."""
    store = open_database(f"sqlite:///{folder}/traced.db")
    dataset_id, ids = add_dataset(store.opened, size)
    with store.writing() as session:
        detection_queries.save_detections(
            session,
            [
                DetectionRow(pair_id, 0.25, ((0, 5, 1.0), (6, 6 + number % 3, 0.2)))
                for number, pair_id in enumerate(ids)
                if number % 3
            ],
        )
    return store, dataset_id


def test_the_number_of_statements_does_not_grow_with_the_batch(tmp_path: Path) -> None:
    counted = []
    for size in (30, 900):  # one batch each
        (tmp_path / str(size)).mkdir()
        store, dataset_id = filled(tmp_path / str(size), size)
        with watching(store.opened) as statements:
            export_scores.write(store, dataset_id, tmp_path / f"{size}.jsonl")
        counted.append(sum(text.startswith("SELECT") for text, _ in statements))
        store.close()
    assert counted[0] == counted[1] <= 7


@pytest.mark.parametrize("size", [0, 7, 2300])
def test_every_pair_has_its_own_suspects(tmp_path: Path, size: int) -> None:
    store, dataset_id = filled(tmp_path, size)
    assert export_scores.write(store, dataset_id, tmp_path / "scores.jsonl") == size
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    store.close()
    assert [row["id"] for row in rows] == [f"photo-{number}" for number in range(size)]
    for number, row in enumerate(rows):
        known = bool(number % 3)
        assert row["p_error"] == (0.25 if known else None)
        spans = [[0, 5, 1.0], [6, 6 + number % 3, 0.2]] if known else []
        assert row["suspects"] == spans


def test_spans_are_integers_in_parquet(tmp_path: Path) -> None:
    store, dataset_id = filled(tmp_path, 7)
    export_scores.write(store, dataset_id, tmp_path / "scores.parquet")
    rows = list(export_scores.score_rows(store, dataset_id))
    store.close()
    table = pq.read_table(tmp_path / "scores.parquet")
    types = {
        field.name: str(field.type) for field in table.schema.field("suspects").type.value_type
    }
    assert types == {"start": "int32", "end": "int32", "score": "float"}
    for row, expected in zip(table.to_pylist(), rows, strict=True):
        assert row["caption"] == expected["caption"]
        for span, values in zip(row["suspects"], expected["suspects"], strict=True):
            assert [span["start"], span["end"], span["score"]] == pytest.approx(values)
