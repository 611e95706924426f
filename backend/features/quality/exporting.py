"""The column `picture` of exports: the issues of each picture. (The help of `export` reads this
module: it imports no database.)"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backend.jobs.export_steps import ExportStep

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def issues_by_pair(session: "Session", pair_ids: Sequence[int]) -> dict[int, str]:
    """Separated by spaces."""
    from backend.features.quality.queries import issues_of

    return {pair_id: " ".join(names) for pair_id, names in issues_of(session, pair_ids).items()}


STEP = ExportStep("quality", columns={"picture": issues_by_pair})
