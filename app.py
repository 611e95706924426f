"""TRACED Curator on the command line: serve (default), import, score, train, export, …

Results go to standard output, everything else (progress, warnings, errors) to standard error, so
that `--json` can be piped. Exit status: 0 done; 2 wrong usage or setting; 3 dataset; 4 model;
5 training; 6 export; 7 database; 8 not found; 1 anything unexpected; 130 interrupted.
"""

import os
import sys
from typing import Annotated

# Before gradio is imported anywhere: nothing here calls home.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import typer
from rich.markup import escape

from backend.commands import (
    accounts,
    concreteness,
    correcting,
    datasets,
    measuring,
    scoring,
    upkeep,
)
from backend.commands.parameters import (
    CAPTIONER,
    CONCRETENESS,
    DATABASE,
    DEVICE,
    KIND,
    MODEL,
    QUANTISE,
    VLM,
    VLM_MODE,
    VLM_URL,
)
from backend.commands.telling import console, open_workspace, reported, shown_database
from backend.errors import SettingsError
from backend.settings import DEMO, load_settings
from backend.version import VERSION

app = typer.Typer(
    name="traced",
    help="Find, understand and fix wrong captions in image-text datasets. Without a command the "
    "app opens in the browser on the demo dataset.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


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


app.add_typer(accounts.curators)
for name, command in (
    ("import", datasets.import_),
    ("download", datasets.download),
    ("score", scoring.score),
    ("correct", correcting.correct),
    ("distill", correcting.distill),
    ("train", scoring.train),
    ("export", datasets.export),
    ("progress", scoring.progress_),
    ("noise", datasets.noise),
    ("evaluate", measuring.evaluate),
    ("icc", concreteness.icc),
    ("bench", measuring.bench),
    ("doctor", upkeep.doctor),
    ("backup", upkeep.backup),
):
    app.command(name)(command)

if __name__ == "__main__":
    sys.exit(app())
