"""The evaluation of specificity on drawn scenes, small."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import app as program
from backend.errors import DatasetError, SettingsError
from backend.settings import MODELS
from research.evaluation.specificity import evaluate_dataset, evaluate_scenes, markdown
from research.scenes.caption_reading import claims_of
from research.scenes.labelled_bags import KINDS, scene_bags
from tests.checkpoints import drawn_folder, drawn_pairs, random_vision_to_text


def test_captions_of_all_kinds_are_true_and_increasingly_detailed() -> None:
    made = scene_bags(150, 3)
    message = []
    for kind in KINDS:
        assert all(made.is_true(kind, i, i) for i in range(150))
        read = [claims_of(text) for text in made.captions[kind]]
        assert np.mean([a == b for a, b in zip(read, made.claims[kind], strict=True)]) > 0.99
        message.append(np.mean([len(claim) for claim in made.claims[kind]]))
    assert message[0] < message[1] - 2 < message[2] - 4
    assert scene_bags(150, 3).captions == made.captions != scene_bags(150, 4).captions


def test_recall_rises_with_detail_and_the_tables_are_written() -> None:
    report = evaluate_scenes(90, 1, 10, [MODELS], sizes=[3])
    result = {(row.captions, row.bags, row.size): row for row in report.rows}
    generic, ordinary, rich = (result[kind, "mined", 3].recall.share for kind in KINDS)
    assert generic < ordinary < rich
    assert result["ordinary", "random", 3].recall.share > ordinary
    assert result["generic", "mined", 3].unique is not None
    assert report.column[0].auc_specificity > 0.6
    message = markdown(report)
    assert "| COCO captions | 51.1 | 41.3 | 39.6 | 80.9 |" in message
    assert "| Holistic | 57.5 | 48.1 | 49.1 | 91.3 |" in message
    assert "| OFA | 50.4 | 36.3 | 37.2 |  |" in message
    assert "| mark |" in message


def test_bags_larger_than_the_dataset_are_refused() -> None:
    with pytest.raises(SettingsError, match="A bag of 7 needs 7 different pictures; there are 4"):
        evaluate_scenes(4, 1, 0, [MODELS], sizes=[3, 7])


def test_published_bags_open_only_their_own_pictures(tmp_path: Path) -> None:
    """TrueMatch's folder holds 3.json, 5.json and 7.json, for a part of COCO's pictures."""
    drawn_folder(tmp_path / "pairs", 8, seed=4)
    (tmp_path / "pairs" / "0.png").write_bytes(b"no picture, and in no bag")
    published = tmp_path / "published"
    published.mkdir()
    for size, bags in ((3, [["1", "2", "3"], ["4", "5", "6"]]), (5, [["7", "6", "3", "2", "1"]])):
        (published / f"{size}.json").write_text(json.dumps(bags), encoding="utf-8")
    captions, drawn = tmp_path / "theirs.jsonl", drawn_pairs(8, seed=4)
    lines = [json.dumps({"id": str(i), "caption": text}) for i, (_, text) in enumerate(drawn)]
    captions.write_text("\n".join(lines), encoding="utf-8")
    report = evaluate_dataset(
        tmp_path / "pairs", None, str(MODELS / "scenes-clip"), bags=published, captions=captions
    )
    measured = {(row.captions, row.size): row.recall for row in report.rows}
    assert [measured["the dataset", size].captions for size in (3, 5)] == [6, 5]
    for size in (3, 5):  # the same captions, from a file: the same pictures
        assert measured["theirs.jsonl", size] == measured["the dataset", size]
    with pytest.raises(DatasetError, match="bags-7"):
        evaluate_dataset(
            tmp_path / "pairs", None, str(MODELS / "scenes-clip"), sizes=[7], bags=published
        )


def test_each_captioner_has_its_own_row(tmp_path: Path) -> None:
    drawn_folder(tmp_path / "pairs", 12, seed=4)
    small = str(random_vision_to_text(tmp_path / "vit-gpt2"))
    embedded = str(MODELS / "scenes-blip-captioner")
    out = tmp_path / "tables.md"
    done = CliRunner().invoke(
        program.app,
        ["evaluate", "specificity", "--dataset", str(tmp_path / "pairs"), "--size", "3",
         "--captioner", small, "--captioner", embedded, "--markdown", str(out), "--json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    rows_of: dict[str, list[tuple[int, int]]] = {}
    for row in json.loads(done.stdout)["rows"]:
        measured = (row["size"], row["recall"]["captions"])
        rows_of.setdefault(row["captions"], []).append(measured)
    assert list(rows_of) == ["the dataset", small, embedded]
    assert all([size for size, _ in of] == [3, 100] for of in rows_of.values())
    assert rows_of[small] == rows_of[embedded], "each captions every picture"
    assert f"| {small} | mined | #3 |" in out.read_text(encoding="utf-8")


def test_detection_takes_one_captioner_or_one_per_seed() -> None:
    arguments = ["evaluate", "--captioner", "one", "--captioner", "two"]
    done = CliRunner().invoke(program.app, arguments)
    assert done.exit_code == 2
    assert "2 captioners for 3 seeds" in " ".join(done.stderr.split())
