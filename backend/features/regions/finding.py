"""Where the suspect words of captions are in their pictures: computed when they are wanted, stored.

Regions are committed batch by batch under a run of the dataset's model, so that the same command
resumes after a kill, and a page that needs another word adds it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from backend.counts import count_of
from backend.datasets.safe_files.images import to_rgb
from backend.engine.detection.localisation import most_suspect
from backend.errors import ImageError, NotScored, SettingsError
from backend.features.regions import queries
from backend.features.regions.part_maps import check_sees_parts
from backend.features.regions.region import VERSION as METHOD
from backend.features.regions.region import Region, Search, Span, regions_of
from backend.jobs.scoring.dataset_constants import constants_before
from backend.jobs.scoring.image_batches import open_ahead, open_picture, readable
from backend.jobs.scoring.stored_claims import KnownClaim, known_claims
from backend.jobs.scoring.stored_rows import to_suspects
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.review.verdicts import LONGEST_EDIT
from backend.store import Store
from backend.version import VERSION
from db.queries import dataset_queries, detection_queries, pair_queries, run_queries
from db.queries.pair_queries import PairRow

#: Pairs whose regions are committed together: the most work that a kill can lose.
BATCH: int = 48
#: Pairs whose pictures the model reads together. Pages wait for it as long as that takes.
TOGETHER = 8


@dataclass(frozen=True)
class RegionsReport:
    """The regions of `words` suspect words were computed now; for `absent` of them nothing in the
    picture speaks. `unreadable`: pairs whose picture could not be read."""

    dataset_id: int
    words: int
    absent: int
    unreadable: int
    seconds: float
    run_id: int

    def in_words(self) -> str:
        words = (
            f"Looked for {count_of(self.words, 'suspect word')} in the pictures: nothing speaks "
            f"for {self.absent:,} of them; {self.seconds:.0f} s."
        )
        if self.unreadable:
            words += f" {count_of(self.unreadable, 'picture')} could not be read."
        return words


def find_regions(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> RegionsReport:
    """Compute the missing regions of each pair's top suspects (`most_suspect`).

    Raises NotScored, ModelMismatch if the model cannot leave out parts of a picture,
    ModelUnavailable.
    """
    start = time.monotonic()
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        _, scored_count = pair_queries.totals(session, dataset_id)
    if not scored_count:
        raise NotScored(f"'{dataset.name}' is not scored yet. Score it first.")
    key = _key(engine, dataset_id)
    run = store.read(run_queries.find_run, **key) or store.write(run_queries.start_run, **key)
    run_id = run.id
    words = absent = unreadable = done = 0
    spans_of: dict[int, list[Span]] = {}

    def waiting() -> Iterator[Sequence[PairRow]]:
        for pairs in store.batches(
            lambda session, after: pair_queries.pairs_after(session, dataset_id, after, BATCH)
        ):
            spans_of.update(_missing(store, run_id, pairs))
            yield [pair for pair in pairs if pair.id in spans_of]

    for batch, pictures in open_ahead(Path(dataset.root), waiting()):
        pairs = readable(batch, pictures)
        claims = store.read(known_claims, [pair for pair, _ in pairs])
        regions: dict[int, list[queries.RegionRow]] = {}
        for first in range(0, len(pairs), TOGETHER):
            part = pairs[first : first + TOGETHER]
            searches = [
                _search(image, pair, claims.get(pair.id, ()), spans_of[pair.id])
                for pair, image in part
            ]
            for (pair, _), of_pair in zip(part, _regions(engine, searches), strict=True):
                regions[pair.id] = _rows(of_pair)
        store.write(queries.add_regions, run_id, regions)
        every = [region for rows in regions.values() for region in rows]
        words += len(every)
        absent += sum(region.box is None for region in every)
        unreadable += len(batch) - len(pairs)
        done += BATCH
        progress(min(done, scored_count), scored_count, "Looking for words in pictures")
    store.write(run_queries.finish_run, run_id)
    return RegionsReport(dataset_id, words, absent, unreadable, time.monotonic() - start, run_id)


def regions_of_pair(
    store: Store, engine: Engine, pair_id: int, span: Span | None = None, may_write: bool = True
) -> tuple[queries.RegionRow, ...]:
    """The regions of the words at `span`, in characters of the pair's caption, or else of its top
    suspects: those that are stored, and the others computed now, and stored if `may_write`. None of
    words that the model does not read. Raises as `find_regions`, ImageError, and SettingsError for
    a span that the caption does not have."""
    with store.reading() as session:
        pair, dataset = dataset_queries.pair_and_dataset(session, pair_id)
        claims = known_claims(session, [pair]).get(pair_id, ())
    if span is not None and not 0 <= span[0] < span[1] <= len(pair.caption):
        raise SettingsError(f"The caption has no characters {span[0]} to {span[1]}.")
    key = _key(engine, pair.dataset_id)
    run = store.read(run_queries.find_run, **key)
    spans = [span] if span is not None else _top_suspects(store, [pair]).get(pair_id, [])
    rows = store.read(queries.of_run, run.id, [pair_id]).get(pair_id, ()) if run else ()
    of_span = {(region.start, region.end): region for region in rows}
    if missing := [each for each in spans if each not in of_span]:
        image = open_picture(Path(dataset.root), pair.image_path)
        if isinstance(image, str):
            raise ImageError(image)
        new = _rows(*_regions(engine, [_search(image, pair, claims, missing)]))
        if may_write:
            run_id = (run or store.write(run_queries.start_run, **key)).id
            store.write(queries.add_regions, run_id, {pair_id: new})
        of_span |= {(region.start, region.end): region for region in new}
    return tuple(of_span[each] for each in spans if each in of_span)


def look_in(
    store: Store,
    engine: Engine,
    image: Image.Image,
    caption: str,
    spans: Sequence[Span],
    dataset_id: int | None = None,
) -> list[queries.RegionRow]:
    """Where in an image these words of a caption are, in its characters; nothing is stored. The
    caption is divided as Try one picture does it. Raises ModelMismatch if the model cannot leave
    out parts of a picture."""
    constants = constants_before(store, dataset_id) if dataset_id is not None else ()
    every = engine.claims(caption[:LONGEST_EDIT], "auto", constants)
    claims = [(claim.start, claim.end) for claim in every]
    return _rows(*_regions(engine, [Search(to_rgb(image), caption, claims, spans)]))


def _key(engine: Engine, dataset_id: int) -> dict[str, Any]:
    """Of the run that has the regions by the dataset's model. Raises ModelMismatch."""
    check_sees_parts(engine.scorer)
    info = engine.scorer.info
    return {
        "kind": queries.KIND, "dataset_id": dataset_id, "scorer_kind": info.kind,
        "model": info.model, "revision": info.revision, "explorer": "", "code_version": VERSION,
        "parameters": {"method": METHOD, "precision": info.precision},
    }  # fmt: skip


