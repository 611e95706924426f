"""`bench`: measure speed."""

from collections.abc import Callable
from typing import Annotated, Protocol

import typer

from backend.cli.output import emit, progress, reported
from backend.operations.common_options import AsJson, Database, Device, Precision
from backend.progress import Progress


class Measured(Protocol):
    """A report of `bench`."""

    def table(self) -> str: ...


def bench(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="With --launches: blip-itm, blip-itc, clip, "
                       "siglip or vqa. Default: all.", show_default=False),
    ] = None,
    scorer: Annotated[
        list[str] | None,
        typer.Option(help="blip-itm, blip-itc or clip; may be given several times. Default: all."),
    ] = None,
    explorer: Annotated[
        list[str] | None,
        typer.Option(help="elimination, gcd or fast-gcd; may be given several times. Default: "
                     "elimination."),
    ] = None,
    lazy: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="M", help="Also lazy elimination that re-scores M words; may "
                     "be given several times."),
    ] = None,
    first_step: Annotated[
        bool, typer.Option("--first-step", help="Also each explorer's first step alone.")
    ] = False,
    pairs: Annotated[
        int | None,
        typer.Option(min=1, help="Pairs to measure on. Default: 8; with --launches 256, as many as "
                                 "an accelerator has in flight."),
    ] = None,
    words: Annotated[str, typer.Option(help="Words per caption, from-to.")] = "8-20",
    reference: Annotated[
        bool, typer.Option(help="Also run the reference implementation, which is slow, and "
                                "compare.")
    ] = True,
    store: Annotated[
        int | None,
        typer.Option(min=1, metavar="PAIRS", help="Measure the latency of the queue in a generated "
                                                  "database of this many pairs instead."),
    ] = None,
    sentences: Annotated[
        int, typer.Option(min=1, help="With --store: claims of each caption.")
    ] = 1,
    curators: Annotated[
        int | None,
        typer.Option(min=1, help="Measure this many concurrent curators on a real server instead."),
    ] = None,
    ray: Annotated[
        int | None,
        typer.Option(min=200, metavar="PAIRS", help="Measure the throughput of Ray workers on this "
                                                    "many drawn pairs instead, and estimate the "
                                                    "cost of large datasets."),
    ] = None,
    suggestions: Annotated[
        int | None,
        typer.Option(min=1, metavar="PAIRS", help="Measure suggestions for this many wrong "
                     "captions instead, against trajectories and a plain implementation."),
    ] = None,
    launches: Annotated[
        bool, typer.Option("--launches", help="Count what an accelerator would have to launch for "
                           "each stage of scoring instead; no accelerator is needed.")
    ] = False,
    verdicts: Annotated[
        int, typer.Option(min=1, help="With --curators: total number of verdicts.")
    ] = 2000,
    servers: Annotated[
        int, typer.Option(min=1, help="With --curators: servers sharing one database.")
    ] = 1,
    pause: Annotated[
        float, typer.Option(min=0, help="With --curators: seconds each curator spends on a pair.")
    ] = 0.0,
    db: Database = None,
    device: Device = None,
    precision: Precision = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Benchmark the engine against a plain implementation and against the minimum
    arithmetic required, in one run.

    Uses models of the published sizes with random weights, so nothing is downloaded.
    """
    with reported(as_json):
        from research.bench.cluster import bench_cluster
        from research.bench.launches import IN_FLIGHT, bench_launches
        from research.bench.load import bench_load
        from research.bench.queue_speed import bench_store
        from research.bench.suggestion_speed import bench_suggestions

        modes: list[tuple[int | None, str, Callable[[int, Progress], Measured]]] = [
            (store, "Making pairs", lambda n, update: bench_store(n, db, update, sentences)),
            (curators, "Making pairs",
             lambda n, update: bench_load(n, verdicts, db, update, servers, pause)),
            (ray, "Measuring", lambda n, update: bench_cluster(n, progress=update)),
            (suggestions, "Suggestions", bench_suggestions),
            ((pairs or IN_FLIGHT) if launches else None, "Counting",
             lambda n, update: bench_launches(n, models or (), update)),
        ]  # fmt: skip
        for number, doing, measure in modes:
            if number is not None:
                with progress(doing) as update:
                    measured = measure(number, update)
                emit(measured, as_json, measured.table())
                return
        from research.bench.measure_scoring import run_bench, table

        with progress("Measuring") as update:
            report = run_bench(
                scorer or [], explorer or [], pairs or 8, words, reference, device, precision,
                update, lazy or (), first_step,
            )  # fmt: skip
        emit(report, as_json, table(report.results))
