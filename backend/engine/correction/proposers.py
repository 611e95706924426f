"""The registry of proposers; a new one is a module that defines `PROPOSER` and is listed here,
or comes from another package (`backend.plugins`).

If two proposers make the same caption, it is attributed to the first.
"""

from backend import plugins
from backend.engine.correction import guided_infill, recaption, trajectory_suggestions
from backend.engine.correction.suggestion import Proposer

PROPOSERS: tuple[Proposer, ...] = (
    trajectory_suggestions.PROPOSER,
    guided_infill.PROPOSER,
    recaption.PROPOSER,
    *plugins.load("proposers", Proposer),
)
