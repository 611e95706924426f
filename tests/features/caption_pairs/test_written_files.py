"""What the files of both formats hold, by Croissant's reader and by pyarrow."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.writing.dataset_writer import write_dataset
from backend.features.caption_pairs.comparisons import CaptionPair
from tests.datasets.folders import picture
from tests.datasets.reading.test_conversations import lines
from tests.datasets.writing.test_export_loaders import write
from tests.fixtures.features import needs


@needs("croissant")
@pytest.mark.parametrize(
    ("format", "text"), [("preference", "chosen"), ("hard-negatives", "title")]
)
def test_croissant_gives_pairs_to_learn_from_as_they_were_written(
    tmp_path: Path, format: str, text: str
) -> None:
    from tests.features.croissant.described import described_in

    image = picture(tmp_path / "source" / "a.png")
    texts = {"0025": "NA", "1e3": "1e3", "null": "None", "007": "2020-01-01", "True": "犬 🐕"}
    every = [ExportRow(id, image, right, right, "train", content=(CaptionPair(right, f"not {id}"),))
             for id, right in texts.items()]  # fmt: skip
    out = write(tmp_path / "source", tmp_path / "out", format, every)
    described = described_in(out)
    (table,) = described.metadata.record_sets
    records = list(described.records(table.id))
    for column, values in (("id", texts), (text, texts.values())):
        cells = [row[f"{table.id}/{column}"] for row in records]
        assert [c.decode() if isinstance(c, bytes) else c for c in cells] == list(values)


def test_preferences_ask_the_question_of_the_source(tmp_path: Path) -> None:
    source = [{"query": "<image>What is shown?", "response": "Red."}, {"caption": "Blue."}]
    pairs, reader = lines(tmp_path / "source", source)
    rows = [
        ExportRow(p.id, p.image_path, p.caption, p.caption, extra=p.extra,
                  content=(CaptionPair("A blue square.", p.caption),))
        for p in pairs
    ]  # fmt: skip
    out = tmp_path / "out"
    write_dataset(rows, out, format="preference", card="", source_root=reader.root)
    prompts = pq.read_table(out / "train.parquet").column("prompt").to_pylist()
    assert [prompt[0]["content"][1]["text"] for prompt in prompts] == [
        "What is shown?", "Describe the image.",
    ]  # fmt: skip
