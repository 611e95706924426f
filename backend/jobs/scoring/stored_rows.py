"""Convert trajectories, expectations and suggestions between engine and store rows, and rank the
suggestions of several proposers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from sqlalchemy.orm import Session

from backend.engine.captions import Caption
from backend.engine.claims.claim import Claim, Kind, whole
from backend.engine.claims.scored_caption import ScoredCaption, ScoredClaim, says_something
from backend.engine.correction.suggestion import Suggestion, rank_suggestions, words_changed
from backend.engine.correction.suggestion_chance import (
    ALIKE,
    SuspectsOf,
    Worth,
    doubted_words,
    worth_of,
)
from backend.engine.detection.types import SuspectWord
from backend.engine.expectation import Expectation
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from backend.store import Store
from db.queries import claim_queries, pair_queries, run_queries, trajectory_queries
from db.queries.claim_queries import ClaimRow
from db.queries.detection_queries import DetectionRow
from db.queries.pair_queries import PairRow
from db.queries.run_queries import RunRow
from db.queries.statements import chunks
from db.queries.suggestion_queries import ELSEWHERE, NewSuggestion, SuggestionRow
from db.queries.trajectory_queries import ExpectationRow, TrajectoryRow

#: Pairs read from the store per batch if no model is involved.
AT_ONCE = 500


def expectation_row(expectation: Expectation, alternatives: bool = True) -> ExpectationRow:
    """`alternatives`: whether to store them; only needed if they may be shown."""
    alternative_words = expectation.alternatives if alternatives else ()
    return ExpectationRow(
        expectation.log_p, expectation.distance, alternative_words, expectation.captioner
    )


def exploring_of(run: RunRow) -> Exploring:
    """How the run computed its trajectories; only those computed the same way are comparable."""
    return Exploring.from_run(run.explorer, run.parameters)


def scored_pairs(
    store: Store, run: RunRow, pair_ids: Sequence[int]
) -> tuple[list[PairRow], list[ScoredCaption]]:
    """The pairs that have trajectories under this run, with them, in import order."""
    pairs: list[PairRow] = []
    captions: list[ScoredCaption] = []
    for part in chunks(pair_ids, AT_ONCE):
        with store.reading() as session:
            batch = _with_trajectories(session, run, pair_queries.pairs_of(session, part))
        pairs += batch[0]
        captions += batch[1]
    return pairs, captions


def _with_trajectories(
    session: Session, run: RunRow, pairs: Sequence[PairRow]
) -> tuple[list[PairRow], list[ScoredCaption]]:
    rows = trajectory_queries.trajectories_of(session, run.id, [pair.id for pair in pairs])
    known_pairs = [pair for pair in pairs if pair.id in rows]
    divided_ids = [pair.id for pair in known_pairs if rows[pair.id][0].end is not None]
    claims = claim_queries.claims_of(session, divided_ids) if divided_ids else {}
    return known_pairs, [
        to_scored_caption(
            pair.caption, rows[pair.id], claims.get(pair.id, ()), pair.numbers["second_opinion"]
        )
        for pair in known_pairs
    ]


def to_scored_caption(
    caption: str,
    rows: Sequence[TrajectoryRow],
    claims: Sequence[ClaimRow],
    second_opinion: float | None = None,
) -> ScoredCaption:
    """`rows`: the trajectories of a pair under one run; `claims`: what is stored of its claims."""
    facts = {row.start: row for row in claims}
    return ScoredCaption(
        tuple(
            ScoredClaim(
                claim,
                to_trajectory(claim.question(caption), row, second_opinion),
                facts[claim.start].icc if claim.start in facts else None,
                facts[claim.start].p_error if claim.start in facts else None,
            )
            for row, claim in zip(rows, scored_claims(caption, rows, claims), strict=True)
        )
    )


def scored_claims(
    caption: str, rows: Sequence[TrajectoryRow], claims: Sequence[ClaimRow]
) -> list[Claim]:
    """The claim of each of a pair's trajectories under one run. `claims`: what is stored of them;
    the caption may have been divided otherwise since."""
    row_of = {(row.start, row.end): row for row in claims}
    return [
        whole(caption)[0]
        if row.end is None
        else to_claim(row_of.get((row.start, row.end)) or _without_description(row))
        for row in rows
    ]


def _without_description(row: TrajectoryRow) -> ClaimRow:
    return ClaimRow(row.pair_id, row.start, row.end or 0, "sentence")


def claim_rows(pair_id: int, claims: Sequence[Claim]) -> list[ClaimRow]:
    """The rows of a caption's claims; none for a caption that is one claim."""
    return [
        ClaimRow(pair_id, claim.start, claim.end, claim.kind, claim.repeats, claim.subject)
        for claim in claims
        if claim.kind != "whole"
    ]


