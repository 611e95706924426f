"""A noisy dataset can be read like any other, and records what was done to each caption."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app import app
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.safe_files.containers import file_of
from backend.errors import ExportError, SettingsError
from research.chat_server import chat_server
from research.noisy_dataset import add_noise, noise_record
from tests.datasets.folders import image_folder
from tests.engine.noise.test_noise import ORDINARY
from tests.research.noise.test_language_model import nli_model


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = [
        {"id": f"own-{i}", "file_name": f"{i}.png", "caption": caption, "split": "train",
         "licence": "CC0"}
        for i, caption in enumerate(ORDINARY)
    ]  # fmt: skip
    rows.append({"id": "gone", "file_name": "gone.png", "caption": "Not there."})
    return image_folder(tmp_path / "photos", rows, tuple(f"{i}.png" for i in range(len(ORDINARY))))


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet", "imagefolder"])
def test_every_caption_records_what_was_done_to_it(
    source: Path, tmp_path: Path, format: str
) -> None:
    report = add_noise(source, tmp_path / "noisy", rate=0.3, seed=5, format=format)
    assert (report.pairs, report.wrong, report.rows_left_out) == (40, 12, 1)
    root = None if format == "imagefolder" else source
    dataset = read_dataset(tmp_path / "noisy", ReadOptions(image_root=root))
    pairs = {pair.id: pair for pair in dataset}
    assert not dataset.problems
    assert len(pairs) == 40
    wrong = 0
    for i, original in enumerate(ORDINARY):
        pair = pairs[f"own-{i}"]
        record = noise_record(pair)
        assert record is not None
        assert file_of(pair.image_path).is_file()
        assert pair.split == "train"
        wrong += record["wrong"]
        assert (pair.caption != original) == record["wrong"]
        if record["wrong"]:
            assert all(0 <= a < b <= len(pair.caption) for a, b in record["changed"])
            assert record["kind"] in ("random", "noun", "fine_grained")
    assert wrong == 12


def test_provenance_is_recorded_and_the_seed_determines_the_noise(
    source: Path, tmp_path: Path
) -> None:
    item = add_noise(source, tmp_path / "one", kinds=["fine_grained"], seed=1)
    same = add_noise(source, tmp_path / "same", kinds=["fine_grained"], seed=1)
    other = add_noise(source, tmp_path / "other", kinds=["fine_grained"], seed=2)
    texts = [(report.out / "data.jsonl").read_text() for report in (item, same, other)]
    assert texts[0] == texts[1] != texts[2]
    kept = json.loads((item.out / "noise.json").read_text())
    assert kept == item.provenance
    assert (kept["seed"], kept["fine_grained_by"], kept["wrong"]) == (1, "rules", 20)
    assert "not training data" in (item.out / "README.md").read_text()


def test_invalid_settings_are_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="rate"):
        add_noise(source, tmp_path / "a", rate=0)
    with pytest.raises(SettingsError, match="no noise"):
        add_noise(source, tmp_path / "a", kinds=["typo"])
    add_noise(source, tmp_path / "a")
    with pytest.raises(ExportError, match="earlier"):
        add_noise(source, tmp_path / "a")


def test_the_command_uses_a_language_model(source: Path, tmp_path: Path) -> None:
    def variants(body: dict) -> tuple[int, str]:
        caption = body["messages"][1]["content"][len("<caption>") : -len("</caption>")]
        words = caption.split()
        message = [" ".join([*words[:i], "zebra", *words[i + 1 :]]) for i in (1, 2)]
        return 200, "\n".join(f"{i + 1}. {text}" for i, text in enumerate(message))

    nli = nli_model(tmp_path / "nli", ("entailment", "neutral", "contradiction"))
    with chat_server(variants) as served:
        given = ["noise", str(source), str(tmp_path / "out"), "--kind", "fine-grained", "--json",
                 "--llm", served.url, "--llm-model", "tiny", "--nli", str(nli),
                 "--answers", str(tmp_path / "answers"), "--rate", "0.25"]  # fmt: skip
        result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["wrong"] == 10
    assert "tiny" in report["provenance"]["fine_grained_by"]
    pairs = read_dataset(tmp_path / "out", ReadOptions(image_root=source))
    wrong = [pair for pair in pairs if (noise_record(pair) or {})["wrong"]]
    assert len(wrong) == 10
    assert all("zebra" in pair.caption for pair in wrong)


def test_a_language_model_needs_a_name(source: Path, tmp_path: Path) -> None:
    given = ["noise", str(source), str(tmp_path / "out"), "--llm", "http://127.0.0.1:9/v1"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 2


def test_a_dry_run_counts_the_requests_of_the_run_and_writes_nothing(
    source: Path, tmp_path: Path
) -> None:
    arguments = [
        "noise", str(source), str(tmp_path / "out"), "--json", "--dry-run", "--rate", "0.25",
        "--answers", str(tmp_path / "answers"),
    ]  # fmt: skip
    server = ["--llm", "http://127.0.0.1:9/v1", "--llm-model", "tiny"]
    prices = {"TRACED_PRICES": "tiny=1/2"}
    result = CliRunner().invoke(app, [*arguments, *server, "--kind", "fine-grained"], env=prices)
    assert result.exit_code == 0, result.output
    expected = json.loads(result.stdout)["forecast"]
    assert expected["requests"] == [10, 20], "once each, or once more for an unusable answer"
    tokens_in, tokens_out = expected["tokens_in"][0], expected["tokens_out"][0]
    assert tokens_out > 10 * 20 * 3, "twenty captions an answer"
    assert expected["cost"][0] == pytest.approx((tokens_in + 2 * tokens_out) / 1e6)
    # Another kind in turn is made without the model; a model without a price has no cost.
    mixed = CliRunner().invoke(app, [*arguments, *server, "--kind", "random", "--kind",
                                     "fine-grained"])  # fmt: skip
    assert json.loads(mixed.stdout)["forecast"]["requests"] == [5, 10]
    assert json.loads(mixed.stdout)["forecast"]["cost"] is None
    assert CliRunner().invoke(app, arguments).exit_code == 2, "no server is named"
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "answers").exists()
