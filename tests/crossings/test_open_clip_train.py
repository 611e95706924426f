"""open_clip's trainer reads exports: its CSV and its WebDataset reader (open_clip 3.3.0)."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

import backend.engine.torchvision_compat  # noqa: F401  (before anything imports torchvision)
from backend.datasets.export_row import ExportRow
from tests.datasets.writing.test_export_loaders import write

COLOURS = ("red", "green", "blue", "white", "black")
SIZE = 8


def drawn_rows(folder: Path) -> list[ExportRow]:
    folder.mkdir(parents=True)
    rows = []
    for number, colour in enumerate(COLOURS):
        path = folder / f"{colour}.png"
        Image.new("RGB", (SIZE, SIZE), colour).save(path)
        text = f"A {colour}, “plain” square.\n"
        rows.append(ExportRow(f"{number:03d}", path, text, text, "train"))
    return rows


def corner(image: Image.Image) -> tuple[int, ...]:
    pixel = image.convert("RGB").getpixel((1, 1))
    assert isinstance(pixel, tuple)
    return pixel


def expected_pairs(rows: list[ExportRow]) -> dict[str, tuple[int, ...]]:
    return {row.caption: corner(Image.open(str(row.image_path))) for row in rows}


def test_the_csv_reader_pairs_each_caption_with_its_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from open_clip_train.data import CsvDataset

    rows = drawn_rows(tmp_path / "source")
    out = write(tmp_path / "source", tmp_path / "out", "csv", rows)
    monkeypatch.chdir(out)  # paths are relative to the table
    columns = {"img_key": "image_path", "caption_key": "caption"}
    dataset: Any = CsvDataset("data.csv", corner, sep=",", tokenizer=list, **columns)
    pairs = [dataset[n] for n in range(len(dataset))]
    assert {text: pixel for pixel, text in pairs} == expected_pairs(rows)


def test_the_webdataset_reader_pairs_each_caption_with_its_picture(tmp_path: Path) -> None:
    from open_clip_train.data import get_wds_dataset
    from torchvision import transforms

    rows = drawn_rows(tmp_path / "source")
    out = write(tmp_path / "source", tmp_path / "out", "webdataset", rows)
    arguments = SimpleNamespace(
        val_data=str(out / "train-000000.tar"), val_num_samples=len(rows), batch_size=2, workers=0,
        dataset_resampled=False, train_data_upsampling_factors=None, seed=0, world_size=1,
    )  # fmt: skip
    info = get_wds_dataset(arguments, transforms.ToTensor(), False, tokenizer=lambda text: [text])
    pairs = {}
    for images, texts in info.dataloader:
        for image, text in zip(images, texts, strict=True):
            pairs[text] = tuple(int(level) for level in (image[:, 1, 1] * 255).round())
    assert pairs == expected_pairs(rows)
