"""Models and processors in Hugging Face format that do not load or do not match."""

import io
import json
import pickle
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

from backend.cli.doctor import examine
from backend.cli.output import report_errors
from backend.engine import hub
from backend.engine.concreteness.scoring import score_captions
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.embeddings import embedded_model
from backend.engine.scoring.loading import load_scorer
from backend.engine.sentence_model import SentenceModel
from backend.errors import ModelMismatch, ModelUnavailable, OutOfMemory
from backend.features.vision_language.local import load_local
from backend.loaded_models import Engine
from backend.settings import load_settings
from research.noise.consistency import load_consistency_model
from research.scenes.vision_language import make_vision_language_model
from tests.checkpoints import (
    TOKENIZER,
    drawn_pairs,
    random_blip,
    random_captioner,
    random_clip,
    random_clip_with_byte_pairs,
    random_siglip,
    with_another_tokenizer,
)
from tests.engine.concreteness.small_models import text_encoder
from tests.engine.scoring.contracts.checkpoints import open_clip_repository
from tests.fixtures.hub_server import dataset_hub

LOADERS: dict[str, Callable[[str], Any]] = {
    "clip": lambda name: load_scorer(name, None, "cpu"),
    "siglip": lambda name: load_scorer(name, None, "cpu"),
    "blip": lambda name: load_scorer(name, None, "cpu"),
    "captioner": load_captioner,
    "chat": load_local,
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {
        "clip": random_clip(folder),
        "siglip": random_siglip(folder / "siglip"),
        "blip": random_blip(folder),
        "captioner": random_captioner(folder),
        "chat": make_vision_language_model(folder / "chat", width=48, layers=1),
    }


@pytest.fixture(params=list(LOADERS))
def model(request: pytest.FixtureRequest, sound: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a sound directory; its name says which loader takes it."""
    return Path(shutil.copytree(sound[request.param], tmp_path / request.param))


@pytest.fixture(params=["clip", "siglip", "blip", "captioner"])
def with_pictures(request: pytest.FixtureRequest, sound: dict[str, Path], tmp_path: Path) -> Path:
    """The same, of those that read captions and pictures themselves."""
    return Path(shutil.copytree(sound[request.param], tmp_path / request.param))


@pytest.fixture
def clip(sound: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound["clip"], tmp_path / "clip"))


def load(folder: Path) -> Any:
    return LOADERS[folder.name](str(folder))


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


def image_settings(folder: Path, **values: Any) -> None:
    """Change image settings, in whichever file this processor stores them."""
    for name in ("processor_config.json", "preprocessor_config.json"):
        if (path := folder / name).is_file():
            stored = json.loads(path.read_text("utf-8"))
            part = stored.get("image_processor", stored)
            part.update(values)
            path.write_text(json.dumps(stored), "utf-8")


# ------------------------------------------------------------------------ what does not match


def test_a_missing_tokenizer_or_that_of_another_model_is_refused(model: Path) -> None:
    """The other is a BERT of 30,000 pieces with a text tower of a few hundred rows."""
    with_another_tokenizer(model)
    with pytest.raises(ModelUnavailable, match="tokenizer"):
        load(model)
    for name in TOKENIZER:
        (model / name).unlink(missing_ok=True)
    with pytest.raises(ModelUnavailable, match="tokenizer"):
        load(model)


def test_a_tokenizer_that_knows_no_word_is_refused(with_pictures: Path) -> None:
    model = with_pictures
    stored = json.loads((model / "tokenizer.json").read_text("utf-8"))
    pieces = stored["model"]["vocab"]
    stored["model"]["vocab"] = {
        piece if piece.startswith("[") else f"##{number}¤": number
        for piece, number in pieces.items()
    }
    (model / "tokenizer.json").write_text(json.dumps(stored), "utf-8")
    with pytest.raises(ModelMismatch, match=r"tokenizer.*unknown"):
        load(model)


def test_the_end_token_must_be_the_one_that_clip_pools_at(clip: Path) -> None:
    stored = json.loads((clip / "config.json").read_text("utf-8"))
    change(clip / "config.json", text_config={**stored["text_config"], "eos_token_id": 7})
    with pytest.raises(ModelMismatch, match="ends a text with"):
        load(clip)


def test_image_settings_of_another_tower_are_refused(with_pictures: Path) -> None:
    sound = {
        path: path.read_bytes()
        for name in ("processor_config.json", "preprocessor_config.json")
        if (path := with_pictures / name).is_file()
    }
    for values, message in [
        ({"size": {"height": 32, "width": 32}}, "32 x 32"),
        ({"size": {"height": 96, "width": 64}}, "pixels"),
        ({"image_mean": [0.5], "image_std": [0.5]}, "mean"),
        ({"do_rescale": False}, "do_rescale"),
    ]:
        for path, content in sound.items():
            path.write_bytes(content)
        image_settings(with_pictures, **values)
        with pytest.raises(ModelMismatch, match=message):
            load(with_pictures)


def test_clip_as_published_scores_as_in_transformers(tmp_path: Path) -> None:
    """OpenAI's own config.json says 0 and 2 for the tokens around a text, which are not those of
    its tokenizer; transformers then pools at the highest id."""
    from transformers import CLIPModel, CLIPTokenizerFast

    model = random_clip_with_byte_pairs(tmp_path / "clip")
    text = json.loads((model / "config.json").read_text("utf-8"))["text_config"]
    text.update(bos_token_id=0, eos_token_id=2, pad_token_id=1)
    change(model / "config.json", text_config=text)
    scorer = load(model)
    image, captions = drawn_pairs(1)[0][0], ["a red dog", "two boats on a lake", "a"]
    (scores,) = scorer.score([(scorer.encode_images([image])[0], captions)])
    plain = CLIPModel.from_pretrained(model, dtype=torch.float32).eval()
    texts = CLIPTokenizerFast.from_pretrained(model)(captions, padding=True, return_tensors="pt")
    with torch.no_grad():
        wanted = plain(pixel_values=scorer.pixels([image]), **texts).logits_per_text[:, 0]
    torch.testing.assert_close(
        torch.tensor(scores), wanted / plain.logit_scale.exp(), atol=1e-5, rtol=0
    )


# ------------------------------------------------------------------------ what does not load


def truncated(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"<html>404</html>" * 100)


def half_a_zip(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    file = io.BytesIO()
    torch.save({"a": torch.ones(1000)}, file)
    (folder / "pytorch_model.bin").write_bytes(file.getvalue()[:2000])


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path(str(EVIL)),))


EVIL = Path("written-by-a-pickle")


def code(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Evil()}))
    torch.save({"a": Evil()}, folder / "pytorch_model.bin")


@pytest.mark.parametrize("name", [*LOADERS, "sentences"])
def test_damaged_weights_are_named_with_what_to_do(
    name: str, sound: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sources = sound | {"sentences": Path(embedded_model())}
    model = Path(shutil.copytree(sources[name], tmp_path / name))
    for damage in [truncated, emptied, no_weights, half_a_zip, code]:
        monkeypatch.chdir(tmp_path)
        folder = Path(shutil.copytree(model, tmp_path / damage.__name__ / model.name))
        damage(folder)
        with pytest.raises(ModelUnavailable) as caught:
            (LOADERS | {"sentences": SentenceModel})[folder.name](str(folder))
        message = str(caught.value)
        assert "model.safetensors" in message or "pytorch_model.bin" in message
        assert "again" in message or "safetensors format" in message
        assert "weights_only" not in message
        assert not (tmp_path / EVIL).exists()
        assert caught.value.exit_status == 4


def test_the_doctor_reports_damaged_weights(
    clip: Path, sound: dict[str, Path], tmp_path: Path
) -> None:
    captioner = Path(shutil.copytree(sound["captioner"], tmp_path / "captioner"))
    truncated(captioner)
    named = {"data_directory": str(tmp_path), "model": str(clip), "captioner": str(captioner)}
    settings = load_settings(named, {})
    report = examine(settings, load_models=True)
    states = {finding.what: finding.state for finding in report.findings}
    assert (states["scorer"], states["captioner"]) == ("ok", "warning")
    truncated(clip)
    assert not examine(settings, load_models=True).is_well


@pytest.mark.parametrize("kind", ["clip", "captioner", "chat"])
def test_a_missing_path_is_reported_as_missing(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="there is no file or directory"):
        LOADERS[kind](str(tmp_path / "nowhere" / "model"))
    (tmp_path / "model.gguf").write_bytes(b"x")
    with pytest.raises(ModelUnavailable, match="is a file"):
        LOADERS[kind](str(tmp_path / "model.gguf"))


SHORT = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes."),
]


@pytest.fixture(params=SHORT, ids=lambda error: type(error).__name__)
def short_of_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading weights of any kind raises an error."""
    from transformers import PreTrainedModel

    def fails(*_: Any, **__: Any) -> None:
        raise request.param

    monkeypatch.setattr(PreTrainedModel, "from_pretrained", classmethod(fails))
    monkeypatch.setattr(torch, "load", fails)


@pytest.fixture(scope="module")
def engine(sound: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """With a scorer, and a captioner that is not loaded yet."""
    state = str(tmp_path_factory.mktemp("state"))
    named = {"data_directory": state, "captioner": str(sound["captioner"])}
    engine = Engine(load_settings(named, {}))
    assert engine.scorer is not None
    return engine


@pytest.mark.usefixtures("short_of_memory")
def test_a_model_that_does_not_fit_into_memory_is_not_reported_as_damaged(
    engine: Engine, sound: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for which, load_it in LOADERS.items():
        with pytest.raises(typer.Exit) as ended, report_errors(as_json=False):
            load_it(str(sound[which]))
        assert ended.value.exit_code == 12
        shown = capsys.readouterr().err
        assert "Out of memory" in shown
        assert str(sound[which]) in shown.replace("\n", "")
    (tmp_path / "blip.pth").write_bytes(b"weights")
    for read in (
        lambda: hub.read_tensors(tmp_path / "blip.pth"),
        lambda: SentenceModel(embedded_model()),
        lambda: engine.captioner,  # it is not silently skipped
    ):
        with pytest.raises(OutOfMemory):
            read()


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("ViT-B-32@weights.pt", ModelUnavailable, r"weights\.pt.*again"),
        ("ViT-B-32@other/weights.pt", ModelUnavailable, "There is no file"),
        ("ViT-Z-1@laion2b_s34b_b79k", ModelUnavailable, "open_clip:"),
        ("ViT-B-32", ModelMismatch, "laion2b_s34b_b79k"),
    ],
)
def test_open_clip_models_that_cannot_be_loaded_are_reported(
    name: str, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("weights.pt").write_bytes(b"not weights" * 100)
    with pytest.raises(error, match=message):
        load_scorer(f"open_clip:{name}", None, "cpu")


# ------------------------------------------------------------------------ a model's own code


class Unreadable(io.StringIO):
    def readline(self, *_: Any) -> str:
        pytest.fail("somebody was asked")  # no Exception: nothing catches it

    read = readline


def with_code(folder: Path, marker: Path, **automatic: str) -> None:
    """`auto_map`, as published models with code of their own have it."""
    (folder / "evil.py").write_text(
        f"import pathlib\npathlib.Path({str(marker)!r}).write_text('run')\n"
        "from transformers import PreTrainedConfig\nclass Evil(PreTrainedConfig): pass\n"
    )
    for name in ("config.json", "tokenizer_config.json", "processor_config.json"):
        if (folder / name).is_file():
            change(folder / name, auto_map=automatic)


AUTO = {
    "AutoConfig": "evil.Evil", "AutoModel": "evil.Evil", "AutoProcessor": "evil.Evil",
    "AutoImageProcessor": "evil.Evil", "AutoModelForImageTextToText": "evil.Evil",
    "AutoModelForSequenceClassification": "evil.Evil",
}  # fmt: skip
OTHERS: dict[str, Callable[[str], Any]] = {
    "nli": load_consistency_model,
    "icc": lambda name: score_captions(["a dog"], name),
}


@pytest.fixture
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Unreadable("y\n" * 9))


@pytest.mark.usefixtures("nobody_answers")
@pytest.mark.parametrize("which", [*LOADERS, *OTHERS])
def test_a_models_own_code_is_never_run_and_nothing_is_prompted(
    which: str, sound: dict[str, Path], tmp_path: Path
) -> None:
    for known in [True, False]:
        model = tmp_path / which
        shutil.copytree(sound.get(which, sound["clip"]), model, dirs_exist_ok=True)
        marker = tmp_path / "ran"
        with_code(model, marker, **AUTO)
        change(
            model / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", "evil.Evil"]}
        )
        if not known:
            change(model / "config.json", model_type="evil-model")
        loader = (LOADERS | OTHERS)[which]
        if known and which in LOADERS:
            loader(str(model))
        else:
            with pytest.raises(ModelUnavailable):
                loader(str(model))
        assert not marker.exists()


@pytest.mark.usefixtures("nobody_answers")
@pytest.mark.parametrize(
    "asks_for",
    [{"tokenizer_kwargs": {"trust_remote_code": True}},
     {"timm_model_name": "hf-hub:somebody/tower"}, {"timm_model_name": "local-dir:/"}],
)  # fmt: skip
def test_the_configuration_of_an_open_clip_model_passes_nothing_on_to_libraries(
    asks_for: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a permission to run its code nor a place of weights beside its own."""
    (tmp_path / "model").mkdir()
    model = open_clip_repository(tmp_path / "model")
    marker = tmp_path / "ran"
    automatic = {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}
    (model / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "EvilTokenizer", "auto_map": automatic})
    )
    with_code(model, marker, **AUTO)
    change(model / "tokenizer_config.json", auto_map=automatic)
    file = model / "open_clip_config.json"
    configuration = json.loads(file.read_text())
    towers = configuration["model_cfg"]
    towers["vision_cfg" if "timm_model_name" in asks_for else "text_cfg"] |= asks_for
    towers["text_cfg"]["hf_tokenizer_name"] = str(model)
    file.write_text(json.dumps(configuration))
    with dataset_hub(monkeypatch, tmp_path / "hub") as hub:
        with pytest.raises(ModelUnavailable):
            load_scorer(f"open_clip:local-dir:{model}", None, "cpu")
        assert hub.requests == []
    assert not marker.exists()


@pytest.mark.usefixtures("nobody_answers")
@pytest.mark.parametrize("place", ["automatic", "unknown type", "module"])
def test_a_sentence_models_own_code_is_never_run(place: str, tmp_path: Path) -> None:
    model, marker = text_encoder(tmp_path / "sentences", ["a dog"]), tmp_path / "ran"
    assert SentenceModel(str(model)).encode(["a dog"]).shape == (1, 32)
    with_code(model, marker, **AUTO)
    if place == "unknown type":
        change(model / "config.json", model_type="evil-model")
    if place == "module":
        modules = [{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]
        (model / "modules.json").write_text(json.dumps(modules))
    # A known type with code of its own is loaded by the library's class instead.
    with nullcontext() if place == "automatic" else pytest.raises(ModelUnavailable):
        SentenceModel(str(model))
    assert not marker.exists()


# ------------------------------------------------------------------------ families and precision


@pytest.mark.parametrize(
    ("device", "capability", "wanted"),
    [("cuda", (9, 0), "bfloat16"), ("cuda:1", (8, 0), "bfloat16"), ("cuda", (7, 5), "float32"),
     ("mps", None, "float32"), ("cpu", None, "float32")],
)  # fmt: skip
def test_bfloat16_is_the_default_only_where_it_is_native(
    device: str, capability: Any, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backend.engine.scoring.loading import choose_precision

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert choose_precision(device) == wanted
    assert choose_precision(device, "bfloat16") == "bfloat16"


def test_attention_is_not_planned_anew_for_every_shape() -> None:
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_models_loaded_by_two_threads_at_once_are_complete() -> None:
    """A job and a page each load their own."""
    from transformers import BlipForConditionalGeneration  # after the hub

    model = Path(__file__).parents[2] / "assets" / "models" / "scenes-blip-captioner"

    def missing(_: int) -> object:
        return hub.load(BlipForConditionalGeneration, model, output_loading_info=True)[1][
            "missing_keys"
        ]

    with ThreadPoolExecutor(3) as threads:
        assert not any(threads.map(missing, range(12)))
