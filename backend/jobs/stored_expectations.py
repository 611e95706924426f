"""Convert expectations between engine and store rows."""

from backend.engine.expectation import Expectation
from db.queries.expectations import ExpectationRow


def to_row(expectation: Expectation, alternatives: bool = True) -> ExpectationRow:
    """`alternatives`: whether to store them; only needed if they may be shown."""
    kept = expectation.alternatives if alternatives else ()
    return ExpectationRow(expectation.log_p, expectation.distance, kept, expectation.captioner)


def to_expectation(row: ExpectationRow | None) -> Expectation | None:
    if row is None:
        return None
    return Expectation(row.log_p, row.distance, row.alternatives, row.captioner)
