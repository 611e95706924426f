"""`tag`: people's own words on pairs."""

from pathlib import Path
from typing import Annotated

import typer

from backend.cli.options import AS_JSON, DATABASE, one_queue
from backend.cli.output import emit, open_workspace, reported
from backend.errors import SettingsError
from backend.settings import load_settings


def tag(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    name: Annotated[
        str, typer.Argument(help="The tag. Without it, all tags are listed.")
    ] = "",
    ids: Annotated[
        Path | None, typer.Option(help="A file with the pairs' ids, one per line.")
    ] = None,
    queue: Annotated[
        str, typer.Option(help="The pairs of a queue, as in its address after the ?.")
    ] = "",
    view: Annotated[str | None, typer.Option(help="The pairs of a saved view.")] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the tag from these pairs.")
    ] = False,
    rename: Annotated[
        str | None, typer.Option("--rename", metavar="NEW", help="Give the tag another name; one "
                                                                 "that exists absorbs it.")
    ] = None,
    author: Annotated[str | None, typer.Option(help="Name recorded with the tags.")] = None,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Tag pairs with your own words, such as a list of suspects of another program; list the tags.

    `tag=NAME` in a queue, the field *Tag* on the page and `export --queue tag=NAME` select them;
    exports have the tags in the column `own_tags`.
    """
    from backend.review.tags import rename_tag, tag_pairs

    with reported(as_json):
        from backend.review.pair_selection import read_ids
        from backend.review.tags import TagReport

        one_queue(queue, view)
        workspace = open_workspace(load_settings({"database": db, "author": author}))
        dataset_id = workspace.find(dataset)
        who = workspace.settings.author
        if not name:
            tags = workspace.review.tags(dataset_id)
            lines = "\n".join(f"{tag}: {number:,} pairs" for tag, number in tags.items())
            emit(TagReport(0, tags), as_json, lines or "There are no tags.")
            return
        if rename is not None:
            number = rename_tag(workspace.store, dataset_id, name, rename, who)
            words = f"{number:,} pairs now have the tag '{rename}'."
        else:
            chosen = workspace.review.select_pairs(
                dataset_id, queue, view, (), read_ids(ids) if ids is not None else None
            )
            if chosen is None:
                raise SettingsError("Say which pairs: --ids FILE, --queue or --view.")
            pairs = sorted(chosen.pair_ids)
            number = tag_pairs(workspace.store, pairs, name, who, remove)
            verb = "no longer have" if remove else "now have"
            words = f"{number:,} of {len(pairs):,} pairs {verb} the tag."
        emit(TagReport(number, workspace.review.tags(dataset_id)), as_json, words)
