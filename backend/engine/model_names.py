"""How a vision-language model is named as a scorer or captioner; without importing torch."""

from pathlib import Path

from backend.engine.presets import ASKED as PREFIX


def parts_of(model: str) -> tuple[str, Path | None]:
    """The model's name or directory, and the user's own prompt.

    >>> parts_of("vqa:Qwen/Qwen2.5-VL-3B-Instruct"), parts_of("vqa:a@b/model@mine.txt")
    (('Qwen/Qwen2.5-VL-3B-Instruct', None), ('a@b/model', PosixPath('mine.txt')))
    """
    name = model.removeprefix(PREFIX)
    before, _, file = name.rpartition("@")
    return (before, Path(file).expanduser()) if before and file.endswith(".txt") else (name, None)


def hub_name(model: str) -> str:
    """The name without prefix and prompt; other names are returned unchanged."""
    return parts_of(model)[0] if model.startswith(PREFIX) else model
