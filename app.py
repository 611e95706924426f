"""TRACED Curator on the command line: serve (default), import, score, train, export, …

Results go to standard output, everything else (progress, warnings, errors) to standard error, so
that `--json` can be piped. Exit statuses: `backend.errors.EXIT_STATUSES`, shown by `--help`.
"""

import gc
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

# Set before gradio is imported anywhere: no telemetry is sent.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# A notebook's kernel names its way of drawing, which Matplotlib refuses where it is not installed.
os.environ.pop("MPLBACKEND", None)
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import typer
from pydantic import Field
from rich.markup import escape

from backend import plugins
from backend.bundled import restrict_umask
from backend.cli import (
    curator_commands,
    dataset_commands,
    log_output,
    maintenance,
    model_commands,
    score,
    tag,
)
from backend.cli.commands import CommandVariant, as_command, command_of, join_variant
from backend.cli.ending import exit_with_timeout
from backend.cli.output import (
    console,
    open_workspace,
    report_errors,
    results,
    show_any_text,
)
from backend.errors import EXIT_STATUSES, SettingsError
from backend.operations.common_options import (
    Captioner,
    Concreteness,
    Database,
    Device,
    Kind,
    Model,
    Quantise,
    Vlm,
    VlmMode,
    VlmUrl,
)
from backend.operations.registry import OPERATIONS
from backend.options import ARGUMENT, NOT_TYPED, CommandLine, Options, Setting
from backend.settings import Settings, load_settings, shown_database
from backend.version import VERSION

app = typer.Typer(
    name="traced",
    help="Find, understand and fix wrong captions in image-text datasets. Without a command the "
    "app opens in the browser on the demo dataset.",
    epilog="Exit statuses: "
    + "; ".join(f"{status} {meaning}" for status, meaning in EXIT_STATUSES.items())
    + ".",
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only results and errors, no messages or "
                           "progress. Must precede the command.")
    ] = False,
    log_level: Annotated[
        str, typer.Option(metavar="LEVEL", help="The lowest level that is logged: debug, info, "
                          "warning or error. Must precede the command.")
    ] = "warning",
    log_file: Annotated[
        Path | None, typer.Option(help="Log to this file instead of standard error. Must precede "
                                       "the command.")
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log lines of JSON. Must precede the command.")
    ] = False,
) -> None:  # fmt: skip
    if version:
        results.print(VERSION)
        raise typer.Exit()
    console.quiet = quiet
    with report_errors(False):
        log_output.set_up(log_level, log_file, log_json)
    if context.invoked_subcommand is None:
        as_command(serve)()


class ServeOptions(Options):
    """Open the app: review, datasets, retraining, export."""

    source: Annotated[str | None, ARGUMENT] = None
    """A dataset, as with --data; or FILE.traced, which pack has written, to review in place."""
    data: str | None = None
    """Dataset to review: a folder, a metadata file, or a name in the database. It is imported and
    scored first if needed. Default: that of the last verdict, else the newest; the demo if there is
    none."""
    db: Database = None
    model: Model = None
    scorer: Kind = None
    captioner: Captioner = None
    vlm: Vlm = None
    vlm_url: VlmUrl = None
    vlm_mode: VlmMode = None
    quantise: Quantise = None
    concreteness: Concreteness = None
    device: Device = None
    host: Annotated[str | None, Setting("host")] = None
    """Address to listen on. Default: 127.0.0.1, this machine."""
    port: Annotated[int | None, Setting("port")] = None
    """Port to listen on. Default: 7860."""
    author: Annotated[str | None, Setting("author")] = None
    """Name recorded with your verdicts. Default: curator."""
    no_login: Annotated[bool | None, Setting("no_login")] = None
    """Never ask for a password: anyone who can reach the port can give verdicts. By default people
    log in as soon as there are accounts."""
    allow_host: Annotated[list[str] | None, CommandLine(metavar="NAME"), Setting("allow_host")] = (
        None
    )
    """A host name under which this server may be reached besides localhost and --host, such as that
    of a proxy. May be given several times."""
    frame: Annotated[list[str] | None, CommandLine(metavar="ORIGIN"), Setting("frame")] = None
    """A page that may show this server in a frame, such as http://localhost:8888 of Jupyter. May be
    given several times. Default: no other page."""
    root_path: Annotated[str | None, CommandLine(metavar="PATH"), Setting("root_path")] = None
    """The path under which a proxy shows this server, such as /curator."""
    import_root: Annotated[
        list[str] | None, CommandLine(metavar="FOLDER"), Setting("import_root")
    ] = None
    """If login is enabled, the page imports from these folders only. May be given several times.
    Default: the data folder."""
    export_root: Annotated[
        list[str] | None, CommandLine(metavar="FOLDER"), Setting("export_root")
    ] = None
    """If login is enabled, the page exports to these folders only. May be given several times.
    Default: 'exports' in the data folder."""
    processes: int = Field(1, ge=1, le=64)
    """How many processes answer the review page, each with models of its own once it needs them. 1:
    the one that serves; more: so many beside it, for teams."""
    services: Annotated[tuple[Any, ...], NOT_TYPED] = ()
    """What features serve besides (`traced_ui.server.Service`)."""


