"""Support: the contribution of each phrase to a scored pair's match, and the pair's own score.

Phrases are committed batch by batch under a run (model, nonces, rules), so that the same command
resumes after a kill; the pairs' column is computed from the stored values at the end, because its
normalisation needs the whole pool.
"""

import re
import time
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.counts import counted
from backend.engine.constants.part import blank_out, left_out
from backend.engine.english.phrases import KINDS, is_spaced
from backend.engine.phrases import nonce
from backend.engine.phrases.attribution import PhraseScore, check_scorer
from backend.engine.phrases.nonce import NoncePools
from backend.engine.statistics.highest import highest_share
from backend.errors import SettingsError
from backend.features.phrases import queries
from backend.features.phrases.languages import english_share, other_languages_share
from backend.features.phrases.normalisation import Normalisation, PoolMoments
from backend.features.phrases.report import SupportReport
from backend.jobs.scoring.dataset_constants import constants_before
from backend.jobs.scoring.image_batches import encode_opened, open_ahead
from backend.jobs.scoring.phrase_attribution import nonce_pools, phrase_scores
from backend.jobs.selection_criteria import ALIGN_SHARE
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.version import VERSION
from db.queries import dataset_queries, pair_queries, phrase_queries, run_queries
from db.queries.dataset_queries import ProblemRow
from db.queries.phrase_queries import LONGEST, PhraseRow
from db.queries.run_queries import RunRow

#: Pairs encoded, queried and committed together: the most work that a kill can lose.
BATCH: int = 48
#: Problem kind for an image that was scored but can no longer be read.
UNREADABLE = "unreadable image"
#: Number of captions sampled to decide whether a dataset is in English.
_SAMPLE = 1000


