"""Beside a pair: the rank of a caption's own picture, and the pictures that it fits better."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from backend.features.specificity.queries import EASY
from backend.features.specificity.tables import Retrieval
from backend.review.pair_parts import PairPart
from db.blobs import decode_integers
from db.models import Run
from db.queries.pair_queries import PairRow
from db.queries.statements import run


@dataclass(frozen=True)
class OwnRank:
    """How well a caption retrieves its own picture among similar ones. `log_share`: at most 0,
    higher is better; `rank`: of `of` pictures, 1 is best; `better`: pairs whose pictures match the
    caption as well or better, best first; `easy`: those pictures are not similar to this one;
    `pool` of `pictures` were searched; `by`: the model whose embeddings were used."""

    log_share: float
    rank: int
    of: int
    better: tuple[int, ...]
    easy: bool
    pool: int
    pictures: int
    by: str
    #: Pictures in the strip; a button leads to all of them.
    shown: ClassVar[int] = 7

    @property
    def share(self) -> float:
        return math.exp(self.log_share)


class Specificity(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    log_probability: float = Field(validation_alias="log_share")
    rank: int
    of: int
    fits_better: list[int] = Field(validation_alias="better", description="Pairs.")
    judged_by: str = Field(validation_alias="by")


_RETRIEVAL = (
    select(Retrieval.rank, Retrieval.of, Retrieval.likeness, Retrieval.better, Run.parameters)
    .join(Run, Run.id == Retrieval.run_id)
    .where(Retrieval.pair_id == bindparam("pair_id"))
)


def read(session: Session, pair: PairRow) -> OwnRank | None:
    """None if it has not been measured."""
    log_share = pair.numbers["specificity"]
    if log_share is None:
        return None
    row = run(session, _RETRIEVAL, pair_id=pair.id).one_or_none()
    if row is None:
        return None
    return OwnRank(
        log_share, row.rank, row.of, decode_integers(row.better), row.likeness < EASY,
        int(row.parameters.get("pool", 0)), int(row.parameters.get("pictures", 0)),
        str(row.parameters.get("by", "")),
    )  # fmt: skip


_FOLDER = Path(__file__).parent
PART = PairPart(
    "specificity", "alike", read, _FOLDER / "templates" / "specificity.html",
    styles=_FOLDER / "specificity.css", api=Specificity,
)  # fmt: skip
