"""`--together duplicates`: near duplicates are in one new split of an export. (The help of `export`
reads this module: it imports no database.)"""

from typing import TYPE_CHECKING

from backend.errors import SettingsError
from backend.jobs.export_steps import ExportStep

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def groups_by_pair(session: "Session", dataset_id: int) -> dict[int, int]:
    """The group of each pair that is in one. Raises SettingsError if there is none."""
    from backend.features.near_duplicates import queries

    groups = queries.groups_by_pair(session, dataset_id)
    if not groups:
        raise SettingsError(
            "No near duplicates are known. Look for them first (`duplicates`), or do without."
        )
    return groups


STEP = ExportStep("near_duplicates", together={"duplicates": groups_by_pair})
