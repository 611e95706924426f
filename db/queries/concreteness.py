"""ICC, the concreteness of captions."""

from collections.abc import Mapping

from sqlalchemy import bindparam, update
from sqlalchemy.orm import Session

from db.models import Pair
from db.queries.statements import check_number, table_of


def save_icc(session: Session, icc_of_pair: Mapping[int, float]) -> None:
    """Set the ICC of pairs by their id; higher is more concrete."""
    if not icc_of_pair:
        return
    for pair_id, icc in icc_of_pair.items():
        check_number(icc, f"the ICC of pair {pair_id}")
    pairs = table_of(Pair)
    session.connection().execute(
        update(pairs).where(pairs.c.id == bindparam("pair")).values(icc=bindparam("value")),
        [{"pair": pair_id, "value": icc} for pair_id, icc in sorted(icc_of_pair.items())],
    )
