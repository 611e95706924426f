"""`evaluate`, `bench`: measure quality and speed."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from backend.cli.options import (
    AS_JSON,
    DATABASE,
    DETECTOR,
    DEVICE,
    IMAGE_ROOT,
    PRECISION,
    QUANTISE,
    VLM,
    VLM_URL,
)
from backend.cli.output import console, emit, progress, reported
from backend.errors import SettingsError
from backend.progress import Progress
from backend.settings import MODELS, load_settings

if TYPE_CHECKING:
    from backend.engine.correction.language_model_suggestions import Corrector
    from research.evaluation.evaluate import EvaluationReport, Plan

from typing import Any

from backend.cli.specificity_commands import SIZES


def check_folders(*files: Path | None) -> None:
    """Raises SettingsError unless the folder of each file exists: before hours of computing."""
    for file in files:
        if file is not None and not file.absolute().parent.is_dir():
            raise SettingsError(f"There is no folder {file.absolute().parent}.")


def emit_tables(report: object, tables: str, out: Path | None, as_json: bool) -> None:
    """Print the tables, or the report as JSON; also write the tables to the Markdown file `out`."""
    if out is not None:
        out.write_text(tables + "\n", encoding="utf-8")
    emit(report, as_json, tables)


def evaluate_phrases(
    what: str,
    pairs: int,
    seeds: int,
    first_seed: int,
    embedded: Sequence[Path],
    scorers: Sequence[str] | None,
    model: str | None,
    sugarcrepe: Path | None,
    image_root: Path | None,
    device: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Evaluate and print the tables, also to the Markdown file `out`. Raises SettingsError."""
    if pairs < 40 or seeds < 1:
        raise SettingsError("An evaluation needs at least 1 seed and 40 pairs.")
    report: Any
    with progress("Evaluating") as update:
        if what == "support":
            from research.evaluation import support

            report = support.evaluate_support(
                pairs, seeds, first_seed, embedded, scorers or ("clip", "blip-itm"), update
            )
            text = support.markdown(report)
        elif what == "selection":
            from research.evaluation import selection

            name = (scorers or ("clip",))[0]
            report = selection.evaluate_selection(pairs, seeds, first_seed, embedded, name, update)
            text = selection.markdown(report)
        else:
            from backend.engine.scoring.loading import load_scorer
            from research.evaluation import composition
            from research.scenes.labelled_scenes import DIRECTORIES

            kind = scorers[0] if scorers else None
            if sugarcrepe is not None:
                if image_root is None:
                    raise SettingsError("Give the folder of COCO's images: --image-root val2017")
                comparisons = composition.sugarcrepe(sugarcrepe, image_root)
            else:
                comparisons = composition.drawn_comparisons(pairs, first_seed)
            name = model or str(embedded[0] / DIRECTORIES[kind or "clip"])
            report = composition.evaluate_composition(
                load_scorer(name, kind, device), comparisons, update
            )
            text = composition.markdown(report)
    emit_tables(report, text, out, as_json)


