"""What an export says of snapshots: it may store the state that it writes, and its card names the
newest one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from backend.jobs.export_steps import ExportStep
from backend.options import Options

if TYPE_CHECKING:
    from backend.store import Store


class SnapshotOfExport(Options):
    """What an export does with the state that it writes."""

    snapshot: str = ""
    """Also store the state that is exported as a snapshot of this name; the card names it."""


def take(store: "Store", dataset_id: int, author: str, options: SnapshotOfExport) -> None:
    from backend.features.snapshots import comparing  # which `--help` does without

    if options.snapshot:
        comparing.snapshot(store, dataset_id, options.snapshot, author)


def card_lines(store: "Store", dataset_id: int) -> Mapping[str, str]:
    from backend.features.snapshots import comparing

    state = comparing.nearest(store, dataset_id)
    return {"Snapshot": state} if state else {}


STEP = ExportStep("snapshot", SnapshotOfExport, begin=take, card=card_lines)
