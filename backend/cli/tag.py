"""`tag`: people's words on pairs."""

from pathlib import Path
from typing import Annotated

from backend.cli.output import emit, open_dataset
from backend.counts import count_of
from backend.errors import SettingsError
from backend.operations.common_options import Author, Common
from backend.options import ARGUMENT, CommandLine, Options


class TagCommand(Options):
    """Tag pairs with your own words, such as a list of suspects of another program; list the tags.

    `tag=NAME` in a queue, the field *Tag* on the page and `export --queue tag=NAME` select them;
    exports have the tags in the column `own_tags`.
    """

    dataset: Annotated[str, ARGUMENT]
    """Name in the database."""
    name: Annotated[str, ARGUMENT] = ""
    """The tag. Without it, all tags are listed."""
    ids: Path | None = None
    """A file with the pairs' ids, one per line."""
    queue: str = ""
    """The pairs of a queue, as in its address after the ?."""
    view: str | None = None
    """The pairs of a saved view."""
    remove: bool = False
    """Take the tag from these pairs."""
    rename: Annotated[str | None, CommandLine(metavar="NEW")] = None
    """Give the tag another name; one that exists absorbs it."""
    author: Author = None


def tag(options: TagCommand, common: Common) -> None:
    from backend.review.pair_selection import read_ids, rename_tag, tag_pairs

    workspace, dataset_id = open_dataset(options.dataset, **common.settings(), **options.settings())
    name, who = options.name, workspace.settings.author
    if not name:
        tags = workspace.review.tags(dataset_id)
        lines = "\n".join(f"{tag}: {count_of(number, 'pair')}" for tag, number in tags.items())
        emit({"changed": 0, "tags": tags}, common.as_json, lines or "There are no tags.")
        return
    if options.rename is not None:
        number = len(rename_tag(workspace.store, dataset_id, name, options.rename, who)[0])
        words = f"{number:,} pairs now have the tag '{options.rename}'."
    else:
        ids = read_ids(options.ids) if options.ids is not None else None
        selection = workspace.review.select_pairs(dataset_id, options.queue, options.view, (), ids)
        if selection is None:
            raise SettingsError("Say which pairs: --ids FILE, --queue or --view.")
        pairs = sorted(selection.pair_ids)
        number = len(tag_pairs(workspace.store, pairs, name, who, options.remove))
        verb = "no longer have" if options.remove else "now have"
        words = f"{number:,} of {count_of(len(pairs), 'pair')} {verb} the tag."
    tags = workspace.review.tags(dataset_id)
    emit({"changed": number, "tags": tags}, common.as_json, words)
