"""The folders on the server, and the addresses, that pages may access if login is enabled.

A single user on their own machine may choose any folder, because the page has the same rights as
they do. A curator in a team is not the administrator, and must not choose what the server reads and
writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.datasets.read_options import is_address, is_below, without_query
from backend.datasets.reading.hub_names import is_hub_name
from backend.datasets.safe_files.regular_files import typed_path
from backend.errors import UnsafePath
from backend.options import Options


@dataclass(frozen=True)
class Folders:
    """Absolute folders that pages may import from and export to, and addresses likewise."""

    imports: tuple[Path, ...]
    exports: tuple[Path, ...]
    import_addresses: tuple[str, ...] = ()
    export_addresses: tuple[str, ...] = ()
    #: The data folder, whose place no refusal tells.
    data: Path | None = None

    @classmethod
    def from_settings(
        cls, imports: Sequence[str], exports: Sequence[str], data_directory: Path
    ) -> "Folders":
        """The folders chosen by the administrator. By default, imports are limited to the data
        folder, and exports to a subfolder of it, so that they cannot overwrite the database."""
        addresses = [tuple(filter(is_address, places)) for places in (imports, exports)]
        imports, exports = (
            [place for place in places if not is_address(place)] for places in (imports, exports)
        )
        return cls(
            # Uploads have already been accepted.
            (*_absolute(imports), (data_directory / "uploads").resolve())
            if imports
            else (data_directory.resolve(),),
            _absolute(exports) or ((data_directory / "exports").resolve(),),
            addresses[0],
            addresses[1],
            data_directory.resolve(),
        )

    def check_import(self, path: str | Path) -> Path:
        """The absolute path. Raises UnsafePath if it is outside these folders, whether or not it
        exists, or holds exports, and SettingsError if it is not a path."""
        absolute_path = typed_path(path)
        if not any(absolute_path.is_relative_to(folder) for folder in self.imports):
            raise self._refusal("import", path, self.imports)
        # Exports belong to those who started them: they may hold verdicts hidden from others.
        for folder in self.exports:
            if absolute_path.is_relative_to(folder) or folder.is_relative_to(absolute_path):
                raise UnsafePath(
                    f"Where people log in, exports are not imported from the page, and '{path}' "
                    "holds some. Use the command line."
                )
        return absolute_path

    def check_options(self, kind: str, chosen: Options | Mapping[str, Any]) -> dict[str, Any]:
        """The paths among an operation's options, checked and absolute. An export without a folder,
        or into a relative one, goes among its account's exports (`backend.operations.export`).
        Raises UnsafePath."""
        arguments, options = dict(chosen), dict[str, Any]()
        if kind == "export":
            out = str(arguments["out"])
            if is_address(out):
                self._check_address("export", out, self.export_addresses or self.exports)
            elif out:
                target = typed_path(out)
                if Path(out).expanduser().is_absolute():
                    if not any(folder in target.parents for folder in self.exports):
                        raise self._refusal("export", out, self.exports)
                    options["out"] = str(target)
        elif kind == "import":
            path = str(arguments["path"])
            if is_address(path):
                self._check_address("import", path, self.import_addresses or self.imports)
            elif is_hub_name(path):
                options["anonymous"] = True  # the token is the administrator's
            else:
                options["path"] = str(self.check_import(arguments["path"]))
            if arguments.get("image_root"):
                options["image_root"] = str(self.check_import(arguments["image_root"]))
        for file in chosen.input_files() if isinstance(chosen, Options) else ():
            self.check_import(file)
        return options

    def _check_address(self, what: str, address: str, places: Sequence[Path | str]) -> None:
        if not any(is_below(address, str(place)) for place in places):
            raise self._refusal(what, without_query(address), places)

    def _refusal(self, what: str, path: str | Path, places: Sequence[Path | str]) -> UnsafePath:
        names = (
            "the server's data folder"
            if self.data is not None and isinstance(place, Path) and place.is_relative_to(self.data)
            else str(place)
            for place in places
        )
        return UnsafePath(
            f"Where people log in, {what}s from the page are limited to "
            f"{', '.join(dict.fromkeys(names))}; '{path}' lies outside.",
            terminal=f"The administrator can allow more folders with --{what}-root.",
            page="The server's administrator can allow more folders.",
        )


def _absolute(folders: Sequence[str]) -> tuple[Path, ...]:
    return tuple(map(typed_path, folders))
