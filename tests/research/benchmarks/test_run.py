"""`evaluate --benchmark` and `evaluate verdicts`, as people run them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from app import app
from backend.errors import ModelMismatch, NotScored, SettingsError
from backend.settings import MODELS, load_settings
from backend.workspace import QueueFilter, Workspace
from db.decisions import AT_RANDOM
from research.benchmarks import run
from research.benchmarks.benchmark import Content, Pictures
from research.benchmarks.benchmark_figures import Judgement
from research.benchmarks.benchmark_registry import benchmark_named
from research.benchmarks.judges import (
    by_captioner,
    by_file,
    by_scorer,
    by_server,
    load_named,
    picture_of,
)
from research.benchmarks.run import Judges, compare_on_verdicts, draw_content, write_items
from research.chat_server import chat_server
from tests.checkpoints import drawn_folder
from tests.datasets.folders import json_lines, write
from tests.engine.language_models.families import qwen2_5_vl
from tests.research.benchmarks.layouts import ENTRIES, LAYOUTS


def content_of(name: str, base: Path) -> tuple[Path, Content]:
    path = LAYOUTS[name](base)
    return path, benchmark_named(name).content(path, Pictures(base / "images"))


def test_all_judges_stand_in_one_report(tmp_path: Path) -> None:
    path, content = content_of("foil", tmp_path)
    scores = write(
        tmp_path / "mine.jsonl",
        json_lines({"id": item.id, "score": float(n)} for n, item in enumerate(content.items)),
    )
    arguments = [
        "evaluate", "--benchmark", "foil", str(path), "--image-root", str(tmp_path / "images"),
        "--scores", str(scores), "--baseline", "clip", "--json", "--device", "cpu", "--markdown",
        str(tmp_path / "a.md"), "--page", str(tmp_path / "a.html"), "--items",
        str(tmp_path / "items.jsonl"),
    ]  # fmt: skip
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert [judge["name"] for judge in report["judges"]] == [
        "TRACED Curator", "s_0 of clip", "captioner's likelihood", "mine.jsonl",
    ]  # fmt: skip
    assert (report["captions"], report["wrong"]) == (2 * ENTRIES, ENTRIES)
    program = report["judges"][0]["figures"]
    assert list(program)[:3] == ["AUC", "pairwise accuracy", "top suspect word"]
    assert program["AUC"]["low"] <= program["AUC"]["value"] <= program["AUC"]["high"]
    assert len(report["differences"]) == 6
    for text in ((tmp_path / "a.md").read_text(), (tmp_path / "a.html").read_text()):
        for word in ("Qwen2.5-VL-7B", "2603.15253", "mine.jsonl", "too few"):
            assert word in text
        assert str(MODELS) not in text
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [item.id for item in content.items]
    assert all("wrong" not in row for row in rows)


def test_a_file_of_half_of_the_ids_is_refused_with_counts(tmp_path: Path) -> None:
    _, content = content_of("hat", tmp_path)
    half = content.items[: ENTRIES // 2]
    rows: list[dict[str, Any]] = [{"id": item.id, "p_error": 0.5} for item in half]
    path = write(tmp_path / "judge.jsonl", json_lines(rows))
    with pytest.raises(SettingsError, match=f"{ENTRIES // 2} of {ENTRIES} captions have no score"):
        by_file(path, content.items)
    rows += [{"id": item.id, "p_error": 0.1} for item in content.items[ENTRIES // 2 :]]
    rows.append({"id": "stranger", "p_error": 0.2})
    (judgement,), notes = by_file(write(path, json_lines(rows)), content.items)
    assert (judgement.scores == [-0.5] * 6 + [-0.1] * 6).all()
    assert notes == [f"judge.jsonl: 1 of {ENTRIES + 1} ids are of no caption here."]


def test_the_scores_of_capevalkit_are_a_judge_for_each_metric(tmp_path: Path) -> None:
    _, content = content_of("hat", tmp_path)
    flat = {item.id: {"CLIPScore": float(n), "PAC-S": 0.5} for n, item in enumerate(content.items)}
    nested = {key: {"caption": "a dog", "scores": scores} for key, scores in flat.items()}
    for per_item in (flat, nested):
        path = write(tmp_path / "clip.json", json.dumps({"CLIPScore": 0.7, "per_item": per_item}))
        judgements, notes = by_file(path, content.items)
        assert [each.name for each in judgements] == ["clip.json, CLIPScore", "clip.json, PAC-S"]
        assert (judgements[0].scores == np.arange(ENTRIES)).all()
        assert notes == []
    for broken in (
        "[]", "{", '{"per_item": {}}', '{"per_item": {"a": {"CLIPScore": null}}}',
        '{"per_item": {"a": {"x": 1}, "b": {"y": 1}}}', '{"per_item": {"a": []}}',
    ):  # fmt: skip
        with pytest.raises(SettingsError):
            by_file(write(tmp_path / "clip.json", broken), content.items)


def test_a_vision_language_model_is_asked_about_the_same_captions(tmp_path: Path) -> None:
    _, content = content_of("hat", tmp_path)
    title, scorer = load_named(f"vqa:{qwen2_5_vl(tmp_path / 'qwen')}", "cpu", None)
    judgement = by_scorer(title, scorer, content.items[:3])
    assert judgement.scores.shape == (3,)
    assert ((judgement.scores > 0) & (judgement.scores < 1)).all()


def test_a_model_behind_a_server_is_asked_once_about_each_caption(tmp_path: Path) -> None:
    _, content = content_of("hat", tmp_path)
    wrong = {item.caption for item in content.items if item.is_wrong}

    def respond(body: dict[str, Any]) -> tuple[int, dict[str, float]]:
        caption = body["messages"][-1]["content"][1]["text"].splitlines()[-1]
        p = 0.2 if caption in wrong else 0.9
        return 200, {"Yes": p, "No": 1 - p}

    answers = tmp_path / "answers.jsonl"
    with chat_server(respond) as served:
        judgement = by_server(served.url, None, content.items, answers)
        again = by_server(served.url, None, content.items, answers)
    assert len(served.requests) == len(content.items)
    expected = [0.2 if item.caption in wrong else 0.9 for item in content.items]
    assert judgement.scores.tolist() == pytest.approx(expected)
    assert again.scores.tolist() == judgement.scores.tolist()
    from_file, _ = by_file(answers, content.items)
    assert from_file[0].scores.tolist() == judgement.scores.tolist()
    with chat_server(lambda body: (200, {"Perhaps": 1.0})) as served, pytest.raises(ModelMismatch):
        by_server(served.url, None, content.items)


def test_single_scores_and_the_captioner_judge_the_same_captions(tmp_path: Path) -> None:
    _, content = content_of("aro", tmp_path)
    for name in ("clip", "lemon-fix"):
        title, scorer = load_named(name, "cpu", None)
        judgement = by_scorer(title, scorer, content.items)
        assert np.isfinite(judgement.scores).all()
        assert len(np.unique(judgement.scores)) > ENTRIES
    _, clip_scorer = load_named("clip", "cpu", None)
    (state,) = clip_scorer.encode_images([_picture(content)])
    (expected,) = clip_scorer.score([(state, [content.items[0].caption])])
    clip = by_scorer("clip", clip_scorer, content.items)
    assert clip.scores[0] == pytest.approx(float(expected[0]), abs=1e-5)
    captioner = by_captioner(str(MODELS / "scenes-blip-captioner"), content.items, "cpu")
    assert captioner.suspects is not None
    assert (captioner.scores < 0).all()
    with pytest.raises(SettingsError, match="siglip"):
        load_named("siglip", "cpu", None)


def _picture(content: Content) -> Image.Image:
    image = picture_of(content.items[0])
    assert image.size == (60, 50)  # the part that ARO's box names
    return image


def test_a_drawn_part_keeps_pictures_whole(tmp_path: Path) -> None:
    _, content = content_of("winoground", tmp_path)
    part = draw_content(content, 2, 0)
    assert (len(part.items), len(part.comparisons)) == (8, 6)
    assert part.notes == [
        "Drawn at random with seed 0: 2 of 6 pictures or examples, 8 of 24 captions."
    ]
    for comparison in part.comparisons:
        for row in {row for order in comparison.orders for row in order}:
            assert part.items[row].group == comparison.group
    assert draw_content(content, 100, 0) is content


def test_items_name_the_part_of_a_picture(tmp_path: Path) -> None:
    _, content = content_of("aro", tmp_path)
    write_items(content.items, tmp_path / "items.jsonl")
    first = json.loads((tmp_path / "items.jsonl").read_text().splitlines()[0])
    assert first["box"] == [1, 2, 61, 52]


def test_models_are_compared_on_a_curators_own_verdicts(tmp_path: Path) -> None:
    folder = drawn_folder(tmp_path / "pairs", 24, 9)
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    dataset = workspace.jobs.import_dataset(folder, name="mine").dataset_id
    judges = Judges(baselines=("clip", "blip-itm"), device="cpu")
    with pytest.raises(NotScored, match="0 verdicts"):
        compare_on_verdicts(workspace, dataset, judges)
    ids = [
        row.pair_id for row in workspace.review.queue_page(QueueFilter(dataset, "unreviewed")).rows
    ]
    for index, pair in enumerate(ids[:20]):
        sampling = AT_RANDOM if index < 5 else "queue"
        workspace.review.decide(pair, 0, "wrong" if index % 2 else "correct", sampling=sampling)
    report = compare_on_verdicts(workspace, dataset, judges)
    assert (report.captions, report.wrong) == (20, 10)
    assert [judge.name for judge in report.judges] == ["s_0 of clip", "s_0 of blip-itm"]
    (difference,) = report.differences
    assert difference.more is None or difference.more >= 0
    assert any(note.startswith("5 of 20 verdicts") for note in report.notes)
    with pytest.raises(SettingsError, match="Name the models"):
        compare_on_verdicts(workspace, dataset, Judges())
    workspace.store.close()


def test_a_benchmark_needs_its_pictures_and_a_name(tmp_path: Path) -> None:
    path, _ = content_of("hat", tmp_path)
    for arguments, words in (
        (["--benchmark", "hat", str(path)], "--image-root"),
        (["--benchmark", "no", str(path), "--image-root", str(tmp_path)], "no benchmark 'no'"),
    ):
        refused = CliRunner().invoke(app, ["evaluate", *arguments])
        assert refused.exit_code != 0
        assert words in refused.output


def test_two_models_of_one_kind_have_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(name: str, scorer: object, items: object, progress: object) -> Judgement:
        return Judgement("s_0 of clip", np.zeros(1), f"clip, {scorer}, revision 1")

    def named(name: str, *_: object) -> tuple[str, object]:
        return "s_0 of clip", name

    monkeypatch.setattr(run, "load_named", named)
    monkeypatch.setattr(run, "by_scorer", judged)
    judges = Judges(baselines=("a", "b"))
    names = [judgement.name for judgement in judges.of_models([], None, lambda *_: None)]
    assert names == ["s_0 of clip (a)", "s_0 of clip (b)"]