class DemoOptions(Options):
    """Open the app on the demo dataset, which is scored and needs no model, in a data folder of its
    own: nothing to set up, and no other dataset is touched."""

    host: Annotated[str | None, Setting("host")] = None
    """Address to listen on. Default: 127.0.0.1, this machine."""
    port: Annotated[int | None, Setting("port")] = None
    """Port to listen on. Default: 7860."""
    no_login: Annotated[bool | None, Setting("no_login")] = None
    """Never ask for a password: anyone who can reach the port can give verdicts."""


def demo(options: DemoOptions) -> None:
    settings = load_settings(options.settings())
    folder = settings.data_directory / "demo"
    _serve(replace(settings, data_directory=folder, database=None), ServeOptions())


def serve(options: ServeOptions) -> None:
    if options.source is not None:
        if options.data is not None:
            raise SettingsError(f"Give one dataset: '{options.source}' or --data {options.data}.")
        options = options.model_copy(update={"data": options.source})
    _serve(load_settings(options.settings()), options)


def _serve(settings: Settings, options: ServeOptions) -> None:
    # Imported here: the other commands need no web server.
    from backend.jobs import scored_demo
    from traced_ui.listening import listen

    listening = listen(settings.host, settings.port)
    if options.data is None:
        scored_demo.unpack(settings)
    # Models given here apply only to datasets without a model of their own.
    workspace = open_workspace(settings.for_datasets_without_models())
    login = not settings.no_login and workspace.accounts.has_accounts()
    may_begin = not login and not settings.no_login
    if may_begin and settings.host not in ("127.0.0.1", "localhost", "::1"):
        raise SettingsError(
            f"{settings.host} can be reached from other machines and there are no accounts "
            "yet. Add one (python app.py curators add NAME), or use --host 127.0.0.1, or "
            "--no-login if anyone who can reach the port may give verdicts."
        )
    console.print(f"Database:  {escape(shown_database(settings.database_url))}")
    console.print(f"Caches:    {escape(str(settings.data_directory))}")
    console.print(f"Model:     {escape(workspace.settings.model)}")
    if login:
        workspace.confine()
    for message in workspace.jobs.resume():
        console.print(escape(message))
    start_dataset = workspace.prepare(options.data) if options.data else workspace.start()
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    port = listening.getsockname()[1]
    console.print(f"Open       http://{host}:{port}{settings.root_path}/   (stop with Ctrl-C)")
    # Import Gradio last: the socket already listens, so early requests wait for the page.
    from traced_ui.server import serve as serve_app

    serve_app(
        workspace,
        listening,
        start_dataset,
        login=None if may_begin else login,
        services=options.services,
        processes=options.processes,
    )


app.add_typer(curator_commands.curators)
app.add_typer(curator_commands.keys)
app.add_typer(dataset_commands.datasets)
app.add_typer(model_commands.models)
functions: dict[str, Callable[..., int | None]] = {
    "serve": serve,
    "demo": demo,
    "import": dataset_commands.import_,
    "score": score.score,
    **{each.name: command_of(each) for each in OPERATIONS.values() if each.is_command},
    "tag": tag.tag,
    "train": score.train,
    "export": dataset_commands.export,
    "progress": score.progress_,
    "doctor": maintenance.doctor,
    "backup": maintenance.backup,
}
for commands in plugins.load("commands", Mapping):
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            functions[name] = command
own_commands = {name: as_command(function) for name, function in functions.items()}
parameters = {name: {*inspect.signature(each).parameters} for name, each in own_commands.items()}
variants = plugins.load("command_variants", CommandVariant, partial(join_variant, parameters))
for name, command in own_commands.items():
    of_command = [each for each in variants if each.command == name]
    app.command(name)(as_command(functions[name], of_command) if of_command else command)


def run() -> None:
    """The program: a command in a process of its own."""
    # What is imported lasts: by default Python looks through it after every 700 new objects, which
    # takes a sixth of a server's start.
    gc.set_threshold(20_000)
    restrict_umask()
    show_any_text()
    with exit_with_timeout():
        app()


if __name__ == "__main__":
    run()
