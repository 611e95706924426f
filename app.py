"""TRACED Curator on the command line: serve (default), import, score, train, export, …

Results go to standard output, everything else (progress, warnings, errors) to standard error, so
that `--json` can be piped. Exit status: 0 done; 2 wrong usage or setting; 3 dataset; 4 model;
5 training; 6 export; 7 database; 8 not found; 1 anything unexpected; 130 interrupted.
"""

import contextlib
import dataclasses
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

# Before gradio is imported anywhere: nothing here calls home.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from backend.errors import SettingsError, TracedError, explain
from backend.settings import (
    DEMO,
    EMBEDDED_CAPTIONER,
    MODELS,
    Settings,
    default_data_directory,
    load_settings,
)
from backend.version import VERSION
from backend.views import AccountsView, BackupReport

app = typer.Typer(
    name="traced",
    help="Find, understand and fix wrong captions in image-text datasets. Without a command the "
    "app opens in the browser on the demo dataset.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
console = Console(stderr=True, highlight=False)

DATABASE = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="Where verdicts and scores live: any SQLAlchemy URL. "
                 "Default: a SQLite file in your user data folder (printed at start)."),
]  # fmt: skip
MODEL = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME_OR_DIR", help="The model that scores image against "
                 "caption: a Hugging Face name (openai/clip-vit-base-patch32, "
                 "Salesforce/blip-itm-base-coco, google/siglip-base-patch16-224, …), a directory, "
                 "or open_clip:ARCHITECTURE@PRETRAINED. Default: the embedded one, which knows "
                 "drawn scenes only."),
]  # fmt: skip
KIND = Annotated[
    str | None,
    typer.Option("--scorer", metavar="KIND", help="clip, blip-itc, blip-itm, siglip, open-clip, or "
                 "lemon on top of any of them that embeds. Default: what the model is made for "
                 "(BLIP: blip-itm)."),
]  # fmt: skip
CAPTIONER = Annotated[
    str | None,
    typer.Option(metavar="NAME_OR_DIR", help="BLIP captioner that refills suspect words, or "
                 "'none'. Default: the embedded one beside the embedded scorer."),
]  # fmt: skip
CONCRETENESS = Annotated[
    str | None,
    typer.Option(metavar="NAME_OR_DIR", help="Model for the concreteness of captions (ICC), such "
                 "as moranyanuka/icc. Default: the embedded one."),
]  # fmt: skip
VLM = Annotated[
    str | None,
    typer.Option("--vlm", metavar="NAME_OR_DIR", help="Vision-language model that corrects: a "
                 "directory or hub name (OpenGVLab/InternVL3-1B-hf, Qwen/Qwen2.5-VL-3B-Instruct, "
                 "HuggingFaceTB/SmolVLM-256M-Instruct, …), or with --vlm-url the server's name of "
                 "it. Default: none is asked."),
]  # fmt: skip
VLM_URL = Annotated[
    str | None,
    typer.Option("--vlm-url", metavar="URL", help="OpenAI-compatible server (vLLM, Ollama, LM "
                 "Studio, a paid one), such as http://localhost:8000/v1. Its key: OPENAI_API_KEY."),
]  # fmt: skip
VLM_MODE = Annotated[
    str | None,
    typer.Option("--vlm-mode", help="What it is told: unguided (image and caption), words (and the "
                 "suspect words), reasoning (and to go step by step) or trajectory (and every "
                 "step). Default: words."),
]  # fmt: skip
QUANTISE = Annotated[
    str | None, typer.Option(help="4bit or 8bit: a local --vlm quantised, on an accelerator.")
]
DEVICE = Annotated[str | None, typer.Option(help="cuda, mps or cpu. Default: the best there is.")]
PRECISION = Annotated[
    str | None,
    typer.Option(help="float32 or bfloat16. Default: bfloat16 on CUDA, float32 elsewhere."),
]
EXPLORER = Annotated[
    str | None,
    typer.Option(help="How captions are edited: elimination, gcd or fast-gcd. Default: "
                 "elimination."),
]  # fmt: skip
DETECTOR = Annotated[
    str | None,
    typer.Option(help="What is trained on the trajectories: best (chosen by cross-validation), "
                 "paper (TRACED's own features and grids), s_0 alone, logistic, cart, xgboost, "
                 "xgboost on s_0 or ensemble. Default: best."),
]  # fmt: skip
AS_JSON = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, for programs.")
]
CAPTION_COLUMN = Annotated[
    str | None, typer.Option(help="Column with the captions. Default: found by its name.")
]
IMAGE_COLUMN = Annotated[
    str | None, typer.Option(help="Column with the image paths. Default: found by its name.")
]
ID_COLUMN = Annotated[
    str | None, typer.Option(help="Column with your own ids. Default: found by its name.")
]
SPLIT_COLUMN = Annotated[
    str | None, typer.Option(help="Column with train/validation/test. Default: found by its name.")
]
IMAGE_ROOT = Annotated[
    Path | None,
    typer.Option(help="Folder that image paths are relative to. Default: the file's own folder."),
]


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(VERSION)
        raise typer.Exit()
    if context.invoked_subcommand is None:
        serve()