def measure_support(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> SupportReport:
    """Compute the missing attributions of all scored pairs, then every pair's support.

    Raises SettingsError for LEMoN and if the dataset is not scored, ModelUnavailable.
    """
    start = time.monotonic()
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        total, scored_count = pair_queries.totals(session, dataset_id)
    if not scored_count:
        raise SettingsError(
            f"'{dataset.name}' has no scores yet.",
            terminal=f"Score it first: python app.py score {dataset.name} --support",
            page="Score it under Add data first.",
        )
    check_scorer(engine.scorer)
    pools, other_languages, notes = _pools_for(store, engine, dataset_id, total)
    run = _run(store, engine, dataset_id, pools, other_languages)
    computed_count, phrase_count, covered_count = _attribute(
        store, engine, run, pools, Path(dataset.root), scored_count, progress
    )
    progress(0, 0, "Normalising support")
    untested_count = write_support(store, dataset_id, run.id)
    store.write(run_queries.finish_run, run.id)
    return SupportReport(
        dataset_id=dataset_id, pairs=total, computed=computed_count, untested=untested_count,
        phrases=phrase_count, covered=covered_count, seconds=time.monotonic() - start,
        run_id=run.id, notes=notes,
    )  # fmt: skip


def to_rows(scores: Sequence[PhraseScore]) -> list[PhraseRow]:
    """As store rows; phrases beyond the store's maximum caption length are left out."""
    return [
        PhraseRow(
            score.phrase.start, score.phrase.end, score.phrase.head_start, score.phrase.head_end,
            KINDS.index(score.phrase.kind), score.pas, score.spread, score.basis,
        )
        for score in scores
        if score.phrase.end <= LONGEST
    ]  # fmt: skip


# -------------------------------------------------------------------------------- stages


def _pools_for(
    store: Store, engine: Engine, dataset_id: int, total: int
) -> tuple[NoncePools, float, tuple[str, ...]]:
    """The scorer's nonces, except words that occur in the dataset; the share of captions that are
    not English; and notes for the user."""
    pools = nonce_pools(engine)
    words = pools.words()
    dataset_words: set[str] = set()
    sample: list[str] = []
    unspaced_count = 0
    for batch in store.batches(
        lambda session, after: queries.captions_after(session, dataset_id, after, 5000),
        itemgetter(0),
    ):
        captions = [caption for _, caption in batch]
        for caption in captions:
            dataset_words |= words.intersection(re.findall(r"[a-z]+", caption.lower()))
            unspaced_count += not is_spaced(caption)
        sample += captions[:: -(-total // _SAMPLE)]  # from all parts: files are often sorted
    notes = []
    if unspaced_count:
        notes.append(
            f"{counted(unspaced_count, 'caption is', 'captions are')} in a script without spaces: "
            "only English phrases are recognised"
        )
    other_languages = other_languages_share(sample)
    if english_share(sample) < 0.5:
        notes.append("most words are not English: phrases are recognised by English rules")
    elif other_languages > 0.5:
        notes.append("most captions are not English: phrases are recognised by English rules")
    if engine.scorer.info.limits:
        notes.append(engine.scorer.info.limits)
    if in_use := sorted(pools.in_use()):
        notes.append(
            f"{len(in_use)} of {len(words)} nonces occur in text, if rarely: {', '.join(in_use)}"
        )
    if pools.closed:
        notes.append("this model maps all nonces to one unknown token")
    return pools.without(dataset_words), other_languages, tuple(notes)


def _run(
    store: Store, engine: Engine, dataset_id: int, pools: NoncePools, other_languages: float
) -> RunRow:
    info = engine.scorer.info
    constants = [part.text for part in left_out(constants_before(store, dataset_id))]
    with store.writing() as session:
        run = run_queries.find_or_start_by(
            session,
            info,
            kind=phrase_queries.KIND,
            dataset_id=dataset_id,
            explorer="",
            code_version=VERSION,
            parameters={
                "nonces": pools.digest,
                "per_phrase": pools.per_phrase,
                "basis": info.auxiliary or "s",
                "limits": info.limits,
                "version": nonce.VERSION,
                **({"precision": info.precision} if info.precision != "float32" else {}),
                **({"constants": constants} if constants else {}),
            },
        )
        return run_queries.record_observed(session, run.id, other_languages=other_languages)


def _attribute(
    store: Store,
    engine: Engine,
    run: RunRow,
    pools: NoncePools,
    root: Path,
    total: int,
    progress: Progress,
) -> tuple[int, int, int]:
    """(pairs computed now, their phrases, the number of testable phrases)."""
    computed_count = phrase_count = covered_count = 0
    reported_names: set[str] = set()
    dataset_id = run.dataset_id or 0
    constants = left_out(constants_before(store, dataset_id))
    waiting = store.batches(
        lambda session, after: pair_queries.pairs_of(
            session,
            queries.pairs_without_phrases(session, dataset_id, run.id, after, BATCH),
        )
    )
    for batch, pictures in open_ahead(root, waiting):
        with engine.lock:
            states, broken = encode_opened(engine, pictures)
        readable = [pair for pair in batch if pair.image_path in states]
        texts = [(states[p.image_path], blank_out(p.caption, constants)) for p in readable]
        scores = phrase_scores(engine, pools, texts)
        problems = [
            ProblemRow(name, None, UNREADABLE, message)
            for name, message in broken.items()
            if name not in reported_names
        ]
        reported_names |= broken.keys()
        with store.writing() as session:
            queries.save_phrase_scores(
                session,
                run.id,
                {p.id: to_rows(phrases) for p, phrases in zip(readable, scores, strict=True)},
            )
            dataset_queries.add_problems(session, dataset_id, problems)
        computed_count += len(readable)
        phrase_count += sum(map(len, scores))
        covered_count += sum(score.covered for phrases in scores for score in phrases)
        progress(min(computed_count, total), total, "Support of phrases")
    return computed_count, phrase_count, covered_count


# -------------------------------------------------------------------------------- the column


def write_support(store: Store, dataset_id: int, run_id: int) -> int:
    """Support and weakest phrase of every pair, normalised over the pool of stage one; returns the
    number of pairs without a testable phrase."""
    ids, s_0 = store.read(queries.matches, dataset_id)
    pool = highest_share(s_0, ~np.isnan(s_0), ALIGN_SHARE)
    scale = normalisation_over(store, run_id, ids, pool)
    support, weakest = support_of(store, run_id, ids, scale)
    for first in range(0, len(ids), 5000):
        part = slice(first, first + 5000)
        with store.writing() as session:
            queries.save_support(
                session,
                {
                    pair: (None, None) if np.isnan(mean) else (mean, least)
                    for pair, mean, least in zip(
                        ids[part].tolist(), support[part].tolist(), weakest[part].tolist(),
                        strict=True,
                    )
                },
            )  # fmt: skip
    store.write(run_queries.record_observed, run_id, means=list(scale.means))
    return int(np.isnan(support).sum())


def normalisation_over(
    store: Store, run_id: int, ids: NDArray[np.int64], pool: NDArray[np.bool_]
) -> Normalisation:
    """The normalisation over `pool`, a mask of the pairs `ids` (ascending), both [pairs]."""
    moments = PoolMoments()
    for row, kinds, values in _phrases_of(store, run_id, ids):
        if pool[row]:
            moments.add(kinds, values)
    return moments.normalisation()


def support_of(
    store: Store, run_id: int, ids: NDArray[np.int64], scale: Normalisation
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(support, weakest) of the pairs `ids` (ascending), both [pairs]; NaN if there is no testable
    phrase."""
    support, weakest = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    for row, kinds, values in _phrases_of(store, run_id, ids):
        mean, least = scale.support(kinds, values)
        if mean is not None and least is not None:
            support[row], weakest[row] = mean, least
    return support, weakest


def _phrases_of(
    store: Store, run_id: int, ids: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.uint8], NDArray[np.float32]]]:
    """(row in `ids`, kinds, attributions) of those of the pairs `ids` that the run has."""
    with store.reading() as session:
        for pair_id, kinds, values in phrase_queries.iterate(session, run_id):
            row = int(np.searchsorted(ids, pair_id))
            if row < len(ids) and ids[row] == pair_id:
                yield row, kinds, values
