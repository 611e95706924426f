"""`duplicates`, `map`, `quality`: near duplicates, similar pictures, issues of pictures."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import emit, open_dataset, progress, reported
from backend.datasets.cells import split_proof
from backend.errors import SettingsError
from backend.jobs.reports import count_of

if TYPE_CHECKING:
    from backend.jobs.reports import DuplicatesReport
    from backend.review.views import DuplicateGroup, KeptView


def quality(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """Find pictures that are dark, bright, blurry, of odd size or shape, low in information, or
    exact or near duplicates, with CleanVision. The dataset need not be scored.

    Stop it at any time: the same command resumes where it stopped. Filter the queue by the results
    with picture=dark and so on.
    """
    with reported(as_json):
        workspace, dataset_id = open_dataset(dataset, database=db)
        with progress("Looking at pictures") as update:
            report = workspace.jobs.run("quality", dataset_id, update)
        lines = [
            f"{count:,} {issue.replace('_', ' ')}"
            for issue, count in report.issues.items()
            if count
        ]
        unreadable = f" {report.unreadable:,} cannot be read." if report.unreadable else ""
        emit(
            report,
            as_json,
            f"{count_of(report.measured, 'picture')} checked now.{unreadable} Of "
            f"{count_of(report.pairs, 'pair')}: " + (", ".join(lines) or "nothing was found") + ".",
        )


def map_(
    dataset: Annotated[str, typer.Argument(help="Name in the database, scored.")],
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """Draw a map of a dataset's pictures: t-SNE of the vectors stored by scoring.

    The Map page displays it; drawing around points there makes a queue of them. A new map replaces
    the old one and the regions drawn on it.
    """
    with reported(as_json):
        workspace, dataset_id = open_dataset(dataset, database=db)
        with progress("Drawing the map") as update:
            report = workspace.jobs.run("map", dataset_id, update)
        without = f" {report.without:,} have no vector." if report.without else ""
        emit(
            report,
            as_json,
            f"{report.pictures:,} pictures ({report.pairs:,} pairs) are on the map."
            f"{without} See the Map page.",
        )


#: Maximum number of groups listed in the text output.
SHOWN = 20


def duplicates(
    dataset: Annotated[str, typer.Argument(help="Name in the database, scored.")],
    threshold: Annotated[
        float | None, typer.Option(help="Minimum similarity of pictures: the cosine of their "
                                   "vectors, 0.8 to 1. Default: 0.98.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Keep one picture of each group and drop the undecided pairs "
                                 "of the others: first (imported first), sharpest (needs "
                                 "`quality`), best (whose caption is least likely wrong).")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --keep: count; change nothing.")
    ] = False,
    author: Annotated[str | None, typer.Option(help="Name recorded with the choice.")] = None,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Find groups of near duplicates in the whole dataset, by the vectors stored by scoring.

    Every picture in a group is similar to the first one. Dropping a copy says nothing about its
    caption: it does not count towards precision and trains no classifier. Pairs that already have a
    verdict are left alone. All changes are one step: press Z on the page to undo them.
    """
    from backend.review.near_duplicates import groups_of

    with reported(as_json):
        from backend.review.near_duplicates import WAYS

        if keep is not None and keep not in WAYS:
            raise SettingsError(f"--keep is {', '.join(WAYS)}, not '{keep}'.")
        if dry_run and keep is None:
            raise SettingsError("--dry-run is for --keep: without it nothing is changed.")
        workspace, dataset_id = open_dataset(dataset, database=db, author=author)
        with progress("Comparing pictures") as update:
            options = {} if threshold is None else {"threshold": threshold}
            report = workspace.jobs.run("duplicates", dataset_id, update, **options)
        view = groups_of(workspace.store, dataset_id)
        groups = view.groups if view is not None else ()
        outcome = None
        if keep is not None:
            outcome = workspace.review.keep_in_all(dataset_id, keep, dry_run)
        listing = {
            "dataset_id": dataset_id,
            "threshold": report.threshold,
            "pictures": report.pictures,
            "without": report.without,
            "groups": [_members(group) for group in groups],
            "kept": outcome,
        }
        emit(listing, as_json, summary(report, groups, outcome, dry_run))


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
    without = f" {report.without:,} have no vector." if report.without else ""
    lines.append(
        f"{report.groups:,} groups of near duplicates hold {report.members:,} of "
        f"{report.pictures:,} pictures.{without}"
    )
    if outcome is not None:
        verb = "would be dropped" if dry_run else "dropped"
        left = (
            f" {outcome.left_alone:,} decided ones were left alone." if outcome.left_alone else ""
        )
        lines.append(f"{outcome.dropped:,} pairs {verb}, in {outcome.groups:,} groups.{left}")
    return "\n".join(lines)
