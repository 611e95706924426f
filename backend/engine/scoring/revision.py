"""Identifies the exact weights: the hub's commit, or a digest of the files in a directory."""

import hashlib
import json
from pathlib import Path
from typing import Any

from backend.datasets.regular_files import open_regular, read_regular
from backend.engine.hub_cache import commit_of

#: Bytes read at each end of a file: enough to tell checkpoints apart, cheap for large files.
_SAMPLE = 1 << 20


def revision_of(model: str, commit: str | None = None) -> str:
    """`commit` for a hub name; for a directory a digest of its configuration and weights.

    The digest covers each file's name, size, and first and last megabyte. Truncated to 12
    characters; "unknown" if there is no commit.
    """
    folder = Path(model)
    if not folder.is_dir():
        return (commit or commit_of(model) or "unknown")[:12]
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if (
            path.suffix not in (".json", ".safetensors", ".bin", ".txt")
            or path.name == "traced.json"
        ):
            continue
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}\n".encode())
        with open_regular(path) as file:
            digest.update(file.read(_SAMPLE))
            file.seek(max(0, size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:12]


def weights_digest(model: Any) -> str:
    """A digest of the loaded weights: their names, shapes and first 64 values."""
    digest = hashlib.sha256()
    for name, weight in model.state_dict().items():
        digest.update(f"{name}:{tuple(weight.shape)}".encode())
        digest.update(weight.flatten()[:64].float().numpy().tobytes())
    return digest.hexdigest()[:12]


def limits_of(model: str) -> str:
    """The limitations stated in the model's `traced.json`; empty if there are none."""
    path = Path(model) / "traced.json"
    if not path.is_file():
        return ""
    return str(json.loads(read_regular(path)).get("limits", ""))