def evaluate_specificity(
    dataset: str,
    image_root: Path | None,
    scorer: list[str] | None,
    model: str | None,
    embedded: list[Path] | None,
    pairs: int,
    seeds: int,
    first_seed: int,
    sizes: list[int] | None,
    bags: Path | None,
    captioners: Sequence[str],
    captions: Path | None,
    out: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    """`evaluate specificity`; see `evaluate` for the options."""
    from research.evaluation.specificity import evaluate_dataset, evaluate_scenes
    from research.evaluation.specificity import markdown as tables
    from research.scenes.labelled_scenes import DIRECTORIES

    kind = (scorer or ["clip"])[0]
    with progress("Evaluating") as update:
        if dataset == "scenes":
            if bags or captions or captioners or model:
                raise SettingsError(
                    "--bags, --captions, --captioner and --model need a dataset: --dataset PATH."
                )
            if kind not in DIRECTORIES:
                raise SettingsError(f"Scenes are judged by {', '.join(DIRECTORIES)}, not {kind}.")
            report = evaluate_scenes(
                pairs, seeds, first_seed, embedded or [MODELS], kind, sizes or SIZES, device, update
            )
        else:
            default = str(MODELS / DIRECTORIES["clip"]) if scorer is None else None
            settings = load_settings(
                {"model": model or default, "kind": scorer[0] if scorer else None}
            )
            report = evaluate_dataset(
                Path(dataset).expanduser(), image_root, settings.model, settings.kind,
                sizes or SIZES, bags, captioners, captions, pairs, first_seed, device, update,
            )  # fmt: skip
    emit_tables(report, tables(report), out, as_json)


def evaluate_boosting(
    pairs: int,
    seeds: int,
    first_seed: int,
    embedded: list[Path] | None,
    out: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    """`evaluate boosting`; see `evaluate` for the options."""
    from research.evaluation import boosted_captions

    if pairs < boosted_captions.LEAST or seeds < 1:
        raise SettingsError(
            f"An evaluation of boosting needs at least 1 seed and {boosted_captions.LEAST} "
            "pictures."
        )
    with progress("Evaluating") as update:
        report = boosted_captions.evaluate_boosting(
            pairs, seeds, first_seed, embedded or [MODELS], device=device, progress=update
        )
    emit_tables(report, boosted_captions.markdown(report), out, as_json)


#: The evaluations, the default first.
EVALUATIONS = (
    "detection", "steps", "specificity", "support", "selection", "composition", "boosting", "icc",
)  # fmt: skip


class Measured(Protocol):
    """A report of `bench`."""

    def table(self) -> str: ...


def evaluate(
    what: Annotated[
        str,
        typer.Argument(help="detection; steps: exact trajectories against their first step alone "
                       "and against lazy elimination; icc: concreteness against human ratings; "
                       "specificity: do captions find their pictures among similar ones?; support: "
                       "phrases and how much each matters; selection: what two-stage selection "
                       "keeps of a synthetic mixture; composition: true captions against "
                       "minimally false ones; boosting: richer captions and their guard, with "
                       "answers by rule."),
    ] = "detection",
    ratings: Annotated[
        list[Path] | None,
        typer.Option(help="With icc: CSV files of captions and human ratings."),
    ] = None,
    words: Annotated[
        list[Path] | None,
        typer.Option(help="With icc: CSV files of single words and human ratings."),
    ] = None,
    concreteness: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME_OR_DIR", help="With icc: models, such as moranyanuka/icc, or "
                     "embedded. Default: embedded."),
    ] = None,
    dataset: Annotated[
        str, typer.Option(help="scenes (freshly drawn, with known truth), unfamiliar-scenes (from "
                          "a world that the embedded models have never seen), or a dataset's path, "
                          "whose captions are assumed correct.")
    ] = "scenes",
    scorer: Annotated[
        list[str] | None,
        typer.Option(help="As for score, or lemon-fix, lemon-opt (as published), lemon-auc (ours); "
                     "may be given several times. Default: blip-itm."),
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
        str, typer.Option(help="random, noun, fine-grained or all; rules: fine-grained by the "
                               "rules that also make the detector's training errors; recorded: "
                               "errors recorded in a dataset that the noise command made.")
    ] = "all",
    trained_on: Annotated[
        list[str] | None,
        typer.Option(metavar="NOISE", help="Also train the detector on this noise and test it on "
                                           "--noise; may be given several times.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Independent repetitions.")] = 3,
    first_seed: Annotated[int, typer.Option(help="The first of them.")] = 0,
    pairs: Annotated[
        int | None,
        typer.Option(help="Pairs per run; half of them are wrong. Default: 400, with --published "
                          "31,000 (one caption for each picture of Flickr30k)."),
    ] = None,
    test_pairs: Annotated[
        int | None,
        typer.Option(min=1, help="How many of them are from the dataset's test split. Default: "
                                 "half, with --published 1,000."),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(metavar="DEVICES", help="Several devices, such as cuda:0,cuda:1: each run's "
                                             "trajectories in one process each."),
    ] = None,
    detector: DETECTOR = None,
    compare: Annotated[
        bool, typer.Option(help="Also each detector on its own, and the paper's ablations. Slow.")
    ] = False,
    corrections: Annotated[
        int, typer.Option(min=0, help="Also correct this many wrong captions per run and evaluate "
                                      "the corrections.")
    ] = 0,
    captioner: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME_OR_DIR", help="Captioner that judges each word and refills "
                     "suspect ones, or 'none'. Default: the embedded one with the embedded "
                     "scorer; given several times, seed k takes the k-th. With specificity and "
                     "--dataset: captioners to evaluate; may be given several times."),
    ] = None,
    lazy: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="M", help="With steps: also lazy elimination that re-scores M "
                                              "words; may be given several times."),
    ] = None,
    word_weights: Annotated[
        str, typer.Option(help="Weights of the signs of suspect words: default, or fitted on "
                          "errors injected into the training half, without a label.")
    ] = "default",
    published: Annotated[
        bool, typer.Option(help="TRACED's Tables 1 and 6 in the paper's own setting: published "
                                "BLIP and CLIP, all scorers and explorers or those named, all "
                                "noises, on a --dataset whose name contains coco, flickr30k or "
                                "imdb; with --noise recorded only the errors that it records. "
                                "Estimates the time first; resumes.")
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="With --published: only estimate the time.")
    ] = False,
    learning_curve: Annotated[
        bool, typer.Option(help="Also the learning curve over 50 to 3,000 labelled pairs, 20 "
                                "splits each.")
    ] = False,
    cold_start: Annotated[
        bool, typer.Option(help="Also the detector that is trained without labels, on 120, 600 and "
                                "3,000 pairs. Slow: it scores up to 2,000 injected errors each.")
    ] = False,
    scores: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="With --noise recorded: another program's scores, a "
                     "table with an id and a score, or its suspects, one id per line: compared on "
                     "the same held-out pairs; may be given several times."),
    ] = None,
    vlm: VLM = None,
    vlm_url: VLM_URL = None,
    vlm_mode: Annotated[
        list[str] | None,
        typer.Option(help="With --corrections and --vlm: unguided, words, reasoning, trajectory; "
                     "may be given several times. Default: all four."),
    ] = None,
    quantise: QUANTISE = None,
    times: Annotated[
        int, typer.Option(min=0, help="Time this many pairs with and without trajectories.")
    ] = 0,
    size: Annotated[
        list[int] | None,
        typer.Option(help="With specificity: pictures per bag; may be given several times. "
                     "Default: 3, 5, 7."),
    ] = None,
    bags: Annotated[
        Path | None,
        typer.Option(help="With specificity and --dataset: the bags to evaluate on, a folder that "
                     "the bags command wrote or a file in the form of TrueMatch. Default: mined "
                     "here."),
    ] = None,
    captions: Annotated[
        Path | None,
        typer.Option(help="With specificity and --dataset: any model's captions, a JSONL with id "
                     "and caption."),
    ] = None,
    image_root: IMAGE_ROOT = None,
    sugarcrepe: Annotated[
        Path | None,
        typer.Option(help="With composition: the folder of SugarCrepe's JSON files, beside "
                     "--image-root val2017. Default: drawn scenes."),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Also write all tables to this Markdown file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Also write charts and tables to this HTML file.")
    ] = None,
    cache: Annotated[
        Path, typer.Option(help="Where trajectories are cached for the next evaluation.")
    ] = Path("data/evaluation"),
    device: DEVICE = None,
    precision: PRECISION = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Evaluate how well errors are detected: known errors are injected, and the results on held-out
    pairs are reported alongside control baselines. The argument selects another evaluation."""
    with reported(as_json):
        check_folders(markdown, page)
        if published:
            from research.evaluation.papers_setting import PAIRS, TEST_PAIRS

            pairs = PAIRS if pairs is None else pairs
            test_pairs = min(TEST_PAIRS, pairs // 2) if test_pairs is None else test_pairs
        pairs = 400 if pairs is None else pairs
        if what == "icc":
            _evaluate_icc(ratings, words, concreteness, markdown, device, as_json)
            return
        if what == "specificity":
            evaluate_specificity(
                dataset, image_root, scorer, model, embedded, pairs, seeds, first_seed, size, bags,
                captioner or (), captions, markdown, device, as_json,
            )  # fmt: skip
            return
        if what == "boosting":
            evaluate_boosting(pairs, seeds, first_seed, embedded, markdown, device, as_json)
            return
        if what in ("support", "selection", "composition"):
            evaluate_phrases(
                what, pairs, seeds, first_seed, embedded or [MODELS], scorer, model, sugarcrepe,
                image_root, device, markdown, as_json,
            )  # fmt: skip
            return
        if what not in ("detection", "steps") or ratings or words:
            others = ", ".join(f"'{name}'" for name in EVALUATIONS[1:-1])
            raise SettingsError(
                f"Evaluate '{EVALUATIONS[0]}' (the default), {others}, or '{EVALUATIONS[-1]}' with "
                "--ratings FILE or --words FILE."
            )
        from backend.engine.trajectories.exploring import Exploring
        from research.evaluation.evaluate import Plan

        plan = Plan(
            dataset=dataset, image_root=image_root, scorers=scorer or ["blip-itm"], model=model,
            embedded=embedded or [MODELS], captioners=captioner or (),
            explorers=[Exploring(name) for name in explorer or ["elimination"]],
            noises=_noises(what, noise), seeds=seeds, first_seed=first_seed,
            pairs=pairs, detector=detector or "best", compare=compare, corrections=corrections,
            correctors=_correctors(vlm, vlm_url, vlm_mode, corrections, device, quantise),
            times=times, word_weights=word_weights, learning_curve=learning_curve,
            cold_start=cold_start, trained_on=trained_on or (), contestants=scores or (),
            test_pairs=test_pairs, devices=_separated(devices),
            device=device, precision=precision, cache=cache,
        )  # fmt: skip
        if what == "steps":
            _evaluate_steps(plan, lazy or (), markdown, as_json)
        elif published:
            from research.evaluation.papers_setting import plans

            listed = plans(plan, scorer or (), explorer or ())
            _evaluate_as_published(listed, estimate, markdown, page, as_json)
        else:
            _evaluate_detection(plan, markdown, page, as_json)


def _separated(devices: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (devices or "").split(",") if name.strip())


def _correctors(
    name: str | None,
    url: str | None,
    modes: Sequence[str] | None,
    corrections: int,
    device: str | None,
    quantise: str | None,
) -> list["Corrector"]:
    """The language model `name` in each of the modes; none without a name."""
    from dataclasses import replace

    from backend.engine.correction.modes import MODES, mode_named
    from backend.loaded_models import Engine

    if name is None:
        return []
    if not corrections:
        raise SettingsError("Set the number of captions to correct: --corrections N.")
    settings = load_settings(
        {"corrector": name, "corrector_url": url, "device": device, "quantise": quantise}
    )
    corrector = Engine(settings).corrector
    if corrector is None:
        return []
    return [replace(corrector, mode=mode_named(mode)) for mode in modes or MODES]


def _evaluate_detection(
    plan: "Plan", markdown: Path | None, page: Path | None, as_json: bool
) -> None:
    from research.evaluation.evaluate import evaluate as run

    with progress("Evaluating") as update:
        report = run(plan, update)
    _emit_report(report, markdown, page, as_json)


def _evaluate_as_published(
    listed: Sequence["Plan"],
    only_estimate: bool,
    markdown: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    from research.evaluation import papers_setting

    with progress("Estimating") as update:
        planned = papers_setting.estimate(listed, update)
    if only_estimate:
        emit(planned, as_json, papers_setting.in_words(planned))
        return
    console.print(papers_setting.in_words(planned))
    with progress("Evaluating") as update:
        report = papers_setting.evaluate_as_published(listed, update)
    _emit_report(report, markdown, page, as_json)


def _evaluate_steps(
    plan: "Plan", lazy: Sequence[int], markdown: Path | None, as_json: bool
) -> None:
    from research.evaluation import fewer_steps

    with progress("Evaluating") as update:
        compared = fewer_steps.evaluate_steps(plan, lazy, update)
    emit_tables(compared, fewer_steps.markdown(compared), markdown, as_json)


def _emit_report(
    report: "EvaluationReport", markdown: Path | None, page: Path | None, as_json: bool
) -> None:
    from research.evaluation.page import page as html_page
    from research.evaluation.result_tables import markdown as tables

    if page is not None:
        command = " ".join(["python app.py", *sys.argv[1:]])
        page.write_text(html_page(report, command), encoding="utf-8")
    emit_tables(report, tables(report), markdown, as_json)


def _noises(what: str, noise: str) -> list[str]:
    """The kinds of noise to evaluate with: all of them, or for `steps` the hardest."""
    from research.evaluation.evaluate import NOISES

    if noise != "all":
        return [noise]
    return ["fine-grained"] if what == "steps" else list(NOISES)


def _evaluate_icc(
    ratings: list[Path] | None,
    words: list[Path] | None,
    models: list[str] | None,
    out: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    from research.evaluation.icc import evaluate_icc
    from research.evaluation.icc import markdown as table

    if not ratings and not words:
        raise SettingsError("Name a file with ratings: --ratings FILE (captions) or --words FILE.")
    named = [None if name == "embedded" else name for name in models or ["embedded"]]
    report = evaluate_icc(ratings or [], words or [], named, device)
    emit_tables(report, table(report), out, as_json)


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
    lazy: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="M", help="Also lazy elimination that re-scores M words; may "
                     "be given several times."),
    ] = None,
    first_step: Annotated[
        bool, typer.Option("--first-step", help="Also each explorer's first step alone.")
    ] = False,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs to measure on.")] = 8,
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
    verdicts: Annotated[
        int, typer.Option(min=1, help="With --curators: total number of verdicts.")
    ] = 2000,
    servers: Annotated[
        int, typer.Option(min=1, help="With --curators: servers sharing one database.")
    ] = 1,
    pause: Annotated[
        float, typer.Option(min=0, help="With --curators: seconds each curator spends on a pair.")
    ] = 0.0,
    db: DATABASE = None,
    device: DEVICE = None,
    precision: PRECISION = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Benchmark the engine against a plain implementation and against the minimum
    arithmetic required, in one run.

    Uses models of the published sizes with random weights, so nothing is downloaded.
    """
    with reported(as_json):
        from research.bench.cluster import bench_cluster
        from research.bench.load import bench_load
        from research.bench.queue_speed import bench_store
        from research.bench.suggestion_speed import bench_suggestions

        modes: list[tuple[int | None, str, Callable[[int, Progress], Measured]]] = [
            (store, "Making pairs", lambda n, update: bench_store(n, db, update)),
            (curators, "Making pairs",
             lambda n, update: bench_load(n, verdicts, db, update, servers, pause)),
            (ray, "Measuring", lambda n, update: bench_cluster(n, progress=update)),
            (suggestions, "Suggestions", bench_suggestions),
        ]  # fmt: skip
        for number, doing, measure in modes:
            if number is not None:
                with progress(doing) as update:
                    measured = measure(number, update)
                emit(measured, as_json, measured.table())
                return
        from research.bench.report import run_bench, table

        with progress("Measuring") as update:
            report = run_bench(
                scorer or [], explorer or [], pairs, words, reference, device, precision, update,
                lazy or (), first_step,
            )  # fmt: skip
        emit(report, as_json, table(report.results))
