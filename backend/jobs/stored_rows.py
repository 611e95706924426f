"""Convert trajectories, expectations and suggestions between engine and store rows, and rank the
suggestions of several proposers."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy.orm import Session

from backend.engine.captions import Caption
from backend.engine.correction.suggestion import Suggestion, ranked
from backend.engine.detection.types import SuspectWord
from backend.engine.expectation import Expectation
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from backend.store import Store
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import trajectories as trajectory_queries
from db.queries.detections import DetectionRow
from db.queries.pairs import PairRow
from db.queries.runs import RunRow
from db.queries.statements import chunks
from db.queries.suggestions import NewSuggestion, SuggestionRow
from db.queries.trajectories import ExpectationRow, TrajectoryRow


def expectation_row(expectation: Expectation, alternatives: bool = True) -> ExpectationRow:
    """`alternatives`: whether to store them; only needed if they may be shown."""
    alternative_words = expectation.alternatives if alternatives else ()
    return ExpectationRow(
        expectation.log_p, expectation.distance, alternative_words, expectation.captioner
    )


#: Pairs read from the store per batch if no model is involved.
AT_ONCE = 500


def exploring_of(run: RunRow) -> Exploring:
    """How the run computed its trajectories; only those computed the same way are comparable."""
    return Exploring.recorded(run.explorer, run.parameters)


def scored_pairs(
    store: Store, run: RunRow, pair_ids: Sequence[int]
) -> tuple[list[PairRow], list[Trajectory]]:
    """The pairs that have a trajectory under this run, with it, in import order."""
    pairs: list[PairRow] = []
    trajectories: list[Trajectory] = []
    for part in chunks(pair_ids, AT_ONCE):
        with store.reading() as session:
            batch = _with_trajectories(session, run, pair_queries.pairs_of(session, part))
        pairs += batch[0]
        trajectories += batch[1]
    return pairs, trajectories


def _with_trajectories(
    session: Session, run: RunRow, pairs: Sequence[PairRow]
) -> tuple[list[PairRow], list[Trajectory]]:
    rows = trajectory_queries.trajectories_of(session, run.id, [pair.id for pair in pairs])
    pairs_scored = [pair for pair in pairs if pair.id in rows]
    return pairs_scored, [
        to_trajectory(pair.caption, rows[pair.id], pair.second_opinion) for pair in pairs_scored
    ]


def scored_batches(store: Store, run: RunRow) -> Iterator[tuple[list[PairRow], list[Trajectory]]]:
    """All pairs that have a trajectory under this run, hidden ones too, in import order, in
    batches: memory use is independent of the dataset size."""
    after = 0
    while True:
        with store.reading() as session:
            batch = pair_queries.pairs_after(
                session, run.dataset_id or 0, after, AT_ONCE, with_hidden=True
            )
            batch_with_trajectories = _with_trajectories(session, run, batch)
        if not batch:
            return
        after = batch[-1].id
        if batch_with_trajectories[0]:
            yield batch_with_trajectories


def latest_batches(
    store: Store, dataset_id: int
) -> Iterator[tuple[list[PairRow], list[Trajectory]]]:
    """`scored_batches` of the dataset's latest scoring; nothing if it was never scored."""
    run = store.read(run_queries.latest_run, dataset_id, "score")
    if run is not None:
        yield from scored_batches(store, run)


def to_row(pair_id: int, trajectory: Trajectory) -> TrajectoryRow:
    return TrajectoryRow(
        pair_id,
        trajectory.scores,
        trajectory.similarities,
        trajectory.removed,
        trajectory.first_step_scores,
        trajectory.truncated,
        trajectory.captions,
        (auxiliary.scores, auxiliary.first_step_scores)
        if (auxiliary := trajectory.auxiliary)
        else None,
        whole=trajectory.whole,
    )


def to_trajectory(
    caption: str, row: TrajectoryRow, second_opinion: float | None = None
) -> Trajectory:
    expectation = None
    if (words := row.expectation) is not None:
        expectation = Expectation(words.log_p, words.distance, words.alternatives, words.captioner)
    return Trajectory(
        Caption.parse(caption),
        row.scores,
        row.similarities,
        tuple(row.removed),
        row.first_step_scores,
        row.truncated,
        row.captions,
        AuxiliaryScores(*row.auxiliary) if row.auxiliary else None,
        expectation,
        row.whole,
        second_opinion or 0.0,
    )


def to_suspects(row: DetectionRow) -> tuple[SuspectWord, ...]:
    return tuple(SuspectWord(*suspect) for suspect in row.suspects)


#: Key in a correction's provenance: its rank among the captions of its proposer.
_PLACE = "place"


def to_save(
    pair_id: int,
    suggestion: Suggestion,
    run_id: int | None,
    provenance: dict[str, Any] | None = None,
    kind: str = "correction",
) -> NewSuggestion:
    """`provenance`: what a proposer reports about its caption; default: the caption's rank."""
    if provenance is None:
        provenance = {_PLACE: suggestion.place}
    return NewSuggestion(
        pair_id, suggestion.proposer, suggestion.caption, suggestion.s_before,
        suggestion.s_after, suggestion.p_before, suggestion.p_after, run_id,
        suggestion.similarity, provenance, kind,
    )  # fmt: skip


def in_order(caption: str, suggestions: Sequence[SuggestionRow]) -> list[SuggestionRow]:
    """Suggestions of several proposers from different times, best first, without duplicates: by
    the chance of an error that each leaves, once it is known of all."""
    once: dict[str, SuggestionRow] = {}
    for suggestion in suggestions:
        once.setdefault(suggestion.caption, suggestion)
    s_before = suggestions[0].s_before if suggestions else 0.0
    in_rank = ranked(
        list(once.values()), Caption.parse(caption), s_before,
        text_of=lambda suggestion: suggestion.caption, s_of=lambda suggestion: suggestion.s_after,
        preference_of=_preference_of,
    )  # fmt: skip
    chances = [suggestion.p_after for suggestion in in_rank]
    if None in chances:
        return in_rank
    return sorted(in_rank, key=lambda suggestion: suggestion.p_after or 0.0)


def _preference_of(suggestion: SuggestionRow) -> tuple[str, int] | None:
    """None for suggestions of a language model, and of versions that did not store the rank."""
    place = (suggestion.provenance or {}).get(_PLACE)
    return (suggestion.proposer, place) if isinstance(place, int) else None
