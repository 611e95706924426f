"""`captioner`: train a captioner on a dataset as cleaned."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.cli.commands import as_command
from backend.cli.output import emit, open_workspace, progress
from backend.operations.common_options import Dataset
from backend.options import Options
from backend.settings import load_settings
from research.captioning.captioner_recipe import CaptionerRecipe
from research.commands.model_options import CommonWithModel


class _Captions(Options):
    """Which captions it learns from."""

    drop_above: float | None = None
    """Leave out undecided pairs whose chance of error is higher."""
    enriched: bool = False
    """Also train on suggested enrichments, which have not been reviewed."""


def _captioner(
    dataset: Dataset,
    out: Annotated[Path, Field(description="Folder for the captioner and the report.")],
    recipe: CaptionerRecipe,
    captions: _Captions,
    common: CommonWithModel,
) -> None:
    """Train a captioner on a dataset as cleaned (what an export would contain), and compare it with
    one trained on the raw dataset.

    Use it with --captioner OUT/model. The judge is the model that the dataset was scored with, or
    --model. Stop it at any time: the same command resumes, and ends with the same weights.
    """
    from backend.jobs.export_choice import ExportChoice
    from research.captioning.cleaned_training import markdown, train_captioner

    workspace = open_workspace(load_settings(common.settings()))
    dataset_id = workspace.find(dataset)
    texts = "enriched" if captions.enriched else "decided"
    choice = ExportChoice(drop_above=captions.drop_above, captions=texts)
    with progress("Training a captioner") as update:
        report = train_captioner(
            workspace.store, workspace.engines.of_dataset(dataset_id), dataset_id,
            out.expanduser(), recipe, choice, update,
        )  # fmt: skip
    emit(report, common.as_json, markdown(report))


captioner = as_command(_captioner)
