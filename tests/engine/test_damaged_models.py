"""Damaged weights and too little memory: a clear message, an exit status, and no bad advice."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import typer

from backend.cli.output import reported
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.embeddings import embed, embedded_model
from backend.engine.language_models.local import load_local
from backend.errors import ModelUnavailable, OutOfMemory, TracedError, explain, not_loaded
from backend.settings import MODELS
from tests.engine.language_models.families import internvl

Damage = Callable[[Path], None]


def cut(weights: Path) -> None:
    data = weights.read_bytes()
    weights.write_bytes(data[: len(data) // 2])


def nonsense(weights: Path) -> None:
    weights.write_bytes(b"\x00" * 64)


def no_tensors(weights: Path) -> None:
    """A pickle that would run a program, where torch's own file is expected."""

    class Runs:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return eval, ("1 + 1",)

    weights.unlink()
    (weights.parent / "pytorch_model.bin").write_bytes(pickle.dumps(Runs()))


@pytest.fixture(scope="module")
def vision_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(internvl(tmp_path_factory.mktemp("vlm") / "model"))


@pytest.mark.parametrize("damage", [cut, nonsense, no_tensors])
@pytest.mark.parametrize("kind", ["vision", "captioner"])
def test_damaged_weights_end_with_status_4(
    tmp_path: Path, vision_model: Path, damage: Damage, kind: str
) -> None:
    source = {
        "vision": vision_model,
        "captioner": MODELS / "scenes-blip-captioner",
    }[kind]
    loaders: dict[str, Callable[[str], object]] = {
        "vision": load_local, "captioner": load_captioner,
    }  # fmt: skip
    folder = Path(shutil.copytree(source, tmp_path / "model"))
    damage(next(folder.rglob("*.safetensors")))
    with pytest.raises(ModelUnavailable) as caught:
        loaders[kind](str(folder))
    assert caught.value.exit_status == 4
    message = explain(caught.value)
    assert "Unexpected" not in message
    assert "weights_only" not in message


@pytest.mark.parametrize("damage", [cut, nonsense, no_tensors])
def test_damaged_weights_of_the_sentence_model_end_with_status_4(
    tmp_path: Path, damage: Damage
) -> None:
    folder = Path(shutil.copytree(embedded_model(), tmp_path / "model"))
    damage(next(folder.rglob("*.safetensors")))
    with pytest.raises(ModelUnavailable) as caught:
        embed(["A dog."], str(folder))
    assert caught.value.exit_status == 4
    message = explain(caught.value)
    assert "Unexpected" not in message
    assert "weights_only" not in message


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate "
                     "memory: you tried to allocate 400000000000 bytes."),
    ],
)  # fmt: skip
def test_too_little_memory_always_gives_the_same_message_and_status(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(error) == explain(OutOfMemory())
    with pytest.raises(typer.Exit) as ended, reported(as_json=False):
        raise error
    assert ended.value.exit_code == OutOfMemory.exit_status
    assert "Out of memory" in capsys.readouterr().err
    assert isinstance(not_loaded("The model", "x", error, "Name another."), OutOfMemory)


def test_our_own_errors_are_passed_through() -> None:
    problem = TracedError("Row 3.")
    assert not_loaded("The model", "x", problem, "Name another.") is problem
