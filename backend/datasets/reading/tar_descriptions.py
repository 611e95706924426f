"""What files beside tars say of them, which features and packages read and write
(`tar_descriptions` in docs/extending.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from backend import plugins
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.sample_fields import SampleChoice


@dataclass(frozen=True)
class TarDescription:
    """`tars`: those that are read, in order; `splits`: of those that have one; `choice_of(tar)`:
    what is read of its samples."""

    tars: list[Path]
    splits: dict[Path, str]
    notes: tuple[str, ...]
    choice_of: Callable[[Path], SampleChoice]


@dataclass(frozen=True)
class TarDescriber:
    """`files`: relative paths of the files, beside tars or above them, which are fetched with tars.
    `describe(source, options)`: what they say about a tar, or about the tars below a folder; None
    without them, and no tars if there are none. May raise DatasetFormatError. `write(folder,
    picture, samples)`: writes them beside exported tars with texts in `.txt`; `picture`: the ending
    of pictures, without the dot; `samples`: how many each tar holds, by its name, which begins with
    its split."""

    files: tuple[str, ...]
    describe: Callable[[Path, ReadOptions], TarDescription | None]
    write: Callable[[Path, str, Mapping[str, int]], None]


def tar_describers() -> tuple[TarDescriber, ...]:
    return plugins.load("tar_descriptions", TarDescriber)


def describe_tars(source: Path, options: ReadOptions) -> TarDescription | None:
    """What the first that knows says about a tar or a folder. Raises DatasetFormatError."""
    descriptions = (describer.describe(source, options) for describer in tar_describers())
    return next((each for each in descriptions if each is not None), None)


def files_about_tars() -> list[str]:
    """Relative paths of the files that describe tars."""
    return [file for describer in tar_describers() for file in describer.files]


def sample_choice(
    table: Path, described: TarDescription | None, options: ReadOptions
) -> SampleChoice:
    """What is read of a table's samples; what a person states takes precedence."""
    choice = SampleChoice()
    if described is not None and table.suffix.lower() == ".tar":
        choice = described.choice_of(table)
    captions = options.caption_column or choice.captions
    return replace(choice, captions=captions, may_lack_captions=options.uncaptioned)
