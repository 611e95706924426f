"""`import`, `download`, `noise`, `export`: get datasets in and out."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from backend.cli.options import (
    AS_JSON,
    CAPTION_COLUMN,
    CAPTION_FROM,
    DATABASE,
    DELIMITER,
    DEVICE,
    ENCODING,
    ID_COLUMN,
    IMAGE_COLUMN,
    IMAGE_ROOT,
    NO_ID_COLUMN,
    SPLIT_COLUMN,
    SUBSET,
    one_queue,
)
from backend.cli.output import (
    console,
    emit,
    open_workspace,
    progress,
    reported,
    say_which_model,
)
from backend.cli.select_pairs import BY, LEAST
from backend.errors import SettingsError
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.datasets.hub_upload import HubDataset


def import_(
    path: Annotated[
        str,
        typer.Argument(help="A folder of images with metadata.jsonl or metadata.csv, or with a "
                       "caption file beside each (a.jpg, a.txt); a CSV, TSV, JSON, JSONL or "
                       "Parquet file with an image path and a caption (or a conversation) per row; "
                       "WebDataset tars, .tar.gz, a zip, Parquet with images, a saved Hugging Face "
                       "dataset or a clone of one, or hf:OWNER/DATASET from the hub."),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name in the database. Default: the folder's or file's name.")
    ] = None,
    image_column: IMAGE_COLUMN = None,
    caption_column: CAPTION_COLUMN = None,
    id_column: ID_COLUMN = None,
    no_id_column: NO_ID_COLUMN = False,
    split_column: SPLIT_COLUMN = None,
    image_root: IMAGE_ROOT = None,
    encoding: ENCODING = None,
    delimiter: DELIMITER = None,
    subset: SUBSET = None,
    caption_from: CAPTION_FROM = None,
    strict: Annotated[
        bool, typer.Option(help="Exit with status 3 if any row was left out.")
    ] = False,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Import a dataset. Bad rows are listed and left out; the good ones are imported."""
    with reported(as_json):
        if no_id_column and id_column is not None:
            raise SettingsError("Give --id-column or --no-id-column, not both.")
        workspace = open_workspace(load_settings({"database": db}))
        with progress("Reading pairs") as update:
            report = workspace.jobs.import_dataset(
                path, name=name, image_column=image_column, caption_column=caption_column,
                id_column="" if no_id_column else id_column, split_column=split_column,
                image_root=image_root, encoding=encoding,
                delimiter="\t" if delimiter == "\\t" else delimiter, subset=subset,
                caption_from=caption_from, progress=update,
            )  # fmt: skip
            update(0, 0, "Checking whether the model knows such pictures")
            refusal = workspace.jobs.needs_model(report.dataset_id)
        report = replace(report, asks_for_model=refusal)
        for note in report.notes:
            console.print(f"[cyan]note[/] {escape(note)}")
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
        if refusal:
            say_which_model(refusal, report.name)
        if (strict and report.problems) or report.added + report.already_there == 0:
            raise typer.Exit(3)


