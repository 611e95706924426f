"""Which models of the hub are on this machine: the cache that every program of Hugging Face shares.

Nothing here asks the hub anything. A model counts as being here when its configuration and its
weights are; a download that was interrupted does not.
"""

import re
from pathlib import Path

from backend.engine.presets import pinned

#: The hub's names: NAME or OWNER/NAME. Everything else is a path, or a form of its own.
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
#: What weights are stored in, the best form first; of the others none is read.
WEIGHTS = ("model.safetensors", "open_clip_model.safetensors", "pytorch_model.bin")
#: Left out of a download: other libraries' weights, and what a model's page shows.
_SHARDS = re.compile(r"(model|pytorch_model)-\d+-of-\d+\.(safetensors|bin)")
_SMALL = (".json", ".txt", ".model", ".jinja")


def cache_folder() -> Path:
    """The hub's cache on this machine (HF_HOME and HF_HUB_CACHE move it)."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def folder_of(name: str) -> Path:
    """Where the cache keeps a model, whether or not it is there.

    >>> folder_of("openai/clip-vit-base-patch32").name
    'models--openai--clip-vit-base-patch32'
    """
    return cache_folder() / ("models--" + name.replace("/", "--"))


def commit_of(name: str) -> str:
    """The commit of the model that is here: the pinned one, else what `main` was when it was
    downloaded; "" if it is not here."""
    folder = folder_of(name)
    main = folder / "refs" / "main"
    known = [pinned(name), main.read_text(encoding="utf-8").strip() if main.is_file() else ""]
    return next((c for c in known if c and _is_whole(folder / "snapshots" / c)), "")


def snapshot_of(name: str) -> Path | None:
    """The directory with the model's files, or None."""
    commit = commit_of(name)
    return folder_of(name) / "snapshots" / commit if commit else None


def bytes_of(name: str) -> int:
    """How much of the disk the model takes, all of its revisions."""
    blobs = folder_of(name) / "blobs"
    return sum(path.stat().st_size for path in blobs.iterdir()) if blobs.is_dir() else 0


def _is_whole(snapshot: Path) -> bool:
    """Whether all that its configuration needs is there; links whose target lacks do not count."""
    files = {path.name for path in snapshot.iterdir() if path.exists()} if snapshot.is_dir() else ()
    if "model.safetensors.index.json" in files or "pytorch_model.bin.index.json" in files:
        shards = [name for name in files if _SHARDS.fullmatch(name)]
        return bool(shards) and len(shards) == int(shards[0].split("-of-")[1].split(".")[0])
    has_configuration = bool({"config.json", "open_clip_config.json"} & set(files))
    is_tokenizer = "tokenizer_config.json" in files and not has_configuration
    return is_tokenizer or (has_configuration and any(name in files for name in WEIGHTS))


def needed(files: list[str]) -> list[str]:
    """Of a repository's files those that a model is loaded from: one form of weights, and what is
    small.

    >>> needed(["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5"])
    ['config.json', 'model.safetensors']
    """
    top = [name for name in files if "/" not in name]
    small = [name for name in top if name.endswith(_SMALL)]
    weights = [name for name in WEIGHTS if name in top][:1]
    if not weights:
        shards = [name for name in top if _SHARDS.fullmatch(name)]
        safe = [name for name in shards if name.endswith(".safetensors")]
        weights = safe or shards
    return small + weights
