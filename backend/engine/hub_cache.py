"""Which hub models are on this machine, in the cache shared by all Hugging Face programs.

Nothing here accesses the network. A model counts as downloaded if both its configuration and its
weights are present; an interrupted download does not count.
"""

import re
from pathlib import Path

from backend.engine.presets import OPEN_CLIP_HUB as OPEN_CLIP_HUB
from backend.engine.presets import pinned_commit

#: Hub names: NAME or OWNER/NAME. Everything else is a path or uses a prefix such as open_clip:.
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
#: Files of open_clip's weights, in the library's own order of preference.
OPEN_CLIP_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
#: Supported weights files, in order of preference.
WEIGHTS = ("model.safetensors", "pytorch_model.bin", *OPEN_CLIP_WEIGHTS)
#: Sharded weights. Other libraries' weights and the model page's files are not downloaded.
_SHARDS = re.compile(r"(model|pytorch_model)-\d+-of-\d+\.(safetensors|bin)")
_SMALL = (".json", ".txt", ".model", ".jinja")
#: Weights of the parts of a diffusers pipeline, whose files are in folders of their own.
_PIPELINE = "model_index.json"
_PARTS_WEIGHTS = ("diffusion_pytorch_model.safetensors", "diffusion_pytorch_model.bin")
#: Files in folders: such parts, and a sentence model's pooling.
_IN_FOLDER = re.compile(r"([\w-]+)/([\w-][\w.-]*)")
_POOLING = re.compile(r"\d+_Pooling/config\.json")


def cache_folder() -> Path:
    """The hub's cache on this machine, as configured by HF_HOME and HF_HUB_CACHE."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def folder_of(name: str) -> Path:
    """A model's folder in the cache, whether or not it exists.

    >>> folder_of("openai/clip-vit-base-patch32").name
    'models--openai--clip-vit-base-patch32'
    """
    return cache_folder() / ("models--" + name.replace("/", "--"))


def commit_of(name: str) -> str:
    """The downloaded commit of the model: the pinned one, else what `main` was at download time;
    "" if it has not been downloaded completely."""
    folder = folder_of(name)
    main = folder / "refs" / "main"
    commits = [
        pinned_commit(name),
        main.read_text(encoding="utf-8").strip() if main.is_file() else "",
    ]
    return next((c for c in commits if c and is_whole(folder / "snapshots" / c)), "")


def snapshot_of(name: str) -> Path | None:
    """The directory with the model's files, or None."""
    commit = commit_of(name)
    return folder_of(name) / "snapshots" / commit if commit else None


def bytes_of(name: str) -> int:
    """Disk space used by all revisions of the model, in bytes."""
    blobs = folder_of(name) / "blobs"
    return sum(path.stat().st_size for path in blobs.iterdir()) if blobs.is_dir() else 0


def names() -> list[str]:
    """The hub names of all models in the cache, from any program, complete or not."""
    folders = sorted(cache_folder().glob("models--*")) if cache_folder().is_dir() else []
    candidates = (path.name.removeprefix("models--").replace("--", "/", 1) for path in folders)
    return [name for name in candidates if HUB_NAME.fullmatch(name)]


def is_whole(snapshot: Path) -> bool:
    """Whether all files the model needs are present; dangling symlinks do not count."""
    files = {path.name for path in snapshot.iterdir() if path.exists()} if snapshot.is_dir() else ()
    if _PIPELINE in files:
        parts = [path.parent for path in snapshot.glob("*/config.json") if path.exists()]
        return bool(parts) and all(
            any(path.exists() for kind in ("safetensors", "bin") for path in part.glob(f"*.{kind}"))
            for part in parts
        )
    if "model.safetensors.index.json" in files or "pytorch_model.bin.index.json" in files:
        shards = [name for name in files if _SHARDS.fullmatch(name)]
        return bool(shards) and len(shards) == int(shards[0].split("-of-")[1].split(".")[0])
    has_configuration = bool({"config.json", "open_clip_config.json"} & set(files))
    is_tokenizer = "tokenizer_config.json" in files and not has_configuration
    return is_tokenizer or (has_configuration and any(name in files for name in WEIGHTS))


def files_for(files: list[str], for_open_clip: bool = False) -> list[str]:
    """The files of a repository that loading a model requires: weights in one format, and the small
    files. `for_open_clip`: open_clip loads it; many repositories hold weights for both libraries.

    >>> files_for(["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5"])
    ['config.json', 'model.safetensors']
    >>> files_for(["config.json", "model.safetensors", "open_clip_pytorch_model.bin"], True)
    ['config.json', 'open_clip_pytorch_model.bin']
    >>> files_for(["config.json", "modules.json", "1_Pooling/config.json", "onnx/config.json"])
    ['config.json', 'modules.json', '1_Pooling/config.json']
    """
    top = [name for name in files if "/" not in name]
    small = [name for name in top if name.endswith(_SMALL)]
    if _PIPELINE in top:
        folders: dict[str, list[str]] = {}
        for match in filter(None, map(_IN_FOLDER.fullmatch, files)):
            folders.setdefault(match[1], []).append(match[2])
        return small + [
            f"{folder}/{name}" for folder, of in folders.items() for name in files_for(of)
        ]
    if "modules.json" in top:
        small += [name for name in files if _POOLING.fullmatch(name)]
    order = (*OPEN_CLIP_WEIGHTS, *WEIGHTS) if for_open_clip else (*WEIGHTS, *_PARTS_WEIGHTS)
    weights = [name for name in order if name in top][:1]
    if not weights:
        shards = [name for name in top if _SHARDS.fullmatch(name)]
        safe = [name for name in shards if name.endswith(".safetensors")]
        weights = safe or shards
    return small + weights