def _missing(store: Store, run_id: int, pairs: Sequence[PairRow]) -> dict[int, list[Span]]:
    """The top suspects without a region, of each pair that has some."""
    of_run = store.read(queries.of_run, run_id, [pair.id for pair in pairs])
    missing: dict[int, list[Span]] = {}
    for pair_id, spans in _top_suspects(store, pairs).items():
        present = {(region.start, region.end) for region in of_run.get(pair_id, ())}
        if rest := [span for span in spans if span not in present]:
            missing[pair_id] = rest
    return missing


def _top_suspects(store: Store, pairs: Sequence[PairRow]) -> dict[int, list[Span]]:
    detections = store.read(detection_queries.detections_of, [pair.id for pair in pairs])
    return {
        pair.id: [
            (word.start, word.end)
            for word in most_suspect(pair.caption, to_suspects(detections[pair.id]))
        ]
        for pair in pairs
        if pair.id in detections
    }


def _search(
    image: Image.Image, pair: PairRow, claims: Sequence[KnownClaim], spans: Sequence[Span]
) -> Search:
    parts = [(each.claim.start, each.claim.end) for each in claims] or [(0, len(pair.caption))]
    return Search(image, pair.caption, parts, spans)


def _rows(regions: Mapping[Span, Region]) -> list[queries.RegionRow]:
    return [queries.RegionRow(*span, region.box, region.weight) for span, region in regions.items()]


def _regions(engine: Engine, searches: Sequence[Search]) -> list[dict[Span, Region]]:
    with engine.computing() as scorer:
        return regions_of(scorer, searches)
