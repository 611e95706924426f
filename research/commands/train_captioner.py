"""`captioner`: train a captioner on a dataset as cleaned."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from backend.cli.output import emit, open_workspace, progress, reported
from backend.operations.common_options import AsJson, Database, Device, Kind, Model
from backend.settings import load_settings

if TYPE_CHECKING:
    from research.captioning.policy import Side


def captioner(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    out: Annotated[Path, typer.Option(help="Folder for the captioner and the report.")],
    clip: Annotated[
        str | None,
        typer.Option(metavar="NAME_OR_DIR", help="CLIP of a new captioner, such as "
                     "openai/clip-vit-base-patch32; it also rewards self-retrieval."),
    ] = None,
    language_model: Annotated[
        str | None,
        typer.Option(metavar="NAME_OR_DIR", help="Causal language model of a new captioner, such "
                     "as gpt2."),
    ] = None,
    captioner: Annotated[
        str | None,
        typer.Option(metavar="NAME_OR_DIR", help="Continue from this captioner instead: a BLIP, or "
                     "one trained by this command."),
    ] = None,
    epochs: Annotated[
        float, typer.Option(help="Epochs of maximum-likelihood training.")
    ] = 10.0,
    batch: Annotated[int, typer.Option(min=1, help="Captions per step.")] = 40,
    learning_rate: Annotated[float, typer.Option(help="Of maximum likelihood.")] = 2e-5,
    self_retrieval: Annotated[
        bool, typer.Option("--self-retrieval", help="Then fine-tune: reward captions that retrieve "
                           "their picture.")
    ] = False,
    cider: Annotated[
        float, typer.Option(min=0, help="Weight of CIDEr-D in that reward; 0.5 was published.")
    ] = 0.0,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="The reward as in the paper: CIDEr-D is not "
                           "scaled, log P is the mean over the caption's tokens, and the running "
                           "mean of rewards starts at 0.")
    ] = False,
    bags: Annotated[
        bool, typer.Option("--bags", help="Among similar pictures, in bags that grow (BagCurri).")
    ] = False,
    lora_rank: Annotated[
        int, typer.Option(min=0, help="Of LoRA in self-retrieval; 0 trains all weights.")
    ] = 32,
    side: Annotated[
        str, typer.Option(help="What self-retrieval trains: language, vision or both. Training "
                               "the vision side encodes each picture again in every step, which "
                               "is slow.")
    ] = "language",
    retrieval_steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of self-retrieval. Default: 20 epochs.")
    ] = None,
    retrieval_rate: Annotated[
        float | None, typer.Option(help="Learning rate of self-retrieval. Default: as published.")
    ] = None,
    temperature: Annotated[
        float, typer.Option(help="Of the captions that self-retrieval samples; default: published.")
    ] = 0.3,
    weight_decay: Annotated[
        float, typer.Option(min=0, help="Of self-retrieval; default: published.")
    ] = 0.01,
    held_out: Annotated[float, typer.Option(help="Share of the pictures to measure on.")] = 0.1,
    compare: Annotated[
        bool, typer.Option(help="Also train on the raw dataset, to measure the effect of cleaning.")
    ] = True,
    drop_above: Annotated[
        float | None,
        typer.Option(help="Leave out undecided pairs whose chance of error is higher."),
    ] = None,
    enriched: Annotated[
        bool, typer.Option("--enriched", help="Also train on suggested enrichments, which have "
                                              "not been reviewed.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Allow the rewarding model to be the judge.")
    ] = False,
    seed: Annotated[int, typer.Option()] = 0,
    db: Database = None,
    model: Model = None,
    scorer: Kind = None,
    device: Device = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Train a captioner on a dataset as cleaned (what an export would contain), and compare it with
    one trained on the raw dataset.

    Use it with --captioner OUT/model. The judge is the model that the dataset was scored with, or
    --model. Stop it at any time: the same command resumes, and ends with the same weights.
    """
    with reported(as_json):
        from backend.jobs.reports import ExportChoice
        from research.captioning.cleaned_training import CaptionerRecipe, markdown, train_captioner

        settings = load_settings({"database": db, "model": model, "kind": scorer, "device": device})
        workspace = open_workspace(settings)
        dataset_id = workspace.find(dataset)
        recipe = CaptionerRecipe(
            clip, language_model, captioner, epochs, batch, learning_rate, self_retrieval, cider,
            bags, lora_rank, retrieval_steps, retrieval_rate, held_out, compare, anyway, seed,
            cast("Side", side), temperature, weight_decay, as_published,
        )  # fmt: skip
        choice = ExportChoice(drop_above=drop_above, captions="enriched" if enriched else "decided")
        with progress("Training a captioner") as update:
            report = train_captioner(
                workspace.store, workspace.engines.of_dataset(dataset_id), dataset_id,
                out.expanduser(), recipe, choice, update,
            )  # fmt: skip
        emit(report, as_json, markdown(report))
