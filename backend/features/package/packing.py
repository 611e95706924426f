"""Write a package: a zip of the pictures, a database of the dataset alone, and a manifest."""

import hashlib
import io
import shutil
import tempfile
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from backend.counts import count_of
from backend.datasets.safe_files.containers import PACKED, SEPARATOR, locate, proof_of
from backend.datasets.safe_files.images import load_image
from backend.datasets.safe_files.regular_files import flush
from backend.datasets.writing.export_images import image_and_ending
from backend.errors import ExportError, ImageError, SettingsError, UnsafePath
from backend.features.package import queries
from backend.features.package.manifest import (
    DATABASE,
    MANIFEST,
    PICTURES,
    SETTING,
    Manifest,
)
from backend.operations.registry import OPERATIONS
from backend.operations.workspace_jobs import Jobs
from backend.progress import Progress, no_progress
from backend.review.queue import is_plain
from backend.store import Store, create_tables_of_features
from backend.version import VERSION
from db import open_store
from db.authors import is_reserved
from db.column_types import now
from db.decisions import AT_RANDOM
from db.queries import dataset_queries, setting_queries
from db.queries.blind_review import NOBODY, several_judge
from db.queries.statements import chunks
from db.session import Store as Database
from db.texts import has_controls, is_blank

if TYPE_CHECKING:
    from backend.workspace import Workspace

ORIGINALS = "originals"


@dataclass(frozen=True)
class Contents:
    """What is packed. `pair_ids`: in any order; `reviewer`: for whom, "": anybody; `sampling`: see
    `Manifest`; `thumbnails`: the most pixels of a side, None: the pictures as they are."""

    dataset_id: int
    pair_ids: Sequence[int]
    reviewer: str = ""
    sampling: str = ""
    thumbnails: int | None = None


@dataclass(frozen=True)
class PackReport:
    """`bytes`: of the file, `picture_bytes`: of the pictures in it; `missing`: pictures that could
    not be read: their pairs are in the package without them."""

    file: str
    reviewer: str
    pairs: int
    pictures: int
    missing: int
    bytes: int
    picture_bytes: int

    def in_words(self) -> str:
        who = f" for {self.reviewer}" if self.reviewer else ""
        lost = f" {count_of(self.missing, 'picture')} could not be read." if self.missing else ""
        return (
            f"{count_of(self.pairs, 'pair')}{who} in {self.file} ({self.bytes / 1e6:,.1f} MB)."
            f"{lost}"
        )


def share_out(
    store: Store, pair_ids: Sequence[int], people: Sequence[str], several: int
) -> list[list[int]]:
    """The pairs of each person, in the order of `people`: a pair that several people judge goes to
    `several` of them, any other to one. `pair_ids` are in random order, so that each share is a
    random sample. Of the pairs 1, 2, 3 and 4, for Ada and Ben, where both judge 3: [1, 3] for Ada,
    [2, 3, 4] for Ben."""
    shared = store.read(several_judge, pair_ids)
    shares: list[list[int]] = [[] for _ in people]
    turn = 0
    for pair_id in pair_ids:
        number = min(several, len(people)) if pair_id in shared else 1
        for _ in range(number):
            shares[turn % len(people)].append(pair_id)
            turn += 1
    return shares


def pack(
    workspace: "Workspace", contents: Contents, target: Path, progress: Progress = no_progress
) -> PackReport:
    """Write the package to `target`, a new file, which appears when it is complete. `workspace`: as
    whoever reviews may read it. Raises SettingsError, and ExportError if it cannot be written."""
    if target.exists() or target.is_symlink():
        raise SettingsError(f"{target} exists already. Give the name of a new file.")
    if not contents.pair_ids:
        raise SettingsError("There is no pair to pack.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in target.parent.glob(f".{target.name}.part-*"):  # of a pack that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        prefix = f".{target.name}.part-"
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=prefix) as folder:
            part = Path(folder) / "package"
            report = _write(workspace, contents, part, Path(folder) / DATABASE, progress)
            flush(part)
            size = part.stat().st_size
            part.rename(target)
            flush(target.parent)
    except OSError as problem:
        raise ExportError(
            f"{target}: {problem.strerror or problem}. Nothing was kept."
        ) from problem
    return replace(report, file=str(target), bytes=size)


def _write(
    workspace: "Workspace", contents: Contents, part: Path, database: Path, progress: Progress
) -> PackReport:
    store, pair_ids = workspace.store, sorted(contents.pair_ids)
    with zipfile.ZipFile(part, "x", zipfile.ZIP_STORED) as archive:
        pictures = _Pictures(store, contents, archive)
        addresses = store.read(queries.pictures_of, pair_ids)
        for number, address in enumerate(addresses):
            pictures.add(address)
            progress(number + 1, len(addresses), "Packing pictures")
        manifest = _write_database(workspace, contents, pair_ids, database, pictures.address_of)
        archive.write(database, DATABASE, zipfile.ZIP_DEFLATED, compresslevel=1)
        with database.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with archive.open(MANIFEST, "w") as member:
            member.write(replace(manifest, digest=digest).as_text().encode())
    return PackReport(
        "", contents.reviewer, len(pair_ids), len(addresses) - pictures.missing, pictures.missing,
        0, pictures.bytes,
    )  # fmt: skip