@app.command()
def serve(
    data: Annotated[
        str | None,
        typer.Option(help="Dataset to review: a folder, a metadata file, or a name in the "
                     "database. It is imported and scored first if needed. Default: the demo."),
    ] = None,
    db: DATABASE = None,
    model: MODEL = None,
    scorer: KIND = None,
    captioner: CAPTIONER = None,
    vlm: VLM = None,
    vlm_url: VLM_URL = None,
    vlm_mode: VLM_MODE = None,
    quantise: QUANTISE = None,
    concreteness: CONCRETENESS = None,
    device: DEVICE = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1, this machine.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: 7860.")] = None,
    author: Annotated[
        str | None, typer.Option(help="Name that your verdicts bear. Default: curator.")
    ] = None,
    no_login: Annotated[
        bool,
        typer.Option("--no-login", help="Ask nobody for a password: whoever reaches the port can "
                     "give verdicts. Otherwise people log in as soon as there are accounts."),
    ] = False,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Also offer the actions as MCP tools, at /gradio_api/mcp.")
    ] = False,
) -> None:  # fmt: skip
    """Open the app: review, playground, datasets, retraining, export."""
    with reported(False):
        settings = load_settings(
            {"database": db, "model": model, "kind": scorer, "captioner": captioner,
             "corrector": vlm, "corrector_url": vlm_url, "corrector_mode": vlm_mode,
             "quantise": quantise,
             "concreteness": concreteness, "device": device, "host": host, "port": port,
             "author": author}
        )  # fmt: skip
        # Imported here: the other commands need no web server.
        from traced_ui.server import serve as serve_app

        workspace = open_workspace(settings)
        login = not no_login and workspace.team.has_accounts()
        if settings.host not in ("127.0.0.1", "localhost", "::1") and not login and not no_login:
            raise SettingsError(
                f"{settings.host} can be reached from other machines and there are no accounts "
                "yet. Add one (python app.py curators add NAME), or use --host 127.0.0.1, or "
                "--no-login if everybody who reaches the port may give verdicts."
            )
        console.print(f"Database:  {escape(shown_database(settings))}")
        console.print(f"Caches:    {escape(str(settings.data_directory))}")
        console.print(f"Model:     {escape(settings.model)}")
        start_dataset = workspace.prepare(data or str(DEMO))
        console.print(f"Open       http://{settings.host}:{settings.port}/   (stop with Ctrl-C)")
        serve_app(workspace, settings, dataset_id=start_dataset, login=login, mcp=mcp)


curators = typer.Typer(
    name="curators",
    help="Accounts of those who may log in. Passwords are asked for, or read from the environment "
    "variable TRACED_PASSWORD.",
    no_args_is_help=True,
)
app.add_typer(curators)
NAME = Annotated[str, typer.Argument(help="The curator's name, as their verdicts bear it.")]
ROLE = Annotated[
    str,
    typer.Option(help="curator, or adjudicator: may also settle what others disagree about, and "
                 "set how many pairs several people judge."),
]  # fmt: skip


@curators.command("add")
def add_curator(name: NAME, role: ROLE = "curator", db: DATABASE = None) -> None:
    """Add an account."""
    with reported(False):
        workspace = open_workspace(load_settings({"database": db}))
        made = workspace.team.add(name, _password(), role)
        console.print(f"{escape(made.name)} may log in ({made.role}).")


@curators.command("list")
def list_curators(db: DATABASE = None, as_json: AS_JSON = False) -> None:
    """All accounts."""
    with reported(as_json):
        accounts = open_workspace(load_settings({"database": db})).team.accounts()
        told = "\n".join(
            f"{a.name}  {a.role}{'' if a.active else '  (may not log in)'}" for a in accounts
        )
        emit(AccountsView(tuple(accounts)), as_json, told or "There are no accounts.")


@curators.command("password")
def change_password(name: NAME, db: DATABASE = None) -> None:
    """Give an account a new password. All its browsers have to log in again."""
    with reported(False):
        open_workspace(load_settings({"database": db})).team.change(name, password=_password())
        console.print(f"{escape(name)} has a new password.")


@curators.command("role")
def change_role(name: NAME, role: ROLE, db: DATABASE = None) -> None:
    """Make an account a curator or an adjudicator."""
    with reported(False):
        open_workspace(load_settings({"database": db})).team.change(name, role=role)
        console.print(f"{escape(name)} is {escape(role)} now.")


@curators.command("remove")
def remove_curator(name: NAME, db: DATABASE = None) -> None:
    """Close an account; its verdicts stay. `restore` opens it again."""
    with reported(False):
        open_workspace(load_settings({"database": db})).team.change(name, active=False)
        console.print(f"{escape(name)} may not log in any more.")


@curators.command("restore")
def restore_curator(name: NAME, db: DATABASE = None) -> None:
    """Open a closed account again."""
    with reported(False):
        open_workspace(load_settings({"database": db})).team.change(name, active=True)
        console.print(f"{escape(name)} may log in again.")


