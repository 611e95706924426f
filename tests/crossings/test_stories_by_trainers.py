"""Stories of coloured pairs whose exports are read by programs that train: open_clip's CSV and
WebDataset readers, and Megatron-Energon. No caption may come beside another colour.

STORY_MINUTES bounds the time, 10 without it.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import backend.engine.torchvision_compat  # noqa: F401  (before anything imports torchvision)
from tests.crossings.conftest import Run
from tests.crossings.test_energon import PACKAGES, SCRIPT
from tests.datasets.export_loaders import corner
from tests.jobs.coloured_pairs import NAMES, Teller, tell_for

MINUTES = float(os.environ.get("STORY_MINUTES", "10"))
#: Of so many stories, one is read by Energon, which starts a process.
_ENERGON_EVERY = 10
Pairs = list[tuple[str, tuple[int, ...]]]


def by_csv(out: Path) -> Pairs:
    from open_clip_train.data import CsvDataset

    columns = {"img_key": "image_path", "caption_key": "caption"}
    with chdir(out):  # paths are relative to the table
        dataset: Any = CsvDataset("data.csv", corner, sep=",", tokenizer=list, **columns)
        return [("".join(text), pixel) for pixel, text in (dataset[n] for n in range(len(dataset)))]


def by_shards(out: Path) -> Pairs:
    from open_clip_train.data import get_wds_dataset
    from torchvision import transforms

    pairs: Pairs = []
    for shard in sorted(out.glob("*.tar")):
        arguments = SimpleNamespace(
            val_data=str(shard), val_num_samples=1000, batch_size=2, workers=0,
            dataset_resampled=False, train_data_upsampling_factors=None, seed=0, world_size=1,
        )  # fmt: skip
        info = get_wds_dataset(
            arguments, transforms.ToTensor(), False, tokenizer=lambda text: [text]
        )
        for images, texts in info.dataloader:
            levels = (images[:, :, 1, 1] * 255).round().int().tolist()
            pairs += zip(texts, map(tuple, levels), strict=True)
    return pairs


class TrainingTeller(Teller):
    """Also reads exports as trainers do."""

    def __init__(self, folder: Path, run_with: Run) -> None:
        super().__init__(folder)
        self.read: Counter[str] = Counter()
        self._run_with = run_with

    def _load(self, format: str, out: Path, captions: Counter[str]) -> None:
        super()._load(format, out, captions)
        for name, pairs in self._trained_on(format, out):
            for caption, pixel in pairs:
                colour = NAMES[pixel[0], pixel[1], pixel[2]]
                assert colour == caption.partition(":")[0], f"{name}: {caption!r} beside {colour}"
            assert Counter(caption for caption, _ in pairs) == captions, name
            self.read[name] += 1

    def _trained_on(self, format: str, out: Path) -> Iterator[tuple[str, Pairs]]:
        if format == "csv":
            yield "open_clip's CSV", by_csv(out)
        if format == "webdataset":
            yield "open_clip's WebDataset", by_shards(out)
            if self.read["open_clip's WebDataset"] % _ENERGON_EVERY == 1:
                yield "Energon", self._by_energon(out)

    def _by_energon(self, out: Path) -> Pairs:
        about = yaml.safe_load((out / ".nv-meta/split.yaml").read_text("utf-8"))
        pairs = self._run_with(PACKAGES, SCRIPT, out, *about["split_parts"])
        return [(text, tuple(values[1:])) for text, values in pairs]


@pytest.mark.timeout(60 * MINUTES + 900)
def test_no_caption_comes_beside_another_colour(tmp_path: Path, run_with: Run) -> None:
    with closing(TrainingTeller(tmp_path, run_with)) as teller:
        tell_for(MINUTES, 1, teller)
        print(f"{teller.count:,} stories; exports read: {dict(teller.read)}")
        assert teller.count > 0
        assert MINUTES < 5 or len(teller.read) == 3
