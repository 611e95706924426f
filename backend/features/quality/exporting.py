"""The column `picture` of exports: the issues of each picture."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from backend.features.quality.queries import issues_of
from backend.jobs.export_steps import ExportStep


def issues_by_pair(session: Session, pair_ids: Sequence[int]) -> dict[int, str]:
    """Separated by spaces."""
    return {pair_id: " ".join(names) for pair_id, names in issues_of(session, pair_ids).items()}


STEP = ExportStep("quality", columns={"picture": issues_by_pair})
