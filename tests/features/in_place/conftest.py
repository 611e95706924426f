"""Folders of pictures with their captions."""

from pathlib import Path

from tests.datasets.folders import picture, write


def captioned(folder: Path, **captions: str) -> Path:
    """The folder with a picture for each caption, and the caption in a text beside it."""
    for stem, caption in captions.items():
        picture(folder / f"{stem}.png")
        write(folder / f"{stem}.txt", caption)
    return folder
