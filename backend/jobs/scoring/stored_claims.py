"""The claims of captions that have several, with what is known of each: for exports, files of
scores and programs. A caption that is one claim has its pair's numbers and verdict instead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from backend.engine.claims.claim import Claim
from backend.engine.claims.scored_caption import is_vague, says_something
from backend.jobs.scoring.stored_rows import to_claim
from backend.measures import MEASURES, Numbers
from db.queries import claim_labels, claim_queries, signal_queries
from db.queries.pair_queries import PairRow
from db.queries.statements import set_columns

#: The column of exports and score files that has them.
CLAIMS = "claims"


def claim_names() -> list[str]:
    """The measures of claims that files have."""
    return [name for name, measure in MEASURES.items() if measure.of_claims and measure.exports]


@dataclass(frozen=True)
class KnownClaim:
    """`numbers`: of the measures that claims have; `is_right`: what people say, None: nothing."""

    claim: Claim
    numbers: Numbers
    is_right: bool | None = None

    @property
    def says_something(self) -> bool:
        """Whether it can be wrong."""
        return says_something(self.claim, self.numbers.get("icc"))

    def cells(self) -> dict[str, Any]:
        """Its characters in the original caption, the numbers that files have, and the verdict on
        it: right, wrong or None."""
        numbers = {name: self.numbers[name] for name in claim_names()}
        verdict = None if self.is_right is None else "right" if self.is_right else "wrong"
        return {"start": self.claim.start, "end": self.claim.end, **numbers, "verdict": verdict}


def save_concreteness(
    session: Session, numbers: Mapping[int, tuple[float, Mapping[int, float]]]
) -> None:
    """Store the ICC of captions and of their claims, by where these start; none for a caption that
    is one claim."""
    signal_queries.save_icc(session, {pair: icc for pair, (icc, _) in numbers.items()})
    of_claims = {pair: each for pair, (_, each) in numbers.items() if each}
    claim_queries.save_numbers(
        session,
        {(pair, start): {"icc": icc} for pair, each in of_claims.items()
         for start, icc in each.items()},
    )  # fmt: skip
    set_columns(
        session,
        {pair: {"vague_claims": sum(map(is_vague, each.values()))}
         for pair, each in of_claims.items()},
    )  # fmt: skip


def known_claims(session: Session, pairs: Sequence[PairRow]) -> dict[int, tuple[KnownClaim, ...]]:
    """The claims of each of these pairs in the order of its caption; pairs whose caption is one
    claim are left out."""
    several = claim_queries.of_several(session, {pair.id: pair.numbers for pair in pairs})
    labels = claim_labels.labels_of(session, list(several)) if several else {}
    names = [name for name, measure in MEASURES.items() if measure.of_claims]
    by_pair: dict[int, tuple[KnownClaim, ...]] = {}
    for pair_id, rows in several.items():
        is_right = {(label.start, label.end): label.is_right for label in labels.get(pair_id, ())}
        by_pair[pair_id] = tuple(
            KnownClaim(
                to_claim(row),
                {name: getattr(row, name) for name in names},
                is_right.get((row.start, row.end)),
            )
            for row in rows
        )
    return by_pair
