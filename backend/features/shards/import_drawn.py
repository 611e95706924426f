"""`import DESTINATION --top N`: what people will look at, of shards that `score --out` has scored.

Only the drawn pairs enter the store, with their probabilities, first steps and the detector that
ranks them: they need not be scored again, and verdicts on them train the next detector. A pair's id
is SHARD/ID. Pictures of a folder stay where they are; of those at an address only the drawn ones
are fetched, into the data folder, by the hash of their content.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlalchemy.orm import Session

from backend.datasets.cells import split_proof
from backend.datasets.read_options import PICTURES, where_to_state
from backend.datasets.safe_files.containers import SEPARATOR, Member, locate
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.datasets.safe_files.images import check_imported
from backend.datasets.safe_files.locations import Location, StoredFile
from backend.datasets.safe_files.regular_files import replacement
from backend.engine.claims.scored_caption import ScoredCaption
from backend.engine.detection.classifier import Classifier
from backend.errors import (
    DatasetError,
    DatasetFormatError,
    ImageError,
    SettingsError,
    TracedError,
)
from backend.features.shards.reports import DrawReport
from backend.features.shards.results import IMPORTED, claims_in, scored_caption_in
from backend.features.shards.shard_scores import (
    RUN_KEY,
    SET_ASIDE,
    detector_in,
    read_result,
    result_of,
    run_in,
    scored_shards,
)
from backend.jobs.dataset_reports import DRAWN, SAMPLED, SHOWN_PROBLEMS
from backend.jobs.import_dataset import BATCH
from backend.jobs.retrain import adopt
from backend.jobs.scoring.detect import DetectedPair, judge, suspects_in
from backend.jobs.scoring.stored_claims import CLAIMS, save_concreteness
from backend.jobs.scoring.stored_rows import claim_rows, expectation_row, save_scored, to_row
from backend.progress import Progress, no_progress
from backend.settings import Settings
from backend.store import Store
from backend.version import VERSION
from db.errors import MissingRow
from db.queries import (
    classifier_queries,
    dataset_queries,
    pair_queries,
    run_queries,
    trajectory_queries,
)
from db.queries.classifier_queries import ClassifierRow
from db.queries.dataset_queries import ProblemRow
from db.queries.pair_queries import NewPair
from db.queries.run_queries import RunRow

#: More pairs than anybody looks at, and than fit into memory.
MOST = 1_000_000
#: Pictures that are fetched or checked at once.
_AT_ONCE = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class Draw:
    """One of: the `top` most suspicious pairs; those with a chance of error of at least
    `above`; a random `share` of all."""

    top: int | None = None
    above: float | None = None
    share: float | None = None

    @property
    def kind(self) -> str:
        return DRAWN if self.share is None else SAMPLED


def import_drawn(
    store: Store,
    destination: str,
    draw: Draw,
    settings: Settings,
    name: str | None = None,
    progress: Progress = no_progress,
) -> DrawReport:
    """Import the drawn pairs of the results at `destination` as the dataset `name` (default: the
    destination's; of a sample with `-sample`).

    Pairs that are there keep their verdicts; if another detector ranks the results now, it ranks
    the dataset too. Fetched pictures take at most `settings.upload_limit`. Raises SettingsError for
    results that are missing, incomplete or of another dataset, DatasetNotFound if the source cannot
    be read, and DatasetFormatError if it has changed.
    """
    results = Location(destination)
    source = Location(run_in(results)["source"])
    shards = scored_shards(results, source)
    name = (name or (results.name if draw.share is None else f"{results.name}-sample")).strip()
    pictures = _Pictures(source, shards, settings, str(results))
    dataset_id = _dataset(store, name, str(results), pictures.root, draw)
    table, pairs, set_aside = _draw(results, list(shards), draw, progress)
    rows = table.to_pylist()
    if not rows:
        raise SettingsError(f"None of the {pairs:,} pairs in {results} is drawn.")
    present: dict[str, int] = {}
    if dataset_id is not None:
        present = store.read(pair_queries.ids_by_external_id, dataset_id, list(map(_id_of, rows)))
    new = [row for row in rows if _id_of(row) not in present]
    pictures.check_size(new)
    target = _DrawnPairs(store, name, dataset_id, results, pictures.root)
    problems: list[ProblemRow] = []
    for first in range(0, len(new), BATCH):
        batch = new[first : first + BATCH]
        paths = pictures.paths_of(batch)
        for row, path in zip(batch, paths, strict=True):
            if not isinstance(path, str):
                problems.append(
                    ProblemRow(row["shard"], None, "unreadable image", str(path), _id_of(row))
                )
        target.add([(r, p) for r, p in zip(batch, paths, strict=True) if isinstance(p, str)])
        progress(min(first + BATCH, len(new)), len(new), f"Importing {name}")
    if target.dataset_id is None:
        raise DatasetFormatError(f"No picture of {source} can be read. {problems[0].message}")
    classifier_id = target.finish(draw.kind, {"pairs": pairs, **vars(draw)}, problems)
    adopt(store, classifier_id, progress)
    return DrawReport(
        target.dataset_id, name, pairs, len(new) - len(problems), len(present), len(problems),
        tuple(problems[:SHOWN_PROBLEMS]), set_aside,
    )  # fmt: skip


def _id_of(row: Row) -> str:
    return f"{row['shard']}/{row['id']}"


def _dataset(store: Store, name: str, source: str, root: Path, draw: Draw) -> int | None:
    """The dataset of this name; None if there is none. Raises SettingsError if it is another."""
    with store.reading() as session:
        try:
            dataset = dataset_queries.get_dataset(session, name)
        except MissingRow:
            return None
        earlier = run_queries.latest_run(session, dataset.id, draw.kind)
    if (dataset.source, dataset.root) != (source, str(root)) or earlier is None:
        what = "a random sample" if draw.share is None else "no random sample"
        reason = f"is {what}" if dataset.source == source else f"is from {dataset.source}"
        raise SettingsError(f"The dataset '{name}' {reason}.", **where_to_state("name"))
    return dataset.id


def _draw(
    results: Location, shards: Sequence[str], draw: Draw, progress: Progress
) -> tuple[pa.Table, int, int]:
    """The drawn rows with the column `shard`, the number of all, and how many of them are set
    aside. Memory holds the drawn ones and one shard."""
    files = {file.name: file for file in results.files()}
    parts: list[pa.Table] = []
    pairs = row_count = aside = 0
    for number, shard in enumerate(shards, 1):
        with TemporaryDirectory() as folder:
            path = results.copy(files[result_of(shard)], Path(folder))
            if not set(IMPORTED) <= set(pq.read_schema(path).names):
                raise SettingsError(f"{results} was written by an earlier version. Score it again.")
            table = read_result(path, IMPORTED)
        row_count_before = table.num_rows
        pairs += row_count_before
        table = table.filter(pc.invert(table[SET_ASIDE])).drop_columns(SET_ASIDE)
        aside += row_count_before - table.num_rows
        if draw.share is not None:
            numbers = random.Random(shard)
            table = table.filter([numbers.random() < draw.share for _ in range(table.num_rows)])
        elif draw.above is not None:
            table = table.filter(pc.greater_equal(table["p_error"], draw.above))
        else:
            table = table.filter(pc.is_valid(table["p_error"]))
        names = pa.array([shard] * table.num_rows, pa.string())
        parts.append(table.append_column("shard", names))
        row_count += table.num_rows
        if draw.top is not None and row_count > 2 * draw.top:
            parts = [_top(parts, draw.top)]
            row_count = draw.top
        if row_count > MOST and draw.top is None:
            raise SettingsError(f"More than {MOST:,} pairs would be imported. Draw fewer.")
        progress(number, len(shards), f"Reading {shard}")
    table = pa.concat_tables(parts) if draw.top is None else _top(parts, draw.top)
    return table, pairs, aside


def _top(parts: Sequence[pa.Table], number: int) -> pa.Table:
    """The rows with the highest probability; of equal ones the first."""
    table = pa.concat_tables(parts)
    order = pc.sort_indices(table, [("p_error", "descending")])  # stable
    return table.take(order[:number])


class _Pictures:
    """The drawn pairs' pictures: where they are, below `root`."""

    def __init__(
        self, source: Location, shards: dict[str, StoredFile], settings: Settings, results: str
    ) -> None:
        self._source, self._shards = source, shards
        self._most = settings.upload_limit * 1e9
        if source.is_local:
            self.root = source.folder if source.folder.is_dir() else source.folder.parent
        else:
            plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in results)
            self.root = settings.data_directory.resolve() / "fetched" / f"{plain}-pictures"
        self._bytes = 0

    def check_size(self, rows: Sequence[Row]) -> None:
        """Raise SettingsError if these pictures are too many to fetch."""
        if self._source.is_local:
            return
        self._bytes = sum(path.stat().st_size for path in self.root.glob("*/*"))
        self._check(sum(end - start for start, end in filter(None, map(_span, rows))))

    def _check(self, further: int) -> None:
        if self._bytes + further > self._most:
            raise SettingsError(
                f"The pictures take {(self._bytes + further) / 1e9:.1f} GB, more than fits "
                f"(upload_limit: {self._most / 1e9:g} GB). Draw fewer pairs."
            )

    def paths_of(self, rows: Sequence[Row]) -> list[str | TracedError]:
        """The paths below the root, or why a picture cannot be had."""
        ways = {self._path_of(row): row for row in rows}  # pairs may share a picture
        with DaemonPool(_AT_ONCE) as pool:
            problems = dict(zip(ways, pool.map(self._try, list(ways.items())), strict=True))
        return [problems[path] or path for path in map(self._path_of, rows)]

    def _path_of(self, row: Row) -> str:
        if self._source.is_local:
            return (PurePosixPath(row["shard"]).parent / row["picture"]).as_posix()
        place, proof = split_proof(row["picture"])
        ending = PurePosixPath(place).suffix.lower()
        return f"{proof[:2]}/{proof}{ending if ending in PICTURES else ''}#{proof}"

    def _try(self, way: tuple[str, Row]) -> TracedError | None:
        path, row = way
        try:
            if not self._source.is_local:
                self._fetch(self.root / split_proof(path)[0], row)
            check_imported(locate(self.root, path))
        except (DatasetError, ImageError) as problem:
            return problem
        return None

    def _fetch(self, target: Path, row: Row) -> None:
        if target.is_file():
            return
        shard = self._shards[row["shard"]]
        if (span := _span(row)) is not None:
            content = self._source.part(shard, *span)
        else:
            with TemporaryDirectory() as folder:
                file = self._source.copy(shard, Path(folder))
                image = locate(file.parent, row["picture"])
                if not isinstance(image, Member):
                    raise ImageError(f"'{image.name}' lies in no shard.")
                content = image.read()
            self._check(len(content))
            self._bytes += len(content)
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacement(target, is_flushed=False) as part:
            part.write_bytes(content)