def save_scored(
    session: Session,
    run_id: int,
    rows: Sequence[TrajectoryRow],
    claims: Mapping[int, Sequence[ClaimRow]],
) -> None:
    """Save trajectories with the claims that they belong to; `claims`: by pair, [] for a caption
    that is one claim."""
    claim_queries.save_claims(session, claims)
    trajectory_queries.save_trajectories(session, run_id, rows)
    claim_queries.save_numbers(
        session,
        {
            (row.pair_id, row.start): {
                "s_0": float(row.scores[0]), "gain": trajectory_queries.gain_of(row)
            }
            for row in rows
            if row.end is not None
        },
    )  # fmt: skip


def to_claim(row: ClaimRow) -> Claim:
    return Claim(row.start, row.end, cast(Kind, row.kind), row.repeats, row.subject)


def leading_claim(claims: Sequence[ClaimRow]) -> ClaimRow:
    """As `ScoredCaption.leading`, of what is stored of a caption's claims."""
    deciding = [row for row in claims if says_something(to_claim(row), row.icc)] or claims
    return max(deciding, key=lambda row: (row.p_error or 0.0, row.gain or 0.0))


def scored_batches(
    store: Store, run: RunRow
) -> Iterator[tuple[list[PairRow], list[ScoredCaption]]]:
    """All pairs that have trajectories under this run, hidden ones too, in import order, in
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
) -> Iterator[tuple[list[PairRow], list[ScoredCaption]]]:
    """`scored_batches` of the dataset's latest scoring; nothing if it was never scored."""
    run = store.read(run_queries.latest_run, dataset_id, "score")
    if run is not None:
        yield from scored_batches(store, run)


def to_row(pair_id: int, trajectory: Trajectory, claim: Claim | None = None) -> TrajectoryRow:
    """`claim`: whose trajectory it is; None: that of the whole caption."""
    is_part = claim is not None and claim.kind != "whole"
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
        start=claim.start if claim is not None else 0,
        end=claim.end if claim is not None and is_part else None,
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


#: Keys in a correction's provenance: its rank among the captions of its proposer, and the
#: characters of the claim that it replaces, and what the models read in place of that.
_PLACE, _CLAIM, _QUESTION = "place", "claim", "question"
#: The pair that has a suggested caption as its own.
ORIGIN = "origin"
#: What that pair is called.
NAME = "name"
#: The key of the words of a suggestion that the model doubts.
_DOUBTS = "doubts"


class Part(NamedTuple):
    """A claim and the caption that it is a part of."""

    caption: str
    claim: Claim

    def takes(self, suggestion: Suggestion) -> bool:
        """Whether the suggestion can be put in the claim's place."""
        return self.claim.answer(self.caption, suggestion.caption) is not None


def to_save(
    pair_id: int,
    suggestion: Suggestion,
    run_id: int | None,
    provenance: dict[str, Any] | None = None,
    kind: str = "correction",
    part: Part | None = None,
) -> NewSuggestion:
    """`provenance`: what a proposer reports about its caption; default: the caption's rank; `part`:
    the claim that the suggestion replaces (`Part.takes`), None: the whole caption."""
    if provenance is None:
        provenance = {_PLACE: suggestion.place}
    if suggestion.doubts:
        provenance |= {_DOUBTS: list(suggestion.doubts)}
    text = suggestion.caption
    if part is not None and part.claim.kind != "whole":
        provenance |= {_CLAIM: [part.claim.start, part.claim.end], _QUESTION: text}
        text = part.claim.replaced_in(part.caption, part.claim.answer(part.caption, text) or "")
    return NewSuggestion(
        pair_id, suggestion.proposer, text, suggestion.s_before,
        suggestion.s_after, suggestion.p_before, suggestion.p_after, run_id,
        suggestion.similarity, provenance, kind,
    )  # fmt: skip


def doubts_of(suggestion: SuggestionRow) -> tuple[str, ...]:
    """The words of a suggestion that the model doubts."""
    return tuple(map(str, (suggestion.provenance or {}).get(_DOUBTS, ())))


def with_judgement(
    caption: str,
    suggestion: SuggestionRow,
    p_after: float,
    trajectory: Trajectory,
    suspects_of: SuspectsOf,
) -> NewSuggestion:
    """The stored suggestion for a caption with what the detector says of it now: `p_after`, and the
    words that it doubts, by its `trajectory`."""
    chance = worth_to(caption, replace(suggestion, p_after=p_after)).chance or 0.0
    doubts = doubted_words(trajectory, chance, suspects_of)
    provenance = {**(suggestion.provenance or {}), _DOUBTS: list(doubts)}
    return NewSuggestion(
        suggestion.pair_id, suggestion.proposer, suggestion.caption, suggestion.s_before,
        suggestion.s_after, suggestion.p_before, p_after, suggestion.run_id,
        suggestion.similarity, provenance, suggestion.kind,
    )  # fmt: skip