def _password() -> str:
    given = os.environ.get("TRACED_PASSWORD")
    return given or typer.prompt("Password", hide_input=True, confirmation_prompt=True)


@app.command("import")
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


@app.command()
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


@app.command()
def score(
    dataset: Annotated[str, typer.Argument(help="Name in the database, or a path to import.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Also write a row a pair (id, s_0, p_error, icc, suspects) to this "
                     ".jsonl or .parquet file."),
    ] = None,
    suggestions: Annotated[
        bool, typer.Option(help="Prepare corrections for the pairs that look wrong.")
    ] = True,
    db: DATABASE = None,
    model: MODEL = None,
    scorer: KIND = None,
    captioner: CAPTIONER = None,
    concreteness: CONCRETENESS = None,
    device: DEVICE = None,
    precision: PRECISION = None,
    explorer: EXPLORER = None,
    unit: Annotated[
        str | None, typer.Option(help="What elimination deletes: word or token. Default: word.")
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="maximise or minimise the score. Default: maximise.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Steps T of gcd and fast-gcd. Default: 10.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Replacements K a position. Default: 128.")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(help="Candidates N a step of gcd. Default: 256.")
    ] = None,
    any_token: Annotated[
        bool, typer.Option(help="Replacements may be any token, not only whole words.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of what gcd draws by lot. Default: 0.")] = None,
    lemon: Annotated[
        str | None,
        typer.Option(help="LEMoN's weights: fix, or opt (fitted to this dataset's verdicts). "
                     "Default: fix."),
    ] = None,
    detector: DETECTOR = None,
    engine: Annotated[
        str, typer.Option(help="local, or ray: trajectories by the workers of a Ray cluster.")
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(help="With --engine ray: a running cluster (auto, HOST:PORT, ray://HOST:PORT)."
                     " Default: this machine's cores."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="With --engine ray: how many. Default: one a core or "
                                 "accelerator.")
    ] = None,
    shared_folder: Annotated[
        Path | None,
        typer.Option(help="With --engine ray: for shards and results; on a cluster a folder that "
                     "all its machines see, as they must see the images. Default: beside the "
                     "database."),
    ] = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Compute trajectories, probability of error, suspect words and ICC of every pair.

    Stop it whenever you like: the same command goes on where it was.
    """
    with reported(as_json):
        settings = load_settings(
            {"database": db, "model": model, "kind": scorer, "captioner": captioner,
             "concreteness": concreteness, "device": device, "precision": precision,
             "explorer": explorer, "unit": unit, "direction": direction, "steps": steps,
             "top": top, "candidates": candidates, "seed": seed, "lemon": lemon,
             "whole_words": False if any_token else None, "detector": detector}
        )  # fmt: skip
        if engine not in ("local", "ray"):
            raise SettingsError(f"There is no engine '{engine}'; use local or ray.")
        cluster = None
        if engine == "ray":
            from backend.pipeline.ray_scoring import Cluster

            folder = shared_folder.expanduser().resolve() if shared_folder else None
            cluster = Cluster(ray_address, workers, folder)
        workspace = open_workspace(settings)
        if out is not None:
            workspace.check_score_file(out)
        dataset_id = workspace.find_or_import(dataset)
        if limits := workspace.model_info().limits:
            console.print(f"[yellow]Note:[/] {escape(limits)}")
        with progress("Scoring") as update:
            report = workspace.score(
                dataset_id, progress=update, suggestions=suggestions, cluster=cluster
            )
        if out is not None:
            rows = workspace.write_scores(dataset_id, out)
            console.print(f"{rows} rows written to {escape(str(out))}")
        emit(
            report, as_json,
            f"{report.scored} pairs scored, {report.skipped} had scores already, "
            f"{report.unreadable} images unreadable, {report.truncated} captions longer than the "
            f"model reads; {report.seconds:.0f} s.",
        )  # fmt: skip


@app.command()
def correct(
    dataset: Annotated[str, typer.Argument(help="Name in the database, scored.")],
    queue: Annotated[
        str, typer.Option("--queue", help="Which pairs, as the part behind ? in the address of a "
                          "queue: 'p_error_from=0.5&split=train'. Default: all unreviewed pairs, "
                          "most likely wrong first."),
    ] = "",
    view: Annotated[str | None, typer.Option(help="Which pairs: a saved view, by name.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many pairs at most.")] = None,
    vlm: VLM = None,
    vlm_url: VLM_URL = None,
    vlm_mode: VLM_MODE = None,
    quantise: QUANTISE = None,
    at_once: Annotated[
        int, typer.Option(min=1, max=64, help="Questions in flight at a server.")
    ] = 4,
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds for an answer of the server. Default: 60.")
    ] = None,
    price_in: Annotated[
        float, typer.Option(min=0, help="Price of a million tokens of questions.")
    ] = 0.0,
    price_out: Annotated[
        float, typer.Option(min=0, help="Price of a million tokens of answers.")
    ] = 0.0,
    budget: Annotated[
        float | None, typer.Option(min=0, help="Stop when this much is spent, at those prices.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, help="Stop after so many tokens, in and out.")
    ] = None,
    budget_requests: Annotated[
        int | None, typer.Option(min=0, help="Stop after so many questions.")
    ] = None,
    accept_p: Annotated[
        float | None, typer.Option(min=0, max=1, help="With --accept-gain: accept, without a "
                                   "person, suggestions whose probability of error is at most "
                                   "this. The verdict's author is the rule.")
    ] = None,
    accept_gain: Annotated[
        float | None, typer.Option(help="With --accept-p: and whose s rises by at least this.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent for the first pairs; send "
                           "nothing.")
    ] = False,
    db: DATABASE = None,
    model: MODEL = None,
    scorer: KIND = None,
    captioner: CAPTIONER = None,
    device: DEVICE = None,
    precision: PRECISION = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Suggest corrections for a whole queue; they wait for a curator.

    Without --vlm those that need no vision-language model. Stop it whenever you like: the same
    command goes on where it was, and no question is paid for twice.
    """
    with reported(as_json):
        from urllib.parse import parse_qsl

        from backend.language_models import Budget, Prices
        from backend.pipeline.correcting import Rule
        from traced_ui.queue_filter import cleaned, from_fields

        if (accept_p is None) != (accept_gain is None):
            raise SettingsError("A rule has both: --accept-p and --accept-gain.")
        if budget is not None and not (price_in or price_out):
            raise SettingsError("A budget in money needs prices: --price-in and --price-out.")
        rule = Rule(accept_p, accept_gain) if accept_p is not None and accept_gain else None
        settings = load_settings(
            {"database": db, "model": model, "kind": scorer, "captioner": captioner,
             "device": device, "precision": precision, "corrector": vlm, "corrector_url": vlm_url,
             "corrector_mode": vlm_mode, "quantise": quantise, "corrector_timeout": timeout}
        )  # fmt: skip
        workspace = open_workspace(settings)
        dataset_id = workspace.find(dataset)
        fields = dict(parse_qsl(queue.lstrip("?"), keep_blank_values=False))
        if view is not None:
            saved = {row.name: row.fields for row in workspace.saved_views(dataset_id)}
            if view not in saved:
                raise SettingsError(f"There is no view '{view}'; there are: {', '.join(saved)}.")
            fields = dict(saved[view])
        fields = cleaned(fields)
        among = workspace.search(dataset_id, fields.get("meaning", ""), fields.get("like", ""))
        filter = from_fields(dataset_id, fields, among)
        spending = workspace.engine.spending
        spending.prices = Prices(price_in, price_out)
        spending.budget = Budget(budget, budget_tokens, budget_requests)
        if dry_run:
            found = workspace.dry_run(filter)
            emit(found, as_json, dry_run_summary(found))
            return
        with progress("Correcting") as update:
            report = workspace.correct(
                filter, rule, limit, at_once if vlm_url else 1, progress=update
            )
        emit(report, as_json, correction_summary(report))


