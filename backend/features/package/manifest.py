"""What a package says of itself, in its `package.json` and in the database that it holds."""

import json
import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from backend.errors import DatasetFormatError
from db import open_store

FORMAT, VERSION = "TRACED Curator, review package", 1
MANIFEST, DATABASE, PICTURES = "package.json", "review.db", "pictures"
#: The setting of the database under which the same is stored.
SETTING = "package"
#: The ending of the database beside a package that has its verdicts.
VERDICTS = ".verdicts.db"


@dataclass(frozen=True)
class Manifest:
    """`id`: of this package, 32 hexadecimal digits. `database`: the identity of the one at home;
    `reviewer`: for whom it is, "": anybody; `last_act`: the newest act at home that it holds.
    `sampling`: how its pairs were drawn from the undecided ones, as in `db.decisions.SAMPLINGS`;
    `pictures`: "originals", or the most pixels of a side. `digest`: SHA-256 of its database, ""
    within that."""

    id: str
    dataset: str
    database: str
    reviewer: str
    pairs: int
    pictures: str
    sampling: str
    last_act: int
    created_at: str
    program: str
    digest: str = ""
    format: str = FORMAT
    version: int = VERSION

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def as_text(self) -> str:
        return json.dumps(self.as_json(), indent=1, ensure_ascii=False)

    @classmethod
    def parse(cls, content: Any, name: str) -> Self:
        """Raises DatasetFormatError for what no package says of itself, or a newer one. `name`: of
        its file."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DatasetFormatError(f"'{name}' is not a package that `pack` has written.")
        if content.get("version") != VERSION:
            raise DatasetFormatError(
                f"'{name}' was packed by a newer version of this program. Update the program."
            )
        try:
            manifest = TypeAdapter(cls).validate_python(content)
        except ValidationError as problem:
            field = ".".join(str(part) for part in problem.errors()[0]["loc"])
            raise DatasetFormatError(
                f"'{name}' is damaged: its {MANIFEST} has no sound '{field}'. Ask for another copy."
            ) from problem
        if len(manifest.id) != 32 or not manifest.id.isalnum():
            raise DatasetFormatError(f"'{name}' is damaged: its id is none.")
        return manifest


def parse_manifest(content: bytes, name: str) -> Manifest:
    """Raises as `Manifest.parse`."""
    try:
        return Manifest.parse(json.loads(content), name)
    except (ValueError, RecursionError) as problem:
        raise DatasetFormatError(f"'{name}' is damaged: {MANIFEST} is no JSON.") from problem


def check_database(path: Path, name: str, folder: Path) -> None:
    """Raise DatasetFormatError unless the file is a sound database of SQLite in which nothing runs
    but what this program has put there: others' triggers and views are refused. `folder`: for a
    database to compare it with."""
    plain = folder / "plain.db"
    open_store(f"sqlite:///{plain}").close()
    try:
        if extra := _programs_in(path) - _programs_in(plain):
            raise DatasetFormatError(
                f"'{name}' was changed by another program: it holds {min(extra)[:80]}. It is not "
                "opened."
            )
    except sqlite3.Error as problem:
        raise DatasetFormatError(
            f"'{name}' is damaged: {problem}. Ask for another copy."
        ) from problem


def _programs_in(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        check = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if check != "ok":
            raise sqlite3.DatabaseError(check)
        query = "SELECT sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
        return {str(sql) for (sql,) in connection.execute(query)}
    finally:
        connection.close()
