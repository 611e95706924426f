"""`import`, `download`, `noise`, `export`: datasets in and out."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from backend.commands.parameters import (
    AS_JSON,
    CAPTION_COLUMN,
    DATABASE,
    DEVICE,
    ID_COLUMN,
    IMAGE_COLUMN,
    IMAGE_ROOT,
    SPLIT_COLUMN,
)
from backend.commands.telling import console, emit, open_workspace, progress, reported
from backend.errors import SettingsError
from backend.settings import load_settings


def import_(
    path: Annotated[
        str,
        typer.Argument(help="A folder of images with metadata.jsonl or metadata.csv; a CSV, TSV, "
                       "JSONL or Parquet file with an image path and a caption a row; WebDataset "
                       "tars, a zip, Parquet with images, a saved Hugging Face dataset, or "
                       "hf:OWNER/DATASET from the hub."),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name in the database. Default: the folder's or file's name.")
    ] = None,
    image_column: IMAGE_COLUMN = None,
    caption_column: CAPTION_COLUMN = None,
    id_column: ID_COLUMN = None,
    split_column: SPLIT_COLUMN = None,
    image_root: IMAGE_ROOT = None,
    strict: Annotated[
        bool, typer.Option(help="End with status 3 if any row was left out.")
    ] = False,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Bring a dataset in. Bad rows are listed and left out, the good ones go in."""
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        with progress("Reading pairs") as update:
            report = workspace.import_dataset(
                path, name=name, image_column=image_column, caption_column=caption_column,
                id_column=id_column, split_column=split_column, image_root=image_root,
                progress=update,
            )  # fmt: skip
        for problem in report.first_problems:
            row = f", row {problem.row}" if problem.row is not None else ""
            console.print(f"[yellow]left out[/] {escape(problem.file)}{row}: "
                          f"{escape(problem.message)}")  # fmt: skip
        hidden = report.problems - len(report.first_problems)
        if hidden > 0:
            console.print(f"… and {hidden} more; all are on the Datasets page of the app.")
        emit(
            report, as_json,
            f"Dataset '{report.name}': {report.added} pairs added, {report.already_there} were "
            f"there already, {report.problems} rows left out.",
        )  # fmt: skip
        if (strict and report.problems) or report.added + report.already_there == 0:
            raise typer.Exit(3)


