"""Captions of other rows as suggestions, for pairs that are likely wrong one by one."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from backend.datasets.reading.pair_checks import pair_name
from backend.engine.correction.suggestion import CorrectionContext
from backend.features.rows.queries import CaptionState, forget_kind, prepared_pairs, states_of
from backend.features.rows.search import Elsewhere, Search
from backend.jobs.pair_contexts import PairContexts
from backend.jobs.queue_pages import pages
from backend.jobs.scoring.stored_rows import NAME, ORIGIN, to_save
from backend.jobs.scoring.suggest import likely_wrong
from backend.jobs.scoring.vectors import image_file
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import suggestion_queries
from db.queries.queue_filter import QueueFilter, QueueRow
from db.queries.run_queries import RunRow
from db.queries.suggestion_queries import ELSEWHERE, NewSuggestion
from db.texts import is_blank

#: The name of who suggests them; stored with each, and shown.
PROPOSER = "another row"


def remember_single_rows(store: Store, engine: Engine, run: RunRow, search: Search) -> None:
    """Keep which captions fit which pictures better, until the pairs are ranked."""
    np.savez(
        _file(store, engine, run),
        better=np.concatenate([np.zeros((0, 2), np.int64), *search.better]),
        elsewhere=np.concatenate([np.zeros((0, 4)), *search.elsewhere]),
    )


def _file(store: Store, engine: Engine, run: RunRow) -> Path:
    return image_file(store, engine, run).with_suffix(".rows.npz")


def suggest_captions(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> int:
    """Store for each pair that is likely wrong the caption that fits its picture better, judged
    like any other suggestion, and which picture its own caption fits better; returns how many
    captions."""
    pairs = PairContexts(store, engine, dataset_id)
    if not (file := _file(store, engine, pairs.run)).exists():
        return 0
    prepared = store.read(prepared_pairs, likely_wrong(store, dataset_id), pairs.run.id)
    with np.load(file) as arrays:
        better, elsewhere = (
            rows[np.isin(rows[:, 0], list(prepared))].tolist()
            for rows in (arrays["better"], arrays["elsewhere"])
        )
    _point_elsewhere(store, pairs.run.id, elsewhere)
    origins = dict(better)
    states = store.read(states_of, sorted({*origins, *origins.values()}))
    count = done = 0
    for rows in pages(store, QueueFilter(dataset_id, among=tuple(origins))) if origins else ():
        for row, context in pairs.of(rows):
            if isinstance(context, CorrectionContext):
                origin = states[origins[row.pair_id]]
                count += _suggest(store, pairs, row, context, origin)
            done += 1
            progress(done, len(origins), "Comparing captions of other rows")
    return count


def _point_elsewhere(store: Store, run_id: int, rows: Sequence[Sequence[float]]) -> None:
    """Store which pictures these captions fit better, in place of what was said before."""
    places = [Elsewhere(int(row[0]), int(row[1]), row[2], row[3]) for row in rows]
    states = store.read(states_of, sorted({pair for place in places for pair in place[:2]}))
    suggestions = [
        NewSuggestion(
            place.pair, PROPOSER, states[place.pair].caption, place.own_likeness,
            place.likeness, run_id=run_id, kind=ELSEWHERE,
            provenance={ORIGIN: place.picture, NAME: states[place.picture].external_id},
        )
        for place in places
        if states[place.pair].corrected_caption is None
    ]  # fmt: skip
    with store.writing() as session:  # at once: a page never sees that there are none
        forget_kind(session, run_id, ELSEWHERE)
        suggestion_queries.save_suggestions(session, suggestions)


def _suggest(
    store: Store,
    pairs: PairContexts,
    row: QueueRow,
    context: CorrectionContext,
    origin: CaptionState,
) -> int:
    """Captions of several claims are corrected claim by claim; a whole caption replaces none."""
    text = origin.own_text
    is_divided = context.claim is not None and context.claim.kind != "whole"
    if is_divided or row.decision is not None or is_blank(text) or text == row.caption:
        return 0
    suggestions = pairs.judge(context, {text: PROPOSER}, keep=False)
    notes = [f"{pair_name(origin.external_id)}’s caption"]
    rows = [
        to_save(row.pair_id, each, pairs.run.id, {ORIGIN: origin.pair_id, "notes": notes})
        for each in suggestions
    ]
    store.write(suggestion_queries.save_suggestions, rows)
    return len(rows)