def origin_of(suggestion: SuggestionRow) -> int | None:
    """The pair whose own caption it is; None: nobody's."""
    pair_id = (suggestion.provenance or {}).get(ORIGIN)
    return None if pair_id is None else int(pair_id)


def better_picture(rows: Sequence[SuggestionRow]) -> tuple[int, str, float, float] | None:
    """The pair whose picture the caption fits better, its name, and the caption's likeness to its
    own picture and to that one; None if there is none among a pair's suggestions."""
    for row in rows:
        if row.kind == ELSEWHERE and (pair_id := origin_of(row)) is not None:
            return pair_id, str((row.provenance or {}).get(NAME, "")), row.s_before, row.s_after
    return None


def question_of(suggestion: SuggestionRow) -> str:
    """What models read of a suggestion: what it says in place of a claim, or all of it."""
    return str((suggestion.provenance or {}).get(_QUESTION, suggestion.caption))


def replaced_text(caption: str, suggestion: SuggestionRow) -> str:
    """What a suggestion says in place of the claim that it replaces: all of it, if that is the
    whole caption."""
    place = claim_replaced(suggestion)
    if place is None:
        return suggestion.caption
    start, end = place
    return suggestion.caption[start : len(suggestion.caption) - (len(caption) - end)]


def replaced_claim(caption: str, suggestion: SuggestionRow) -> str:
    """The claim that a suggestion replaces, or the whole caption."""
    start, end = claim_replaced(suggestion) or (0, len(caption))
    return caption[start:end]


def claim_replaced(suggestion: SuggestionRow) -> tuple[int, int] | None:
    """The characters of the claim that a suggestion replaces; None: it replaces the caption."""
    place = (suggestion.provenance or {}).get(_CLAIM)
    return None if place is None else (int(place[0]), int(place[1]))


class RankedSuggestion(NamedTuple):
    """A stored suggestion, and whether it is worth anything."""

    row: SuggestionRow
    worth: Worth


def in_order(caption: str, suggestions: Sequence[SuggestionRow]) -> list[RankedSuggestion]:
    """Suggestions of several proposers from different times, best first, without duplicates.

    Once the chance of an error that each leaves is known of all: of those that leave about the
    least, a caption that another pair has, else the one that changes the fewest words; then the
    others by chance. Those that are not worth an offer come last.
    """
    once: dict[str, SuggestionRow] = {}
    for suggestion in suggestions:
        once.setdefault(suggestion.caption, suggestion)
    s_before = suggestions[0].s_before if suggestions else 0.0
    original = Caption.parse(caption)
    in_rank = rank_suggestions(
        list(once.values()), original, s_before,
        text_of=lambda suggestion: suggestion.caption, s_of=lambda suggestion: suggestion.s_after,
        preference_of=_preference_of,
    )  # fmt: skip
    ranking = [RankedSuggestion(row, worth_to(caption, row)) for row in in_rank]
    if any(each.worth.chance is None for each in ranking):
        return ranking
    chance_of = {each.row.id: each.worth.chance or 0.0 for each in ranking}
    by_chance = sorted(ranking, key=lambda each: (not each.worth.is_offer, chance_of[each.row.id]))
    as_good = [
        each
        for each in by_chance
        if each.worth.is_offer and chance_of[each.row.id] < chance_of[by_chance[0].row.id] + ALIKE
    ]
    best = min(
        as_good,
        key=lambda each: (origin_of(each.row) is None, words_changed(original, each.row.caption)),
        default=None,
    )
    return sorted(by_chance, key=lambda each: each is not best)


def worth_to(caption: str, suggestion: SuggestionRow) -> Worth:
    """What the suggestion is worth to a pair with this caption."""
    return worth_of(
        suggestion.proposer, replaced_claim(caption, suggestion),
        replaced_text(caption, suggestion), suggestion.s_after - suggestion.s_before,
        suggestion.p_before, suggestion.p_after,
    )  # fmt: skip


def _preference_of(suggestion: SuggestionRow) -> tuple[str, int] | None:
    """None for suggestions of a language model, and of versions that did not store the rank."""
    place = (suggestion.provenance or {}).get(_PLACE)
    return (suggestion.proposer, place) if isinstance(place, int) else None