def download(
    table: Annotated[
        Path, typer.Argument(help="Parquet, CSV, TSV or JSONL with an image's address and a "
                             "caption a row, as LAION has it.")
    ],
    out: Annotated[Path, typer.Argument(help="Folder for the images, to be imported then.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Rows at most.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds an image.")] = 20.0,
    megabytes: Annotated[float, typer.Option(min=0.01, help="Size of an image at most.")] = 30.0,
    url_column: Annotated[
        str | None, typer.Option(help="Column with the addresses. Default: found by its name.")
    ] = None,
    caption_column: CAPTION_COLUMN = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Fetch the images of a table of addresses; can be stopped and goes on.

    The one command that fetches what a dataset names. Addresses that are not public are refused.
    """
    with reported(as_json):
        from backend.datasets.fetching import Limits
        from backend.pipeline.downloading import download as run

        with progress("Downloading") as update:
            report = run(
                table, out.expanduser(), Limits(timeout, int(megabytes * 1e6)), limit, url_column,
                caption_column, update,
            )  # fmt: skip
        emit(
            report, as_json,
            f"{report.written} images in {report.folder}, {report.already_there} rows were dealt "
            f"with before, {report.failed} failed (failures.jsonl says why). Now: python app.py "
            f"import {report.folder}",
        )  # fmt: skip


def noise(
    path: Annotated[Path, typer.Argument(help="A dataset whose captions are taken for right.")],
    out: Annotated[Path, typer.Argument(help="Folder to write; it must not exist yet.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="random, noun or fine-grained; may be given several times. Default: all "
                     "three in turn."),
    ] = None,
    rate: Annotated[float, typer.Option(help="Share of the captions to make wrong.")] = 0.5,
    seed: Annotated[int, typer.Option(help="The same seed makes the same errors.")] = 0,
    llm: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Fine-grained errors by a language model behind this "
                     "OpenAI-compatible address, such as http://localhost:8000/v1 (key: "
                     "OPENAI_API_KEY). Default: by rules."),
    ] = None,
    llm_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The server's name of the language model.")
    ] = None,
    nli: Annotated[
        str,
        typer.Option(metavar="NAME_OR_DIR", help="Hugging Face NLI model that picks the least "
                     "consistent of the language model's variants."),
    ] = "cross-encoder/nli-deberta-v3-base",
    answers: Annotated[
        Path, typer.Option(help="Where the language model's answers are kept.")
    ] = Path("data/answers"),
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many pairs.")] = None,
    image_root: IMAGE_ROOT = None,
    format: Annotated[
        str, typer.Option(help="jsonl, csv, parquet, or imagefolder, which copies the images.")
    ] = "jsonl",
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier one.")] = False,
    device: DEVICE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Make a benchmark: a copy of a dataset with errors whose truth is recorded."""
    with reported(as_json):
        from backend.noise import KINDS
        from backend.pipeline.noising import add_noise

        kinds = [name.replace("-", "_") for name in kind or KINDS]
        source = None
        if llm is not None:
            from backend.language_models import ChatEndpoint
            from backend.noise.consistency import load_consistency_model
            from backend.noise.language_model import LanguageModelNoise

            if not llm_model:
                raise SettingsError("Name the language model as its server does: --llm-model NAME.")
            source = LanguageModelNoise(
                ChatEndpoint(llm, llm_model, cache=answers),
                load_consistency_model(nli, device or "cpu"),
            )
        with progress("Making errors") as update:
            report = add_noise(
                path, out, kinds=kinds, rate=rate, seed=seed, source=source, limit=limit,
                image_root=image_root, format=format, overwrite=overwrite, progress=update,
            )  # fmt: skip
        told = ", ".join(f"{name} {count}" for name, count in report.by_kind.items())
        emit(report, as_json, f"{report.wrong} of {report.pairs} captions made wrong ({told}). "
             f"Written to {report.out}.")  # fmt: skip


def export(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    out: Annotated[Path, typer.Argument(help="Folder to write; it must not exist yet.")],
    format: Annotated[
        str, typer.Option(help="imagefolder, csv, jsonl, parquet, webdataset, parquet-images "
                                  "or huggingface.")
    ] = "imagefolder",
    drop_above: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Leave out undecided pairs whose probability of error "
                     "is above this."),
    ] = None,
    abstract: Annotated[
        str, typer.Option(help="Pairs decided 'abstract': 'leave out', 'tag' or 'keep'.")
    ] = "leave out",
    dropped: Annotated[
        str, typer.Option(help="Pairs decided 'wrong: drop': 'leave out' or 'tag'.")
    ] = "leave out",
    unsure: Annotated[
        str, typer.Option(help="Pairs decided 'unsure': 'keep' or 'leave out'.")
    ] = "keep",
    decided_only: Annotated[bool, typer.Option(help="Only pairs with a verdict.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier export.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Only count, write nothing.")] = False,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Write the cleaned dataset, corrections applied, with a card that says what was removed."""
    from backend.views import ExportChoice

    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(dataset)
        choice = ExportChoice(drop_above, abstract, dropped, unsure, decided_only)
        counts = workspace.export_counts(dataset_id, choice)
        summary = (
            f"{counts.total} pairs: {counts.kept} stay ({counts.corrected} corrected, "
            f"{counts.tagged} tagged), {sum(counts.left_out.values())} left out."
        )
        if dry_run:
            emit(counts, as_json, summary + " Nothing written.")
            return
        with progress("Writing") as update:
            report = workspace.export(
                dataset_id, choice, out, format, overwrite=overwrite, progress=update
            )
        emit(report, as_json, f"{summary} Written to {report.out}.")
