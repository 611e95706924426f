"""Captions of other rows as suggestions, for pairs that are likely wrong one by one."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from backend.engine.correction.suggestion import CorrectionContext
from backend.features.rows.queries import CaptionState, prepared_pairs, states_of
from backend.jobs.correct_queue import PairCorrector, pages
from backend.jobs.scoring.dataset_models import scored_by_this_model
from backend.jobs.scoring.stored_rows import ORIGIN, to_save
from backend.jobs.scoring.suggest import likely_wrong
from backend.jobs.scoring.vectors import image_file
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import suggestion_queries
from db.queries.queue_queries import QueueFilter, QueueRow
from db.texts import is_blank

#: The name of who suggests them; stored with each, and shown.
PROPOSER = "another row"


def remember_better(
    store: Store, engine: Engine, dataset_id: int, better: Sequence[tuple[int, int]]
) -> None:
    """Keep which captions fit which pictures better, as (pair, pair that has the caption), until
    the pairs are ranked."""
    np.save(_file(store, engine, dataset_id), np.array(better, np.int64).reshape(-1, 2))


def _file(store: Store, engine: Engine, dataset_id: int) -> Path:
    run = scored_by_this_model(store, engine, dataset_id)
    return image_file(store, engine, run).with_suffix(".rows.npy")


def suggest_captions(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> int:
    """Store for each pair that is likely wrong the caption that fits its picture better, judged
    like any other suggestion; returns how many."""
    if not (file := _file(store, engine, dataset_id)).exists():
        return 0
    likely = set(likely_wrong(store, dataset_id))
    origins = {to: of for to, of in np.load(file).tolist() if to in likely}
    if not origins:
        return 0
    corrector = PairCorrector(store, engine, dataset_id, None, is_prompted=False)
    prepared = store.read(prepared_pairs, list(origins), corrector.run.id)
    origins = {to: of for to, of in origins.items() if to in prepared}
    states = store.read(states_of, sorted({*origins, *origins.values()}))
    count = done = 0
    for rows in pages(store, QueueFilter(dataset_id, among=tuple(origins))) if origins else ():
        for row, context in corrector.contexts(rows):
            if isinstance(context, CorrectionContext):
                origin = states[origins[row.pair_id]]
                count += _suggest(store, corrector, row, context, origin)
            done += 1
            progress(done, len(origins), "Comparing captions of other rows")
    return count


def _suggest(
    store: Store,
    corrector: PairCorrector,
    row: QueueRow,
    context: CorrectionContext,
    origin: CaptionState,
) -> int:
    """Captions of several claims are corrected claim by claim; a whole caption replaces none."""
    text = origin.own_text
    is_divided = context.claim is not None and context.claim.kind != "whole"
    if is_divided or row.decision is not None or is_blank(text) or text == row.caption:
        return 0
    suggestions = corrector.judge(context, {text: PROPOSER}, keep=False)
    notes = [f"the caption of {origin.external_id}"]
    rows = [
        to_save(row.pair_id, each, corrector.run.id, {ORIGIN: origin.pair_id, "notes": notes})
        for each in suggestions
    ]
    store.write(suggestion_queries.save_suggestions, rows)
    return len(rows)
