"""`restore`, with what only a terminal offers: the page undoes it with Z."""

from backend.cli.output import emit, open_dataset, progress
from backend.counts import count_of
from backend.errors import SettingsError
from backend.features.snapshots.operation import RestoreOptions
from backend.operations.common_options import Author, Common, Dataset


class RestoreCommand(RestoreOptions):
    __doc__ = RestoreOptions.__doc__
    undo: bool = False
    """Undo your latest restoring instead."""
    author: Author = None


def restore(dataset: Dataset, options: RestoreCommand, common: Common) -> None:
    from db.authors import RESTORE

    workspace, dataset_id = open_dataset(dataset, **common.settings(), **options.settings())
    if options.undo:
        undone = workspace.review.undo_edit(dataset_id, kind=RESTORE)
        if undone is None:
            raise SettingsError("There is nothing restored to undo.")
        words = f"Undone: {count_of(undone.together, 'pair')} as before '{options.name}'."
        emit(undone, common.as_json, words)
        return
    values = options.model_dump(exclude={"undo", "author"})
    with progress("Restoring") as update:
        report = workspace.jobs.run("restore", dataset_id, update, **values)
    emit(report, common.as_json, report.in_words())


COMMANDS = {"restore": restore}