class _Pictures:
    """The pictures of a package, each written once."""

    def __init__(self, store: Store, contents: Contents, archive: zipfile.ZipFile) -> None:
        dataset = store.read(dataset_queries.get_dataset, contents.dataset_id)
        self._root = Path(dataset.root)
        self._archive, self._thumbnails = archive, contents.thumbnails
        #: By the address at home: the one in the package, after its own name.
        self.address_of: dict[str, str] = {}
        self.missing = self.bytes = 0

    def add(self, address: str) -> None:
        name = f"{PICTURES}/{len(self.address_of) + 1:07d}"
        try:
            data, ending = self._content(address)
        except (ImageError, ExportError, UnsafePath):
            self.missing += 1
            self.address_of[address] = f"{SEPARATOR}{name}"
            return
        self._archive.writestr(f"{name}{ending}", data)
        self.bytes += len(data)
        self.address_of[address] = f"{SEPARATOR}{name}{ending}#{proof_of(data)}"

    def _content(self, address: str) -> tuple[bytes, str]:
        image = locate(self._root, address)
        data, ending = image_and_ending(image)
        if self._thumbnails is None:
            return data, ending
        picture = load_image(data, image.name)
        if max(picture.size) <= self._thumbnails:
            return data, ending
        picture.thumbnail((self._thumbnails, self._thumbnails), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=88)
        return buffer.getvalue(), ".jpg"


def _write_database(
    workspace: "Workspace",
    contents: Contents,
    pair_ids: Sequence[int],
    database: Path,
    address_of: dict[str, str],
) -> Manifest:
    """The database of the package; its manifest, which has no digest of it yet."""
    store = workspace.store
    home_identity = store.identity
    with _new_database(database) as packed:
        with store.reading() as home, packed.writing(large=True) as package:
            queries.packed_pairs.create(package.connection())
            queries.copy_dataset(home, package, contents.dataset_id)
            all_ids = frozenset(pair_ids)
            for part in chunks(pair_ids, queries.AT_ONCE):
                queries.copy_pairs(home, package, part, all_ids, address_of)
            dataset = dataset_queries.get_dataset(home, contents.dataset_id)
            manifest = Manifest(
                id=uuid.uuid4().hex,
                dataset=dataset.name,
                database=home_identity,
                reviewer=contents.reviewer,
                pairs=len(pair_ids),
                pictures=str(contents.thumbnails or ORIGINALS),
                sampling=contents.sampling,
                last_act=queries.last_act(package),
                created_at=now().isoformat(),
                program=VERSION,
            )
            setting_queries.set_setting(package, SETTING, manifest.as_json())
        _name_state(workspace, Store(packed), contents)
    return manifest


def _name_state(workspace: "Workspace", packed: Store, contents: Contents) -> None:
    """What the package holds now can be compared and restored later, as `packed`, where the program
    names states."""
    if "snapshot" in OPERATIONS:
        settings = replace(workspace.settings, author=contents.reviewer or "package")
        jobs = Jobs(packed, workspace.engines, settings, workspace.review)
        jobs.run("snapshot", contents.dataset_id, name="packed")


@contextmanager
def _new_database(path: Path) -> Iterator[Database]:
    """A new database with the tables of features, in one file once the block ends."""
    database = open_store(f"sqlite:///{path}")
    try:
        create_tables_of_features(database)
        yield database
    finally:
        database.close()


def pack_dataset(
    workspace: "Workspace",
    dataset_id: int,
    target: Path,
    queue: str = "",
    view: str | None = None,
    reviewers: Sequence[str] = (),
    overlap: float | None = None,
    thumbnails: int | None = None,
    progress: Progress = no_progress,
) -> list[PackReport]:
    """Pack a dataset, a queue or a view; of several reviewers a package each, `target` with their
    names. `overlap`: see `db.queries.dataset_queries.set_overlap`. Raises as `pack`; then the
    packages before the one that failed are there."""
    store = workspace.store
    review = workspace.review
    fields = review.queue_fields(dataset_id, queue, view)
    selection = review.select_pairs(dataset_id, queue, view)
    only = None if selection is None else selection.pair_ids
    is_all = fields is None or is_plain(review.filter_of(dataset_id, fields))
    targets = _targets(target, reviewers)
    dataset = store.read(dataset_queries.get_dataset, dataset_id)
    if overlap is not None:
        store.write(dataset_queries.set_overlap, dataset_id, overlap, dataset.overlap_people)
    pair_ids = store.read(queries.ids_in_random_order, dataset_id, only)
    shares = [pair_ids]
    if reviewers:
        shares = share_out(store, pair_ids, reviewers, dataset.overlap_people)
    sampling = AT_RANDOM if is_all else "filter"
    return [
        pack(
            workspace.seen_by(name or NOBODY),
            Contents(dataset_id, share, name, sampling, thumbnails),
            file,
            progress,
        )
        for (name, file), share in zip(targets, shares, strict=True)
    ]


def _targets(target: Path, reviewers: Sequence[str]) -> list[tuple[str, Path]]:
    """Who gets which file. Raises SettingsError for a name that nobody can have, or one twice."""
    stem = target.name.removesuffix(PACKED)
    if not reviewers:
        return [("", target.with_name(f"{stem}{PACKED}"))]
    targets: dict[Path, str] = {}
    for name in reviewers:
        if is_blank(name) or has_controls(name) or is_reserved(name) or len(name) > 255:
            raise SettingsError(f"'{name[:80]}' cannot be the name of a reviewer.")
        plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:80]
        file = target.with_name(f"{stem}-{plain}{PACKED}" if len(reviewers) > 1 else stem + PACKED)
        if file in targets:
            raise SettingsError(f"'{name}' and '{targets[file]}' would get the same file.")
        targets[file] = name
    for file in targets:
        if file.exists():
            raise SettingsError(f"{file} exists already. Give the name of a new file.")
    return [(name, file) for file, name in targets.items()]