@app.command()
def distill(
    dataset: Annotated[str, typer.Argument(help="Name in the database, with corrections.")],
    student: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Small vision-language model to train, such "
                          "as OpenGVLab/InternVL3-1B-hf or HuggingFaceTB/SmolVLM-256M-Instruct."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the instructions and the model.")],
    teacher: Annotated[
        str | None, typer.Option(metavar="NAME_OR_DIR", help="Large model to compare with, and "
                                 "with --taught to learn from (OpenGVLab/InternVL3-14B-hf, …)."),
    ] = None,
    teacher_url: Annotated[
        str | None, typer.Option(metavar="URL", help="OpenAI-compatible server that has it.")
    ] = None,
    taught: Annotated[
        int, typer.Option(min=0, help="Undecided pairs whose corrections the teacher gives.")
    ] = 0,
    mode: Annotated[str, typer.Option(help="unguided, words or trajectory.")] = "words",
    epochs: Annotated[int, typer.Option(min=1)] = 3,
    rank: Annotated[int, typer.Option(min=1, help="Of LoRA.")] = 16,
    learning_rate: Annotated[float, typer.Option()] = 2e-4,
    batch: Annotated[int, typer.Option(min=1)] = 8,
    train_also: Annotated[
        str, typer.Option(help="Modules trained whole, by comma: a new model's embeddings and "
                          "head (embed_tokens,lm_head).")
    ] = "",
    held_out: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of the pictures to examine on.")
    ] = 0.2,
    seed: Annotated[int, typer.Option()] = 0,
    db: DATABASE = None,
    model: MODEL = None,
    scorer: KIND = None,
    device: DEVICE = None,
    quantise: QUANTISE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Train a small corrector on corrections that people accepted; use it by --vlm OUT/model."""
    with reported(as_json):
        from backend.correction.fine_tuning import Recipe
        from backend.engine import Engine
        from backend.language_models.local import load_local

        settings = load_settings({"database": db, "model": model, "kind": scorer, "device": device})
        workspace = open_workspace(settings)
        dataset_id = workspace.find(dataset)
        asked = None
        if teacher is not None:
            named = {"corrector": teacher, "corrector_url": teacher_url, "device": device}
            found = Engine(load_settings(named)).corrector
            asked = found.model if found else None
        small = load_local(student, device or "cpu", quantise)  # type: ignore[arg-type]
        modules = tuple(name.strip() for name in train_also.split(",") if name.strip())
        recipe = Recipe(rank, 2 * rank, epochs, learning_rate, batch, modules, seed)
        with progress("Distilling a corrector") as update:
            report = workspace.distil(
                dataset_id, small, out, asked, _mode(mode), taught, held_out, recipe, update
            )
        emit(report, as_json, distillation_summary(report))


@app.command()
def train(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    adopt: Annotated[bool, typer.Option(help="Put the new classifier to use at once.")] = False,
    db: DATABASE = None,
    model: MODEL = None,
    scorer: KIND = None,
    device: DEVICE = None,
    detector: DETECTOR = None,
    as_json: AS_JSON = False,
) -> None:
    """Train the detector on the verdicts so far and injected noise; compare with the one in use."""
    with reported(as_json):
        settings = load_settings(
            {"database": db, "model": model, "kind": scorer, "device": device, "detector": detector}
        )
        workspace = open_workspace(settings)
        dataset_id = workspace.find(dataset)
        with progress("Training") as update:
            report = workspace.train(dataset_id, progress=update)
        if adopt:
            workspace.adopt(report.classifier_id)
        emit(report, as_json, training_summary(report, adopt))


@app.command()
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


@app.command("progress")
def progress_(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """How far the review has come, and how many errors remain."""
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        view = workspace.progress(workspace.find(dataset))
        told = f"{view.reviewed} of {view.total} reviewed, {view.errors_found} were errors. "
        if view.remaining is None:
            told += "How many remain is unknown: decide some pairs in the order 'random audit'."
        else:
            left = view.remaining
            told += (
                f"About {left.errors:.0f} remain ({left.low:.0f} to {left.high:.0f}, 95 %), from "
                f"{left.sample} pairs drawn by lot."
            )
        emit(view, as_json, told)


@app.command()
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


@app.command()
def evaluate(
    what: Annotated[
        str, typer.Argument(help="detection, or icc: concreteness against people's ratings.")
    ] = "detection",
    ratings: Annotated[
        list[Path] | None,
        typer.Option(help="With icc: CSV files of captions and people's ratings."),
    ] = None,
    words: Annotated[
        list[Path] | None,
        typer.Option(help="With icc: CSV files of single words and people's ratings."),
    ] = None,
    concreteness: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME_OR_DIR", help="With icc: models, such as moranyanuka/icc, or "
                     "embedded. Default: embedded."),
    ] = None,
    dataset: Annotated[
        str, typer.Option(help="scenes (drawn, fresh, the truth known), unfamiliar-scenes (of a "
                          "world that the embedded models have never seen), or a dataset's path, "
                          "whose captions are taken for right.")
    ] = "scenes",
    scorer: Annotated[
        list[str] | None,
        typer.Option(help="As for score, or lemon-fix, lemon-opt; may be given several times. "
                     "Default: blip-itm."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Default: the embedded model of each scorer.")
    ] = None,
    embedded: Annotated[
        list[Path] | None,
        typer.Option(help="Folder with embedded models; given several times, seed k takes the "
                     "k-th: independently trained models. Default: those of the program."),
    ] = None,
    explorer: Annotated[
        list[str] | None,
        typer.Option(help="elimination, gcd or fast-gcd; may be given several times."),
    ] = None,
    noise: Annotated[
        str, typer.Option(help="random, noun, fine-grained or all; recorded: as the dataset says, "
                          "made by the noise command.")
    ] = "all",
    seeds: Annotated[int, typer.Option(help="Independent repetitions.")] = 3,
    first_seed: Annotated[int, typer.Option(help="The first of them.")] = 0,
    pairs: Annotated[int, typer.Option(help="Pairs a run; half of them wrong.")] = 400,
    detector: DETECTOR = None,
    compare: Annotated[
        bool, typer.Option(help="Also every detector by itself, and the paper's ablations. Slow.")
    ] = False,
    corrections: Annotated[
        int, typer.Option(min=0, help="Correct so many wrong captions a run and judge that.")
    ] = 0,
    captioner: CAPTIONER = None,
    vlm: VLM = None,
    vlm_url: VLM_URL = None,
    vlm_mode: Annotated[
        list[str] | None,
        typer.Option(help="With --corrections and --vlm: unguided, words, reasoning, trajectory; "
                     "may be given several times. Default: all four."),
    ] = None,
    quantise: QUANTISE = None,
    times: Annotated[
        int, typer.Option(min=0, help="Time so many pairs with and without trajectories.")
    ] = 0,
    image_root: IMAGE_ROOT = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Also write all tables to this Markdown file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Also write charts and tables to this HTML file.")
    ] = None,
    cache: Annotated[
        Path, typer.Option(help="Where trajectories are kept for the next question.")
    ] = Path("data/evaluation"),
    device: DEVICE = None,
    precision: PRECISION = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Does it find errors? Noise of known truth, judged on held-out pairs beside its controls."""
    with reported(as_json):
        if what == "icc":
            _evaluate_icc(ratings, words, concreteness, markdown, device, as_json)
            return
        if what != "detection" or ratings or words:
            raise SettingsError(
                "Evaluate 'detection' (the default), or 'icc' with --ratings FILE or --words FILE."
            )
        from dataclasses import replace

        from backend.correction.by_language_model import Corrector
        from backend.correction.modes import MODES
        from backend.engine import Engine
        from backend.evaluation.evaluate import NOISES, Plan
        from backend.evaluation.evaluate import evaluate as run
        from backend.evaluation.page import page as html_page
        from backend.evaluation.tables import markdown as tables
        from backend.trajectories.exploring import Exploring

        if vlm is not None and not corrections:
            raise SettingsError("Say how many captions it corrects: --corrections N.")
        correctors: list[Corrector] = []
        if vlm is not None:
            named = {"corrector": vlm, "corrector_url": vlm_url, "device": device,
                     "quantise": quantise}  # fmt: skip
            found = Engine(load_settings(named)).corrector
            correctors = (
                [replace(found, mode=_mode(mode)) for mode in vlm_mode or MODES] if found else []
            )
        plan = Plan(
            dataset=dataset, image_root=image_root, scorers=scorer or ["blip-itm"], model=model,
            embedded=embedded or [MODELS], captioner=captioner,
            explorers=[Exploring(name) for name in explorer or ["elimination"]],  # type: ignore[arg-type]
            noises=NOISES if noise == "all" else [noise], seeds=seeds, first_seed=first_seed,
            pairs=pairs, detector=detector or "best", compare=compare, corrections=corrections,
            correctors=correctors, times=times, device=device, precision=precision, cache=cache,
        )  # fmt: skip
        for target in (markdown, page):
            if target is not None and not target.absolute().parent.is_dir():
                raise SettingsError(f"There is no folder {target.absolute().parent}.")
        with progress("Evaluating") as update:
            report = run(plan, update)
        told = tables(report)
        if markdown is not None:
            markdown.write_text(told + "\n", encoding="utf-8")
        if page is not None:
            command = " ".join(["python app.py", *sys.argv[1:]])
            page.write_text(html_page(report, command), encoding="utf-8")
        emit(report, as_json, told)


