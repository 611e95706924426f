"""Openly licensed emoji sets from the npm registry: `python -m research.emoji.sets FOLDER`

The sets are not part of this repository. Their file names contain the code points of the emoji;
names come from the Unicode CLDR, as packaged by emojibase.
"""

import argparse
import json
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from backend.errors import DatasetNotFound, SettingsError


@dataclass(frozen=True)
class Package:
    """A package of the npm registry; `folder`: the part of it that is used."""

    name: str
    version: str
    folder: str
    licence: str

    @property
    def spec(self) -> str:
        return f"{self.name}@{self.version}"


#: One package for each style. Licences are those of the artwork.
STYLES = {
    "noto": Package(
        "emoji-datasource-google", "16.0.0", "img/google/64", "Apache 2.0, Noto Emoji, Google"
    ),
    "twemoji": Package(
        "emoji-datasource-twitter", "16.0.0", "img/twitter/64", "CC-BY 4.0, Twemoji, Twitter"
    ),
    "fluent": Package(
        "@lobehub/fluent-emoji-3d", "1.1.0", "assets", "MIT, Fluent Emoji, Microsoft"
    ),
    "emojione": Package("emojione", "2.2.7", "assets/png", "CC-BY 4.0, EmojiOne 2, Ranks.com"),
}
NAMES = Package("emojibase-data", "17.0.0", "en", "MIT; names: Unicode License, CLDR")
_PICTURES = (".png", ".webp")
#: Groups of emojibase that are parts of emoji, such as skin tones.
_COMPONENTS = 2


@dataclass(frozen=True)
class Emoji:
    """`code`: its code points without joiners and selectors, for example "1f469-1f3fb"; `base`: the
    code without a skin tone; `tones`: numbers from 1 (light) to 5 (dark)."""

    code: str
    name: str
    base: str
    subgroup: int
    tones: tuple[int, ...] = ()


def normal(code: str) -> str:
    """The code points of a file name or hexcode; sets disagree on joiners and selectors.

    >>> normal("1F469-200D-2764-FE0F")
    '1f469-2764'
    """
    return "-".join(part for part in code.lower().split("-") if part not in ("fe0f", "200d"))


@dataclass(frozen=True)
class EmojiSets:
    """The sets in `folder`, as downloaded by `fetch`. Raises DatasetNotFound if one is missing."""

    folder: Path
    styles: tuple[str, ...] = tuple(STYLES)

    def __post_init__(self) -> None:
        if unknown := set(self.styles) - set(STYLES):
            raise SettingsError(f"There is no style {sorted(unknown)}; use {', '.join(STYLES)}.")
        for package in (NAMES, *(STYLES[style] for style in self.styles)):
            if not _place(self.folder, package).is_dir():
                raise DatasetNotFound(
                    f"'{_place(self.folder, package)}' does not exist. Download the emoji sets "
                    f"first: python -m research.emoji.sets {self.folder}"
                )

    @cached_property
    def emoji(self) -> list[Emoji]:
        """Every emoji that has a name, in the order of the names, drawn or not."""
        path = _place(self.folder, NAMES) / "data.json"
        made = []
        for entry in json.loads(path.read_text("utf-8")):
            if entry.get("group") in (None, _COMPONENTS):
                continue
            base = normal(entry["hexcode"])
            for form in (entry, *entry.get("skins", ())):
                tone = form.get("tone", ())
                tones = (tone,) if isinstance(tone, int) else tuple(tone)
                code = normal(form["hexcode"])
                made.append(Emoji(code, form["label"], base, entry["subgroup"], tones))
        return made

    @cached_property
    def files(self) -> dict[str, dict[str, Path]]:
        """By style and code, the picture."""
        return {
            style: {
                normal(path.stem): path
                for path in sorted(_place(self.folder, STYLES[style]).iterdir())
            }
            for style in self.styles
        }


def fetch(folder: Path, packages: Sequence[Package] = (NAMES, *STYLES.values())) -> None:
    """Download what is not in `folder` yet. Raises SettingsError without npm or network."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        place = _place(folder, package)
        if not place.is_dir():
            unpack(_download(folder, package), package, place)


def unpack(archive: Path, package: Package, place: Path) -> None:
    """Write the pictures or names of a package's archive to `place`, flat; delete the archive."""
    temporary = place.with_suffix(".part")
    temporary.mkdir(parents=True, exist_ok=True)
    wanted = f"package/{package.folder}"
    with tarfile.open(archive) as packed:
        for member in packed:
            path = Path(member.name)
            kept = path.suffix in _PICTURES or path.name == "data.json"
            if not member.isfile() or path.parent.as_posix() != wanted or not kept:
                continue
            file = packed.extractfile(member)
            assert file is not None  # a regular file
            (temporary / path.name).write_bytes(file.read())
    temporary.replace(place)
    archive.unlink()


def _download(folder: Path, package: Package) -> Path:
    by_hand = (
        f"Download it on a machine with npm and network, 'npm pack {package.spec}', and unpack "
        f"its folder package/{package.folder} to {_place(folder, package)}."
    )
    command = ["npm", "pack", package.spec, "--silent", "--pack-destination", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    except FileNotFoundError:
        raise SettingsError(
            f"npm is not installed, so {package.spec} is missing. {by_hand}"
        ) from None
    except subprocess.TimeoutExpired:
        raise SettingsError(f"The npm registry does not answer. {by_hand}") from None
    if done.returncode:
        reason = " ".join(done.stderr.split())[-300:]
        raise SettingsError(f"npm could not download {package.spec}: {reason} {by_hand}")
    return folder / done.stdout.split()[-1]


def _place(folder: Path, package: Package) -> Path:
    return folder / "sets" / package.name.replace("/", "-").removeprefix("@")


def licences(styles: Sequence[str] = tuple(STYLES)) -> str:
    named = [(style, STYLES[style]) for style in styles] + [("names", NAMES)]
    return "\n".join(f"{name}: {package.spec} ({package.licence})" for name, package in named)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    fetch(args.folder)
    print(licences())


if __name__ == "__main__":
    main()
