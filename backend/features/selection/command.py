"""The command `select`, and what `export` does with a selection."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field
from rich.markup import escape

from backend.cli.commands import CommandVariant
from backend.cli.dataset_commands import ExportCommand
from backend.cli.output import console, emit, open_dataset, progress
from backend.errors import SettingsError
from backend.features.selection.operation import SELECT, SelectOptions
from backend.jobs.export_choice import is_shares
from backend.operations.common_options import Common, Dataset
from backend.options import Options


class SelectCommand(SelectOptions):
    seed: int = Field(0, ge=0)
    """With --by random: of the random order. Default: the queue's."""


def select(dataset: Dataset, options: SelectCommand, common: Common) -> None:
    workspace, dataset_id = open_dataset(dataset, **common.settings())
    stages = options.stages.model_copy(update={"seed": options.seed})
    with progress(SELECT.title) as update:
        report = SELECT.run(
            workspace.jobs, dataset_id, options.model_copy(update={"stages": stages}), update
        )
    for note in report.notes:
        console.print(f"[yellow]Note:[/] {escape(note)}")
    emit(report, common.as_json, report.in_words())


class _Export(Options):
    select: Literal["leave out", "tag"] = "leave out"
    """Pairs that are not selected: 'leave out' or 'tag'."""


def _export(
    command: Callable[[], int | None], arguments: dict[str, Any], options: _Export
) -> int | None:
    """With a selection: of the training pairs, or of the splits that are named."""
    from backend.features.selection.selecting import split_for

    export: ExportCommand = arguments["options"]
    stages, is_tagged = export.choice.two_stage, options.select == "tag"
    chosen_fields = stages.model_fields_set if stages is not None else set()
    old_splits = tuple(each for each in export.split or () if not is_shares(each))
    makes_splits = len(old_splits) < len(export.split or ())
    has_seed = export.seed is not None and not makes_splits
    if (chosen_fields or is_tagged or has_seed) and not chosen_fields & {"align", "keep"}:
        raise SettingsError(
            "--by, --least-phrases, --seed, --scores and --select go with --align or --keep."
        )
    if stages is not None:
        splits: str | tuple[str, ...] | None = old_splits
        if not old_splits:
            workspace, dataset_id = open_dataset(
                arguments["dataset"], **arguments["common"].settings()
            )
            splits = split_for(workspace.store, dataset_id, None)
        changes = {"split": splits, "tag": is_tagged, "seed": export.seed or 0}
        choice = export.choice.model_copy(update={"two_stage": stages.model_copy(update=changes)})
        seed = export.seed if makes_splits else None  # else it is of the selection alone
        arguments["options"] = export.model_copy(update={"choice": choice, "seed": seed})
    return command()


COMMANDS = {"select": select}
EXPORT = CommandVariant("export", _Export, _export)
