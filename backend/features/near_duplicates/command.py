"""The command `duplicates`: near duplicates, and what is kept of each group."""

from typing import TYPE_CHECKING, Any

from backend.cli.output import emit, open_dataset, progress
from backend.counts import count_of, counted
from backend.datasets.cells import split_proof
from backend.errors import SettingsError
from backend.features.near_duplicates.operation import DUPLICATES, DuplicatesOptions
from backend.operations.common_options import Author, Common, Dataset

if TYPE_CHECKING:
    from backend.features.near_duplicates.choosing import DuplicateGroup, KeptView
    from backend.features.near_duplicates.report import DuplicatesReport

#: Maximum number of groups listed in the text output.
SHOWN = 20


class DuplicatesCommand(DuplicatesOptions):
    keep: str | None = None
    """Keep one picture of each group and remove the undecided pairs of the others: first (imported
    first), sharpest (needs `quality`), best (whose caption is least likely wrong)."""
    dry_run: bool = False
    """With --keep: count; change nothing."""
    author: Author = None


def duplicates(dataset: Dataset, options: DuplicatesCommand, common: Common) -> None:
    from backend.features.near_duplicates.choosing import WAYS, groups_of, keep_in_all

    keep, dry_run = options.keep, options.dry_run
    if keep is not None and keep not in WAYS:
        raise SettingsError(f"--keep is {', '.join(WAYS)}, not '{keep}'.")
    if dry_run and keep is None:
        raise SettingsError("--dry-run is for --keep: without it nothing is changed.")
    workspace, dataset_id = open_dataset(dataset, **common.settings(), **options.settings())
    with progress(DUPLICATES.title) as update:
        report = workspace.jobs.run("duplicates", dataset_id, update, threshold=options.threshold)
    view = groups_of(workspace.store, dataset_id)
    groups = view.groups if view is not None else ()
    outcome = None
    if keep is not None:
        outcome = keep_in_all(workspace.store, dataset_id, keep, workspace.settings.author, dry_run)
    listing = {
        "dataset_id": dataset_id,
        "threshold": report.threshold,
        "pictures": report.pictures,
        "without": report.without,
        "groups": [_members(group) for group in groups],
        "kept": outcome,
    }
    emit(listing, common.as_json, summary(report, groups, outcome, dry_run))


def _members(group: "DuplicateGroup") -> list[dict[str, Any]]:
    return [
        {
            "id": row.pair_id,
            "external_id": row.external_id,
            "image": split_proof(row.image_path)[0],
            "caption": row.caption,
            "similarity": round(row.similarity, 4),
            "same_pixels": row.has_same_pixels,
            "p_error": row.p_error,
            "verdict": row.decision,
            "enriches": row.enriches,
        }
        for picture in group.pictures
        for row in picture.rows
    ]


def summary(
    report: "DuplicatesReport",
    groups: "tuple[DuplicateGroup, ...]",
    outcome: "KeptView | None",
    dry_run: bool,
) -> str:
    """The first groups, how many there are, and what was done."""
    lines: list[str] = []
    for group in groups[:SHOWN]:
        lines.append(f"{len(group.pictures)} pictures:")
        lines += [
            f"  {picture.rows[0].similarity:.3f}  {split_proof(picture.image_path)[0]}"
            for picture in group.pictures
        ]
    if len(groups) > SHOWN:
        lines.append(f"… and {len(groups) - SHOWN:,} more groups: --json lists all.")
    lines.append(report.in_words())
    if outcome is not None:
        verb = "would be removed" if dry_run else "removed"
        note = (
            f" {counted(outcome.left_alone, 'decided one was', 'decided ones were')} left alone."
            if outcome.left_alone
            else ""
        )
        lines.append(
            f"{count_of(outcome.dropped, 'pair')} {verb}, in "
            f"{count_of(outcome.groups, 'group')}.{note}"
        )
    return "\n".join(lines)


COMMANDS = {"duplicates": duplicates}
