"""`bench`: measure speed."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field

from backend.cli.commands import as_command
from backend.cli.output import emit, progress
from backend.operations.common_options import AsJson, Database, Device, Precision
from backend.options import CommandLine, Options, switch
from backend.progress import Progress


class BenchResult(Protocol):
    """A report of `bench`."""

    def table(self) -> str: ...


class BenchOptions(Options):
    """Benchmark the engine against a plain implementation and against the minimum
    arithmetic required, in one run.

    Uses models of the published sizes with random weights, so nothing is downloaded.
    """

    models: Annotated[tuple[str, ...], CommandLine(is_argument=True, metavar="[MODEL]...")] = ()
    """With --launches: blip-itm, blip-itc, clip, siglip or vqa. Default: all."""
    scorer: tuple[str, ...] = ()
    """blip-itm, blip-itc or clip; may be given several times. Default: all."""
    explorer: tuple[str, ...] = ()
    """elimination, gcd or fast-gcd; may be given several times. Default: elimination."""
    lazy: Annotated[tuple[int, ...], CommandLine(metavar="M")] = ()
    """Also lazy elimination that re-scores M words; may be given several times."""
    first_step: bool = False
    """Also each explorer's first step alone."""
    pairs: int | None = Field(None, ge=1)
    """Pairs to measure on. Default: 8; with --launches 256, as many as an accelerator has in
    flight."""
    words: str = "8-20"
    """Words per caption, from-to."""
    reference: Annotated[bool, switch("reference")] = True
    """Also run the reference implementation, which is slow, and compare."""
    store: Annotated[int | None, Field(ge=1), CommandLine(metavar="PAIRS")] = None
    """Measure the latency of the queue in a generated database of this many pairs instead."""
    sentences: int = Field(1, ge=1)
    """With --store: claims of each caption."""
    curators: int | None = Field(None, ge=1)
    """Measure this many concurrent curators on a real server instead."""
    ray: Annotated[int | None, Field(ge=200), CommandLine(metavar="PAIRS")] = None
    """Measure the throughput of Ray workers on this many drawn pairs instead, and estimate the cost
    of large datasets."""
    suggestions: Annotated[int | None, Field(ge=1), CommandLine(metavar="PAIRS")] = None
    """Measure suggestions for this many wrong captions instead, against trajectories and a plain
    implementation."""
    acts: Annotated[int | None, Field(ge=1), CommandLine(metavar="VERDICTS")] = None
    """Measure the processor time of this many verdicts on the review page instead."""
    against: Annotated[Path | None, CommandLine(metavar="FOLDER")] = None
    """With --acts, --start or --memory: another checkout of the program, to compare with."""
    start: bool = False
    """Measure processor time and memory until the first answer of `serve` instead, beside an empty
    Gradio app."""
    memory: Annotated[int | None, Field(ge=1), CommandLine(metavar="PAIRS")] = None
    """Measure the peak of memory of an import and of scoring of this many pairs instead."""
    launches: bool = False
    """Count what an accelerator would have to launch for each stage of scoring instead; no
    accelerator is needed."""
    verdicts: int = Field(2000, ge=1)
    """With --curators: total number of verdicts."""
    servers: int = Field(1, ge=1)
    """With --curators: servers sharing one database."""
    pause: float = Field(0.0, ge=0)
    """With --curators: seconds each curator spends on a pair."""
    processes: int = Field(1, ge=1)
    """With --curators: processes of each server that answer the review page."""
    page: bool = False
    """With --curators: by what the review page sends, not over the API."""
    db: Database = None
    device: Device = None
    precision: Precision = None
    as_json: AsJson = False


def _bench(options: BenchOptions) -> None:
    from research.bench.act_cost import bench_acts
    from research.bench.cluster import bench_cluster
    from research.bench.launches import IN_FLIGHT, bench_launches
    from research.bench.load import bench_load
    from research.bench.memory_peak import bench_memory
    from research.bench.queue_speed import bench_store
    from research.bench.start_cost import TURNS, bench_start
    from research.bench.suggestion_speed import bench_suggestions

    def store(pairs: int, update: Progress) -> BenchResult:
        return bench_store(pairs, options.db, update, options.sentences)

    def load(curators: int, update: Progress) -> BenchResult:
        return bench_load(
            curators, options.verdicts, options.db, update, options.servers, options.pause,
            options.processes, options.page,
        )  # fmt: skip

    def launches(pairs: int, update: Progress) -> BenchResult:
        return bench_launches(pairs, options.models, update)

    def acts(verdicts: int, update: Progress) -> BenchResult:
        return bench_acts(verdicts, options.against, update)

    def start(turns: int, update: Progress) -> BenchResult:
        return bench_start(turns, options.against, update)

    def memory(pairs: int, update: Progress) -> BenchResult:
        return bench_memory(pairs, options.against, update)

    to_count = options.pairs or IN_FLIGHT if options.launches else None
    modes: list[tuple[int | None, str, Callable[[int, Progress], BenchResult]]] = [
        (options.store, "Making pairs", store),
        (options.curators, "Making pairs", load),
        (options.ray, "Measuring", lambda pairs, update: bench_cluster(pairs, progress=update)),
        (options.suggestions, "Suggestions", bench_suggestions),
        (options.acts, "Verdicts", acts),
        (TURNS if options.start else None, "Starting", start),
        (options.memory, "Importing, scoring", memory),
        (to_count, "Counting", launches),
    ]
    for number, doing, measure in modes:
        if number is not None:
            with progress(doing) as update:
                measurement = measure(number, update)
            emit(measurement, options.as_json, measurement.table())
            return
    from research.bench.measure_scoring import run_bench, table

    with progress("Measuring") as update:
        report = run_bench(
            options.scorer, options.explorer, options.pairs or 8, options.words,
            options.reference, options.device, options.precision, update, options.lazy,
            options.first_step,
        )  # fmt: skip
    emit(report, options.as_json, table(report.results))


bench = as_command(_bench)
