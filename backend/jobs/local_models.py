"""Facts about the models on this machine, read from their files without loading any."""

import json
import math
import os
import re
from pathlib import Path
from typing import Any

from backend.datasets.regular_files import open_regular, read_regular
from backend.engine import hub_cache
from backend.engine.presets import checkpoints
from backend.engine.scoring.vqa.name import hub_name

#: `model_type` of the configurations that scorers are made of; the cache is shared with programs
#: that download models of every kind. The same as the families' (`engine/scoring/loading.py`),
#: which cannot be imported without torch.
MODEL_TYPES = frozenset({"clip", "metaclip_2", "siglip", "blip"})
#: Bytes read of a model card: its licence is at the beginning.
_CARD = 1 << 16
#: Bytes per number, by the name of the precision in a configuration.
_WIDTHS = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
#: Bytes of a safetensors header, as the format limits them.
_LONGEST_HEADER = 100_000_000
_LICENCE = re.compile(r"^license(?:_name)?:[ \t]*[\"']?([^\"'\n]{1,60})", re.MULTILINE)


def downloaded_scorers() -> list[str]:
    """The complete scorers in the hub's cache, in the form accepted by `--model`; those of presets
    are left out."""
    presets = {checkpoint.repository for checkpoint in checkpoints()}
    named = (_scorer_in(name) for name in hub_cache.names() if name not in presets)
    return [name for name in named if name]


def _scorer_in(name: str) -> str:
    """The value of `--model` for this hub model; "" if it is no scorer or is incomplete."""
    snapshot = hub_cache.snapshot_of(name)
    if snapshot is None:
        return ""
    has_weights = any((snapshot / file).exists() for file in hub_cache.OPEN_CLIP_WEIGHTS)
    if has_weights and (snapshot / "open_clip_config.json").is_file():
        return hub_cache.OPEN_CLIP_HUB + name
    return name if _is_scorer(_json(snapshot / "config.json")) else ""


def _is_scorer(configuration: dict[str, Any]) -> bool:
    """Whether this is a scorer: a captioner has the same type but another class."""
    classes = " ".join(map(str, configuration.get("architectures") or ()))
    is_captioner = "ConditionalGeneration" in classes
    return configuration.get("model_type") in MODEL_TYPES and not is_captioner


def path_of(model: str) -> Path | None:
    """The file or folder that `--model` names, also as in `open_clip:ARCHITECTURE@FILE` and
    `vqa:FOLDER`; None if nothing is there."""
    model = hub_name(model)
    _, _, file = model.partition("@") if ":" in model else ("", "", "")
    paths = (Path(text).expanduser() for text in (model, file) if text)
    return next((path for path in paths if os.path.exists(path)), None)


def is_model(path: Path) -> bool:
    """Whether a folder has a model's configuration and weights. A file is assumed to be weights."""
    return hub_cache.is_whole(path) if path.is_dir() else path.is_file()


def size_of(path: Path) -> int:
    """Disk space used by a model's file or folder, in bytes."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def parameters_of(path: Path | None) -> int | None:
    """Number of a model's parameters, from the headers of its safetensors; from the size of other
    weights and the precision stated in the configuration. `path`: a folder or a file of weights;
    None if there are no weights, or none whose header can be read."""
    if path is None:
        return None
    if path.is_file():
        files, configuration = [path], {}
    else:
        names = hub_cache.needed([file.name for file in path.iterdir() if file.exists()])
        files = [path / name for name in names if name.endswith((".safetensors", ".bin"))]
        configuration = _json(path / "config.json")
    width = _WIDTHS.get(str(configuration.get("dtype") or configuration.get("torch_dtype")), 4)
    counts = [
        _in_header(file) if file.suffix == ".safetensors" else file.stat().st_size // width
        for file in files
    ]
    return sum(counts) or None


def _in_header(file: Path) -> int:
    """Numbers in a file of safetensors, without integers (positions); 0 if its header is
    damaged. The header's length is in the first eight bytes."""
    try:
        with open_regular(file) as stored:
            length = int.from_bytes(stored.read(8), "little")
            if length > min(_LONGEST_HEADER, file.stat().st_size):
                return 0
            tensors = json.loads(stored.read(length))
        return sum(
            math.prod(tensor["shape"])
            for name, tensor in tensors.items()
            if name != "__metadata__" and not tensor["dtype"].startswith(("I", "U", "BOOL"))
        )
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return 0


def licence_in(folder: Path | None) -> str:
    """The licence stated in the folder's model card; "" without a card."""
    card = folder / "README.md" if folder is not None else None
    if card is None or not card.is_file():
        return ""
    try:
        with open_regular(card) as file:
            head = file.read(_CARD).decode("utf-8", "replace")
    except OSError:
        return ""
    facts = head[4:].partition("\n---")[0] if head.startswith("---\n") else ""
    # "license: other" is followed by the licence's name.
    return next((text.strip() for text in _LICENCE.findall(facts) if text.strip() != "other"), "")


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(path))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
