"""The destination of an export, and what its writer reports about it."""

from dataclasses import dataclass, field
from pathlib import Path

from backend.datasets.export_row import Changes


@dataclass
class Target:
    """`part`: the temporary folder that is written; `out`: its final path; `root`: the folder of
    the source's images.

    A writer fills in `files` (a split and the patterns of its files, for loaders that read the
    card) and adds to `changes`.
    """

    part: Path
    out: Path
    root: Path
    files: dict[str, str | list[str]] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
