"""`evaluate`, `bench`: how well, and how fast."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from backend.commands.parameters import (
    AS_JSON,
    CAPTIONER,
    DATABASE,
    DETECTOR,
    DEVICE,
    IMAGE_ROOT,
    PRECISION,
    QUANTISE,
    VLM,
    VLM_URL,
)
from backend.commands.telling import emit, progress, reported
from backend.errors import SettingsError
from backend.settings import MODELS, load_settings


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
        from backend.correction.modes import MODES, mode_named
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
                [replace(found, mode=mode_named(mode)) for mode in vlm_mode or MODES]
                if found
                else []
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