def _span(row: Row) -> tuple[int, int] | None:
    """Where a picture begins and ends in its tar; None in another container."""
    outer, _, inner = row["picture"].partition(SEPARATOR)
    start, _, size = inner.partition("/")[0].partition("+")
    return (int(start), int(start) + int(size)) if outer.endswith(".tar") else None


class _DrawnPairs:
    """The dataset; a new one begins with its first pairs."""

    def __init__(
        self, store: Store, name: str, dataset_id: int | None, results: Location, root: Path
    ) -> None:
        self.dataset_id = dataset_id
        self._store, self._name, self._results, self._root = store, name, results, root
        self._run = run_in(results)
        self._detector = detector_in(results)
        self._classifier = Classifier.from_bytes(self._detector.payload)

    def add(self, rows: Sequence[tuple[Row, str]]) -> None:
        """Add pairs, as (row, picture), with everything that is known about them, or nothing."""
        if not rows:
            return
        pairs = [
            NewPair(_id_of(row), picture, row["caption"], row["split"], row["shard"])
            for row, picture in rows
        ]
        captions = [scored_caption_in(row) for row, _ in rows]
        with self._store.writing() as session:
            if self.dataset_id is None:
                dataset = dataset_queries.create_dataset(
                    session, self._name, str(self._results), str(self._root)
                )
                self.dataset_id = dataset.id
                dataset_queries.remember_models(session, dataset.id, self._run["models"])
            run = self._run_of(session)
            pair_queries.add_pairs(session, self.dataset_id, pairs)
            id_of = pair_queries.ids_by_external_id(
                session, self.dataset_id, [pair.external_id for pair in pairs]
            )
            ids = [id_of[pair.external_id] for pair in pairs]
            by_id = list(zip(ids, captions, strict=True))
            claims = [(i, claim) for i, caption in by_id for claim in caption.claims]
            save_scored(
                session, run.id, [to_row(i, c.trajectory, c.claim) for i, c in claims],
                {i: claim_rows(i, claims_in(row)) for i, (row, _) in zip(ids, rows, strict=True)},
            )  # fmt: skip
            trajectory_queries.save_expectations(
                session, run.id,
                {(i, c.claim.start): expectation_row(c.trajectory.expectation)
                 for i, c in claims if c.trajectory.expectation is not None},
            )  # fmt: skip
            save_concreteness(
                session,
                {i: (row["icc"], {cells["start"]: cells["icc"] for cells in row[CLAIMS]})
                 for i, (row, _) in zip(ids, rows, strict=True) if row["icc"] is not None},
            )  # fmt: skip
            classifier = self._classifier_of(session, run.id)
            if not classifier.active:
                return
            row_of = {pair.id: pair for pair in pair_queries.pairs_of(session, ids)}
            judge(
                session, run, classifier.id, [row_of[i] for i in ids], captions,
                [self._read_detected(c, row) for c, (row, _) in zip(captions, rows, strict=True)],
            )  # fmt: skip

    def _read_detected(self, caption: ScoredCaption, row: Row) -> DetectedPair:
        """What the run found."""
        chances = [claim.p_error for claim in caption.claims]
        words = suspects_in(self._classifier, row["caption"], caption, row["p_error"], chances)
        return DetectedPair(
            row["p_error"],
            {cells["start"]: cells["p_error"] for cells in row[CLAIMS]
             if cells["p_error"] is not None},
            tuple((word.start, word.end, word.score) for word in words),
        )  # fmt: skip

    def _run_of(self, session: Session) -> RunRow:
        return run_queries.find_or_start(
            session, kind="score", dataset_id=self.dataset_id, code_version=self._run["version"],
            **{name: self._run[name] for name in RUN_KEY},
        )  # fmt: skip

    def _classifier_of(self, session: Session, run_id: int) -> ClassifierRow:
        """The detector as one of the dataset's classifiers; it ranks the dataset if none does."""
        assert self.dataset_id is not None
        detector = self._detector
        rows = classifier_queries.list_classifiers(session, self.dataset_id)
        for row in rows:
            if classifier_queries.get_payload(session, row.id) == detector.payload:
                return row
        row = classifier_queries.add_classifier(
            session, self.dataset_id, name=self._results.name, kind=detector.kind,
            basis="verdicts" if detector.report.get("verdicts") else "injected",
            payload=detector.payload, report={**detector.report, "run": run_id},
        )  # fmt: skip
        return row if rows else classifier_queries.activate(session, row.id)

    def finish(self, kind: str, facts: Row, problems: Sequence[ProblemRow]) -> int:
        """Record the draw; returns the detector's classifier, which may not rank the dataset
        yet."""
        assert self.dataset_id is not None
        with self._store.writing() as session:
            run = self._run_of(session)
            run_queries.finish_run(session, run.id)
            draw = run_queries.start_run(
                session, kind=kind, dataset_id=self.dataset_id, code_version=VERSION,
                **{name: self._run[name] for name in RUN_KEY if name != "parameters"},
                parameters=facts,
            )  # fmt: skip
            run_queries.finish_run(session, draw.id)
            dataset_queries.clear_problems(session, self.dataset_id)
            dataset_queries.add_problems(session, self.dataset_id, problems)
            return self._classifier_of(session, run.id).id