def download(
    table: Annotated[
        Path, typer.Argument(help="Parquet, CSV, TSV or JSONL with an image URL and a caption per "
                                  "row, such as LAION's.")
    ],
    out: Annotated[Path, typer.Argument(help="Folder for the images; import it afterwards.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of rows.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds per image.")] = 20.0,
    megabytes: Annotated[float, typer.Option(min=0.01, help="Maximum size of an image.")] = 30.0,
    url_column: Annotated[
        str | None, typer.Option(help="Column with the URLs. Default: detected by name.")
    ] = None,
    caption_column: CAPTION_COLUMN = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Download the images whose URLs are listed in a table.

    Stop it at any time: the same command resumes where it stopped. This is the only command that
    requests URLs from a dataset; those that do not resolve to a public address are refused.
    """
    with reported(as_json):
        from backend.datasets.fetching import Limits
        from backend.jobs.download_images import download as run

        with progress("Downloading") as update:
            report = run(
                table, out.expanduser(), Limits(timeout, int(megabytes * 1e6)), limit, url_column,
                caption_column, update,
            )  # fmt: skip
        emit(
            report, as_json,
            f"{report.written} images in {report.folder}, {report.already_there} rows were already "
            f"done, {report.failed} failed (failures.jsonl says why). Next: python app.py import "
            f"{report.folder}",
        )  # fmt: skip


def noise(
    path: Annotated[Path, typer.Argument(help="A dataset whose captions are assumed correct.")],
    out: Annotated[Path, typer.Argument(help="Output folder; it must not exist yet.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="random, noun or fine-grained; may be given several times. Default: all "
                     "three in turn."),
    ] = None,
    rate: Annotated[float, typer.Option(help="Share of the captions to make wrong.")] = 0.5,
    seed: Annotated[int, typer.Option(help="The same seed makes the same errors.")] = 0,
    llm: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Fine-grained errors by a language model at this "
                     "OpenAI-compatible address, such as http://localhost:8000/v1 (key: "
                     "OPENAI_API_KEY). Default: by rules."),
    ] = None,
    llm_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the language model on the server.")
    ] = None,
    nli: Annotated[
        str,
        typer.Option(metavar="NAME_OR_DIR", help="Hugging Face NLI model that picks the least "
                     "consistent of the language model's variants, or AlignScore's checkpoint "
                     "(.ckpt)."),
    ] = "cross-encoder/nli-deberta-v3-base",
    answers: Annotated[
        Path, typer.Option(help="Where the language model's answers are cached.")
    ] = Path("data/answers"),
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N pairs.")] = None,
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
        from backend.engine.noise import KINDS
        from backend.lab.noisy_dataset import add_noise

        kinds = [name.replace("-", "_") for name in kind or KINDS]
        source = None
        if llm is not None:
            from backend.engine.language_models import ChatEndpoint
            from backend.engine.noise.consistency import load_consistency_model
            from backend.engine.noise.language_model import LanguageModelNoise

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
        breakdown = ", ".join(f"{name} {count}" for name, count in report.by_kind.items())
        emit(
            report, as_json,
            f"{report.wrong} of {report.pairs} captions corrupted ({breakdown}). "
            f"Written to {report.out}.",
        )  # fmt: skip


def export(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    out: Annotated[Path, typer.Argument(help="Output folder; it must not exist yet.")],
    format: Annotated[
        str, typer.Option(help="imagefolder, sidecar (a .txt beside each image), coco, csv, jsonl, "
                               "parquet, webdataset, parquet-images or huggingface.")
    ] = "imagefolder",
    queue: Annotated[
        str, typer.Option("--queue", help="Only these pairs, as in a queue's address after the ?: "
                          "'p_error_to=0.5&review=all'. Without review=…: unreviewed ones, as on "
                          "the page."),
    ] = "",
    view: Annotated[
        str | None, typer.Option("--view", help="Only the pairs of a saved view, by name.")
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", help="Only pairs of this split; may be given several times. '' for "
                     "pairs without one."),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--ids", metavar="FILE", help="Only the pairs whose ids are in this file, one "
                                                   "id per line."),
    ] = None,
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
    specificity_below: Annotated[
        float | None,
        typer.Option(max=0.0, help="Captions with a specificity below this are generic (see score "
                     "--specificity)."),
    ] = None,
    generic: Annotated[
        str, typer.Option(help="With --specificity-below: 'tag' or 'leave out'.")
    ] = "tag",
    decided_only: Annotated[bool, typer.Option(help="Only pairs with a verdict.")] = False,
    captions: Annotated[
        str,
        typer.Option("--captions", help="'decided': as curators left them, accepted enrichments "
                                        "included; 'enriched': also suggested enrichments, "
                                        "unchecked, where no verdict says otherwise. The column "
                                        "caption_kind says which is which."),
    ] = "decided",
    align: Annotated[
        float | None,
        typer.Option("--align", help="Select undecided pairs in two stages, see the select "
                     "command: the share with the highest match. Default with --keep: 0.7."),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option("--keep", help="… then the share of the whole to keep. Default with --align: "
                                    "0.5."),
    ] = None,
    by: Annotated[str, BY] = "support",
    least_phrases: Annotated[int, LEAST] = 0,
    select: Annotated[
        str, typer.Option("--select", help="Pairs that are not selected: 'leave out' or 'tag'.")
    ] = "leave out",
    overwrite: Annotated[
        bool, typer.Option(help="Replace an earlier export; other files in its folder are kept.")
    ] = False,
    push_to_hub: Annotated[
        str | None,
        typer.Option("--push-to-hub", metavar="OWNER/NAME", help="Upload it to the Hugging Face "
                     "hub as well, private unless --public. Asks first."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="With --push-to-hub: make it public.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --push-to-hub: do not ask.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Only count, write nothing.")] = False,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Write the cleaned dataset, corrections applied, with a card that says what was removed."""
    from backend.datasets.hub_upload import look_up, push
    from backend.jobs.reports import ExportChoice, TwoStage
    from backend.review.pair_selection import read_ids

    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(dataset)
        one_queue(queue, view)
        only = workspace.review.select_pairs(
            dataset_id, queue, view, split or (), read_ids(ids) if ids is not None else None
        )
        two_stage = None
        if align is None and keep is None and (by != "support" or least_phrases or select == "tag"):
            raise SettingsError("--by, --least-phrases and --select go with --align or --keep.")
        if align is not None or keep is not None:
            if select not in ("leave out", "tag"):
                raise SettingsError(
                    f"'{select}' is not a valid choice for --select: use 'leave out' or 'tag'."
                )
            # The given splits contain the training pairs; the default is that of select.
            thinned = tuple(split) if split else workspace.review.split_for(dataset_id, None)
            two_stage = TwoStage(
                0.7 if align is None else align, 0.5 if keep is None else keep, by, least_phrases,
                thinned, select == "tag",
            )  # fmt: skip
        choice = ExportChoice(
            drop_above, abstract, dropped, unsure, specificity_below, generic, decided_only, only,
            two_stage, captions,
        )  # fmt: skip
        counts = workspace.jobs.export_counts(dataset_id, choice)
        summary = (
            f"{counts.total} pairs: {counts.kept} stay ({counts.corrected} corrected, "
            f"{counts.enriched} enriched, {counts.tagged} tagged), "
            f"{sum(counts.left_out.values())} left out."
        )
        if dry_run:
            emit(counts, as_json, summary + " Nothing written.")
            return
        hub = None
        if push_to_hub is not None:
            hub = look_up(push_to_hub, format, public)
            _agreed(hub, counts.kept, yes)
        with progress("Writing") as update:
            report = workspace.jobs.export(
                dataset_id, choice, out, format, overwrite=overwrite, progress=update
            )
        pushed = ""
        if hub is not None:
            push(report.out, hub)
            pushed = f" Uploaded to {hub.url}."
        emit(report, as_json, f"{summary} Written to {report.out}.{pushed}")


def _agreed(hub: "HubDataset", pairs: int, yes: bool) -> None:
    """Ask whether the pairs may leave this machine. Raises SettingsError if the user declines, or
    if there is no terminal to ask on."""
    if yes:
        return
    what = "private" if hub.private else "PUBLIC"
    files = "1 file" if hub.files == 1 else f"{hub.files:,} files"
    existing = f", which already has {files}" if hub.exists else ""
    question = f"Upload {pairs} pairs with their images to {hub.url} ({what}){existing}?"
    if not sys.stdin.isatty():
        raise SettingsError(f"{question} Cannot ask without a terminal: pass --yes.")
    if not typer.confirm(question, err=True):
        raise SettingsError("Nothing was written, and nothing uploaded.")
