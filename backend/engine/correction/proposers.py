"""The proposers that there are, a line each; a new one is a module that ends with its `PROPOSER`.

Where two make the same caption, it is called the earlier one's.
"""

from backend.engine.correction import guided_infill, recaption, trajectory_suggestions
from backend.engine.correction.suggestion import Proposer

PROPOSERS: tuple[Proposer, ...] = (
    trajectory_suggestions.PROPOSER,
    guided_infill.PROPOSER,
    recaption.PROPOSER,
)