@app.command()
def icc(
    captions: Annotated[
        Path, typer.Argument(help="Captions to learn from: a text file, one a line.")
    ],
    labelled: Annotated[
        Path, typer.Option(help="CSV file of captions and people's ratings (ICC: 244 of them).")
    ],
    out: Annotated[Path, typer.Option(help="Folder for everything that is made.")],
    language_model: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Causal language model that writes captions "
                          "back from CLIP's vector, such as meta-llama/Llama-2-7b-hf."),
    ],
    text_to_image: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Text-to-image model of diffusers, such as "
                          "stabilityai/stable-diffusion-2; or gallery:FOLDER, the nearest of its "
                          "pictures."),
    ] = f"gallery:{DEMO}",
    captioner: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Such as Salesforce/blip2-opt-2.7b. "
                          "Default: the embedded one."),
    ] = str(EMBEDDED_CAPTIONER),
    clip: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Such as openai/clip-vit-large-patch14. "
                          "Default: the embedded one."),
    ] = str(MODELS / "scenes-clip"),
    encoder: Annotated[
        str | None, typer.Option(metavar="NAME_OR_DIR", help="Text encoder for BERTScore. Default: "
                                 "the embedded MiniLM."),
    ] = None,
    distil_into: Annotated[
        str | None, typer.Option(metavar="NAME_OR_DIR", help="Small text encoder that becomes the "
                                 "scorer, such as distilroberta-base. Default: the embedded "
                                 "MiniLM."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Of the linear layer.")] = 2,
    distillation_epochs: Annotated[int, typer.Option(min=1, help="Of the text encoder.")] = 3,
    prefix: Annotated[
        int, typer.Option(min=1, help="Inputs of the language model that the vector becomes.")
    ] = 1,
    seed: Annotated[int, typer.Option()] = 0,
    device: DEVICE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Make a concreteness scorer as the ICC paper does; use it by --concreteness OUT/model.

    Stop it whenever you like: the same command goes on where it was.
    """
    with reported(as_json):
        from backend.concreteness.making.loading import load_parts
        from backend.concreteness.making.pipeline import make, read_ratings

        rated = read_ratings(labelled)
        lines = read_lines(captions)
        parts = load_parts(
            text_to_image, captioner, clip, language_model, encoder, distil_into, prefix,
            device or "cpu", seed,
        )  # fmt: skip
        with progress("Making a concreteness scorer") as update:
            report = make(
                lines, rated, parts, out, epochs, distillation_epochs, seed, progress=update
            )
        told = [
            f"{name}: Pearson {one.pearson:.3f}, Spearman {one.spearman:.3f}, "
            f"Kendall {one.kendall:.3f}"
            for name, one in (("by pictures", report.vba), ("by vectors", report.sba),
                              ("both", report.combined), ("distilled", report.distilled))
        ]  # fmt: skip
        emit(
            report, as_json,
            "\n".join([*told, f"on the {report.labelled} labelled captions. "
                       f"Use it: --concreteness {report.model}"]),
        )  # fmt: skip


def read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path} cannot be read as text: {problem}.") from problem


@app.command()
def bench(
    scorer: Annotated[
        list[str] | None,
        typer.Option(help="blip-itm, blip-itc or clip; may be given several times. Default: all."),
    ] = None,
    explorer: Annotated[
        list[str] | None,
        typer.Option(help="elimination, gcd or fast-gcd; may be given several times. Default: "
                     "elimination."),
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs to measure on.")] = 8,
    words: Annotated[str, typer.Option(help="Words a caption, from-to.")] = "8-20",
    reference: Annotated[
        bool, typer.Option(help="Also run the plain way, which is slow, and compare.")
    ] = True,
    store: Annotated[
        int | None,
        typer.Option(min=1, metavar="PAIRS", help="Measure instead how fast the queue answers in a "
                     "generated store of so many pairs."),
    ] = None,
    curators: Annotated[
        int | None,
        typer.Option(min=1, help="Measure instead so many curators at once over a real server."),
    ] = None,
    ray: Annotated[
        int | None,
        typer.Option(min=200, metavar="PAIRS", help="Measure instead what Ray's workers do, on so "
                     "many drawn pairs, and what large datasets would cost."),
    ] = None,
    verdicts: Annotated[
        int, typer.Option(min=1, help="With --curators: verdicts that they give together.")
    ] = 2000,
    servers: Annotated[
        int, typer.Option(min=1, help="With --curators: servers that share the one database.")
    ] = 1,
    pause: Annotated[
        float, typer.Option(min=0, help="With --curators: seconds that each looks at a pair.")
    ] = 0.0,
    db: DATABASE = None,
    device: DEVICE = None,
    precision: PRECISION = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Measure the engine against the plain way and against the arithmetic, in one run.

    With models of the published sizes and random weights: nothing to download.
    """
    with reported(as_json):
        if store is not None:
            from backend.bench.queue_speed import bench_store

            with progress("Making pairs") as update:
                measured = bench_store(store, db, update)
            emit(measured, as_json, measured.table())
            return
        if curators is not None:
            from backend.bench.load import bench_load

            with progress("Making pairs") as update:
                load = bench_load(curators, verdicts, db, update, servers, pause)
            emit(load, as_json, load.table())
            return
        if ray is not None:
            from backend.bench.cluster import bench_cluster

            with progress("Measuring") as update:
                found = bench_cluster(ray, progress=update)
            emit(found, as_json, found.table())
            return
        from backend.bench.report import run_bench, table

        with progress("Measuring") as update:
            report = run_bench(
                scorer or [], explorer or [], pairs, words, reference, device, precision, update
            )
        emit(report, as_json, table(report.results))


@app.command()
def doctor(
    models: Annotated[
        bool, typer.Option(help="Also load the models, which may take a while.")
    ] = False,
    db: DATABASE = None,
    model: MODEL = None,
    scorer: KIND = None,
    captioner: CAPTIONER = None,
    as_json: AS_JSON = False,
) -> None:
    """Check database, files and models, and say what to do. Status 1 if something is wrong."""
    with reported(as_json):
        from backend.pipeline.doctor import examine

        report = examine(
            load_settings({"database": db, "model": model, "kind": scorer, "captioner": captioner}),
            models,
        )
        colours = {"ok": "green", "warning": "yellow", "problem": "red"}
        for one in report.findings:
            mark = f"[{colours[one.state]}]{one.state:8}[/]"
            console.print(f"{mark} {escape(one.what)}: {escape(one.told)}", soft_wrap=True)
            if one.advice:
                console.print(f"         {escape(one.advice)}", soft_wrap=True)
        told = "All is well." if report.is_well else "Something needs you, see above."
        emit(report, as_json, told)
        if not report.is_well:
            raise typer.Exit(1)


@app.command()
def backup(
    out: Annotated[Path, typer.Argument(help="The new file.")],
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """Copy the database, consistently, while the app goes on running.

    To go back: stop the app and put the copy in the database's place, or give it with --db; for
    PostgreSQL, pg_restore reads it.
    """
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        target = workspace.store.backup(out.expanduser().resolve())
        made = BackupReport(str(target), target.stat().st_size)
        emit(made, as_json, f"{target}: {target.stat().st_size:,} bytes")


def _evaluate_icc(
    ratings: list[Path] | None,
    words: list[Path] | None,
    models: list[str] | None,
    out: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    from backend.evaluation.icc import evaluate_icc
    from backend.evaluation.icc import markdown as table

    if not ratings and not words:
        raise SettingsError("Name a file with ratings: --ratings FILE (captions) or --words FILE.")
    named = [None if name == "embedded" else name for name in models or ["embedded"]]
    report = evaluate_icc(ratings or [], words or [], named, device)
    if out is not None:
        out.write_text(table(report) + "\n", encoding="utf-8")
    emit(report, as_json, table(report))


def _mode(name: str) -> Any:
    from backend.correction.modes import MODES

    if name not in MODES:
        raise SettingsError(f"There is no mode '{name}'; use {', '.join(MODES)}.")
    return name


def correction_summary(report: Any) -> str:
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(report.outcomes.items()))
    lines = [f"{report.proposer}: {report.looked_at} pairs; {outcomes or 'none left'}."]
    if report.requests or report.answers_kept:
        lines.append(
            f"{report.requests} questions sent, {report.answers_kept} answered before; "
            f"{report.tokens_in} tokens in, {report.tokens_out} out"
            + (f"; cost {report.cost:.4f}." if report.cost else ".")
        )
    if report.rule is not None:
        lines.append(f"{report.accepted} accepted by the {report.rule}.")
    return "\n".join([*lines, *([report.stopped] if report.stopped else [])])


def dry_run_summary(found: Any) -> str:
    parts = [
        f"--- pair {one.external_id}: a JPEG of {one.image_bytes} bytes, and\n[system]\n"
        f"{one.system}\n[user]\n{one.user}\n"
        for one in found.questions
    ]
    return "\n".join(
        [*parts, f"{found.proposer}: {found.pairs} pairs in this queue, roughly "
         f"{found.tokens_each} tokens a question. Nothing was sent."]
    )  # fmt: skip


def distillation_summary(report: Any) -> str:
    def told(name: str, one: Any) -> str:
        rise = "–" if one.rise_of_s is None else f"{one.rise_of_s:+.3f}"
        return (
            f"{name}: {one.readable:.0%} readable, {one.corrected:.0%} corrected, "
            f"{one.same:.0%} as people did, s {rise}"
        )

    rows = [told("before", report.untrained), told("after", report.student)]
    if report.teacher is not None:
        rows.append(told("teacher", report.teacher))
    return "\n".join(
        [f"Learnt from {report.examples} examples ({report.from_teacher} of the teacher's), loss "
         f"{report.losses[0]:.3f} to {report.losses[-1]:.3f}. On {report.held_out} held out:",
         *rows, f"Use it: --vlm {report.model}"]
    )  # fmt: skip


def training_summary(report: Any, adopted: bool) -> str:
    """Before and after in two lines."""
    lines = [f"{report.name}, on {report.verdicts} verdicts and injected noise."]
    for key, value in report.report.items():
        if isinstance(value, float):
            lines.append(f"  {key.replace('_', ' ')}: {value:.3f}")
        elif isinstance(value, int | str):
            lines.append(f"  {key.replace('_', ' ')}: {value}")
    lines.append(
        "In use now."
        if adopted
        else "Not in use yet: run again with --adopt, or decide on the Retrain page."
    )
    return "\n".join(lines)


def open_workspace(settings: Settings) -> Any:
    # Imported late: `--help` answers without loading torch.
    from backend.workspace import Workspace

    return Workspace(settings)


def shown_database(settings: Settings) -> str:
    """The database's URL without its password."""
    from sqlalchemy.engine import make_url

    return make_url(settings.database_url).render_as_string(hide_password=True)


def emit(report: Any, as_json: bool, summary: str) -> None:
    """The command's result: one JSON object, or a sentence for people."""
    if as_json:
        print(json.dumps(dataclasses.asdict(report), default=str, ensure_ascii=False))
    else:
        console.print(escape(summary), soft_wrap=True)  # tables stay tables


class RateColumn(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "")


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on standard error; yields update(done, total, message)."""
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TimeRemainingColumn(), RateColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=not console.is_terminal) as bars:
        task = bars.add_task(title, total=None)

        def update(done: int, total: int, message: str = "") -> None:
            bars.update(
                task, completed=done, total=total or None, description=escape(message or title)
            )

        yield update


@contextlib.contextmanager
def reported(as_json: bool) -> Iterator[None]:
    """Turn errors into one clear line, and into an exit status that scripts can trust."""
    try:
        yield
    except TracedError as error:
        fail(error, error.exit_status, as_json)
    except KeyboardInterrupt:
        console.print("Stopped. What was finished is kept; the same command goes on from there.")
        raise typer.Exit(130) from None
    except typer.Exit:
        raise
    except Exception as error:
        log_unexpected()
        fail(error, 1, as_json)


def log_unexpected() -> None:
    """Keep the traceback of an error nobody foresaw where a bug report can find it."""
    path = default_data_directory() / "traced.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as log:
        log.write(f"--- {datetime.now(UTC).isoformat()} {VERSION}\n{traceback.format_exc()}\n")
    console.print(f"Details: {escape(str(path))}")


def fail(error: BaseException, status: int, as_json: bool) -> None:
    console.print(f"[red]Error:[/] {escape(explain(error))}", soft_wrap=True)
    if as_json:
        print(json.dumps({"error": explain(error), "exit_status": status}, ensure_ascii=False))
    raise typer.Exit(status) from error


if __name__ == "__main__":
    sys.exit(app())
