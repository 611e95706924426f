"""`evaluate`, `bench`: measure quality and speed."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from backend.cli.output import console, emit, progress, reported
from backend.errors import SettingsError
from backend.operations.common_options import (
    AsJson,
    Database,
    Detector,
    Device,
    Precision,
    Quantise,
    Vlm,
    VlmUrl,
)
from backend.progress import Progress
from backend.settings import MODELS, load_settings
from research.commands.image_roots import ImageRoot

if TYPE_CHECKING:
    from backend.engine.correction.language_model_suggestions import Corrector
    from research.evaluation.evaluate import Plan

#: A report and its tables in Markdown.
Evaluated = tuple[Any, str]
#: The evaluations, the default first.
EVALUATIONS = (
    "detection", "steps", "specificity", "support", "selection", "composition", "boosting",
    "long-captions", "cleaning", "regions", "verdicts", "icc",
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
                       "answers by rule; long-captions: paragraphs and lists of tags, claim by "
                       "claim; cleaning: do verdicts pay for the models that are trained on the "
                       "captions?; regions: do regions of words lie on the things that they are "
                       "about?; verdicts: models on the verdicts in a --dataset of the store. "
                       "With --benchmark: the benchmark's file or folder."),
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
    detector: Detector = None,
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
        typer.Option(metavar="FILE", help="With --noise recorded, --benchmark and verdicts: "
                     "another program's scores, a table with an id and a score, or its suspects, "
                     "one id per line: compared on the same pairs; may be given several times."),
    ] = None,
    vlm: Vlm = None,
    vlm_url: VlmUrl = None,
    vlm_mode: Annotated[
        list[str] | None,
        typer.Option(help="With --corrections and --vlm: unguided, words, reasoning, trajectory; "
                     "may be given several times. Default: all four."),
    ] = None,
    quantise: Quantise = None,
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
    image_root: ImageRoot = None,
    benchmark: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A published benchmark in its own files: foil, "
                     "sugarcrepe, sugarcrepe++, winoground, aro, hat, nocaps-foil, mhaldetect, "
                     "detailverifybench or seetrue; its pictures are under --image-root. --pairs "
                     "draws so many of its pictures or examples. Nothing is downloaded."),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=NAME_OR_DIR", help="With --benchmark and verdicts: a single "
                     "score to compare with, such as clip=openai/clip-vit-base-patch32 "
                     "(CLIPScore), lemon-fix, or vqa:NAME_OR_DIR (P(yes)); may be given several "
                     "times. Default with --benchmark: the embedded clip and blip-itm."),
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="With --benchmark: leave out the entries whose "
                           "pictures are missing; the report says how many.")
    ] = False,
    items: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --benchmark: also write the ids, pictures and "
                     "captions to this JSONL, for others to score (--scores)."),
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
    db: Database = None,
    device: Device = None,
    precision: Precision = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Evaluate how well errors are detected: known errors are injected, and the results on held-out
    pairs are reported alongside control baselines. The argument selects another evaluation."""
    report: Any
    with reported(as_json):
        for file in (markdown, page, items):  # before hours of computing
            if file is not None and not file.absolute().parent.is_dir():
                raise SettingsError(f"There is no folder {file.absolute().parent}.")
        if benchmark is not None or what == "verdicts":
            from research.commands import published_benchmarks

            with progress("Evaluating") as update:
                report = published_benchmarks.evaluate(
                    benchmark, what, dataset, image_root, model, scorer, captioner, baseline or (),
                    scores or (), pairs, first_seed, skip_missing, items, db, device, precision,
                    update,
                )  # fmt: skip
            tables = published_benchmarks.write(report, markdown, page)
            emit(report, as_json, tables)
            return
        if what not in EVALUATIONS or (what in ("detection", "steps") and (ratings or words)):
            others = ", ".join(f"'{name}'" for name in EVALUATIONS[1:-1])
            raise SettingsError(
                f"Evaluate '{EVALUATIONS[0]}' (the default), {others}, or '{EVALUATIONS[-1]}' with "
                "--ratings FILE or --words FILE. A published benchmark: --benchmark NAME PATH."
            )
        if published:
            from research.evaluation.papers_setting import PAIRS, TEST_PAIRS

            pairs = PAIRS if pairs is None else pairs
            test_pairs = min(TEST_PAIRS, pairs // 2) if test_pairs is None else test_pairs
        pairs = 400 if pairs is None else pairs
        folders = embedded or [MODELS]
        with progress("Evaluating") as update:
            if what == "icc":
                from research.evaluation import icc

                models = [None if name == "embedded" else name for name in concreteness or [None]]
                report = icc.evaluate_icc(ratings or [], words or [], models, device)
                tables = icc.markdown(report)
            elif what == "boosting":
                from research.evaluation import boosted_captions

                report = boosted_captions.evaluate_boosting(
                    pairs, seeds, first_seed, folders, device=device, progress=update
                )
                tables = boosted_captions.markdown(report)
            elif what == "long-captions":
                from research.evaluation import several_claims

                report = several_claims.evaluate_long_captions(
                    pairs, seeds, first_seed, folders, *(scorer or ())[:1], device=device,
                    progress=update,
                )  # fmt: skip
                tables = several_claims.markdown(report)
            elif what == "regions":
                from research.evaluation import pointing

                report = pointing.evaluate_pointing(
                    pairs,
                    seeds,
                    first_seed,
                    folders,
                    scorer or ("blip-itm", "blip-itc", "clip"),
                    update,
                )
                tables = pointing.markdown(report)
            elif what == "cleaning":
                from research.evaluation import cleaning_pays

                report = cleaning_pays.evaluate_cleaning(pairs, seeds, first_seed, folders, update)
                tables = cleaning_pays.markdown(report)
            elif what == "specificity":
                from backend.wings.specificity.bags_operation import SIZES

                report, tables = _specificity(
                    dataset, image_root, scorer, model, folders, pairs, seeds, first_seed,
                    size or SIZES, bags, captioner or (), captions, device, update,
                )  # fmt: skip
            elif what in ("support", "selection", "composition"):
                report, tables = _phrases(
                    what, pairs, seeds, first_seed, folders, scorer, model, device, update,
                )  # fmt: skip
            else:
                from backend.engine.trajectories.exploring import Exploring
                from research.evaluation.evaluate import NOISES, Plan

                noises = ["fine-grained"] if what == "steps" else NOISES
                plan = Plan(
                    dataset=dataset, image_root=image_root, scorers=scorer or ["blip-itm"],
                    model=model, embedded=folders, captioners=captioner or (),
                    explorers=[Exploring(name) for name in explorer or ["elimination"]],
                    noises=noises if noise == "all" else [noise], seeds=seeds,
                    first_seed=first_seed, pairs=pairs, detector=detector or "best",
                    compare=compare, corrections=corrections,
                    correctors=_correctors(vlm, vlm_url, vlm_mode, corrections, device, quantise),
                    times=times, word_weights=word_weights, learning_curve=learning_curve,
                    cold_start=cold_start, trained_on=trained_on or (), contestants=scores or (),
                    test_pairs=test_pairs,
                    devices=tuple(filter(None, map(str.strip, (devices or "").split(",")))),
                    device=device, precision=precision, cache=cache,
                )  # fmt: skip
                if what == "steps":
                    from research.evaluation import fewer_steps

                    report = fewer_steps.evaluate_steps(plan, lazy or (), update)
                    tables = fewer_steps.markdown(report)
                elif published:
                    report, tables = _published(plan, scorer, explorer, estimate, update)
                else:
                    from research.evaluation.evaluate import evaluate as run
                    from research.evaluation.result_tables import markdown as tables_of

                    report = run(plan, update)
                    tables = tables_of(report)
        only_estimated = what == "detection" and published and estimate
        if page is not None and what == "detection" and not only_estimated:
            from research.evaluation.page import page as html_page

            command = " ".join(["python app.py", *sys.argv[1:]])
            page.write_text(html_page(report, command), encoding="utf-8")
        if markdown is not None and not only_estimated:
            markdown.write_text(tables + "\n", encoding="utf-8")
        emit(report, as_json, tables)


def _phrases(
    what: str,
    pairs: int,
    seeds: int,
    first_seed: int,
    folders: Sequence[Path],
    scorers: Sequence[str] | None,
    model: str | None,
    device: str | None,
    update: Progress,
) -> Evaluated:
    if pairs < 40 or seeds < 1:
        raise SettingsError("An evaluation needs at least 1 seed and 40 pairs.")
    report: Any
    if what == "support":
        from research.evaluation import support

        names = scorers or ("clip", "blip-itm")
        report = support.evaluate_support(pairs, seeds, first_seed, folders, names, update)
        return report, support.markdown(report)
    if what == "selection":
        from research.evaluation import selection

        name = (scorers or ("clip",))[0]
        report = selection.evaluate_selection(pairs, seeds, first_seed, folders, name, update)
        return report, selection.markdown(report)
    from backend.engine.scoring.loading import load_scorer
    from research.evaluation import composition
    from research.evaluation.labelled import DIRECTORIES

    comparisons = composition.drawn_comparisons(pairs, first_seed)
    kind = scorers[0] if scorers else None
    scorer = load_scorer(model or str(folders[0] / DIRECTORIES[kind or "clip"]), kind, device)
    report = composition.evaluate_composition(scorer, comparisons, update)
    return report, composition.markdown(report)


def _specificity(
    dataset: str,
    image_root: Path | None,
    scorers: Sequence[str] | None,
    model: str | None,
    folders: Sequence[Path],
    pairs: int,
    seeds: int,
    first_seed: int,
    sizes: Sequence[int],
    bags: Path | None,
    captioners: Sequence[str],
    captions: Path | None,
    device: str | None,
    update: Progress,
) -> Evaluated:
    from research.evaluation import specificity

    kind = scorers[0] if scorers else None
    if dataset == "scenes":
        if bags or captions or captioners or model:
            raise SettingsError(
                "--bags, --captions, --captioner and --model need a dataset: --dataset PATH."
            )
        report = specificity.evaluate_scenes(
            pairs, seeds, first_seed, folders, kind or "clip", sizes, device, update
        )
    else:
        default = str(MODELS / "scenes-clip") if scorers is None else None
        settings = load_settings({"model": model or default, "kind": kind})
        report = specificity.evaluate_dataset(
            Path(dataset).expanduser(), image_root, settings.model, settings.kind, sizes, bags,
            captioners, captions, pairs, first_seed, device, update,
        )  # fmt: skip
    return report, specificity.markdown(report)


def _published(
    plan: "Plan",
    scorers: Sequence[str] | None,
    explorers: Sequence[str] | None,
    only_estimate: bool,
    update: Progress,
) -> Evaluated:
    from research.evaluation import papers_setting
    from research.evaluation.result_tables import markdown

    plans = papers_setting.plans(plan, scorers or (), explorers or ())
    planned = papers_setting.estimate(plans, update)
    if only_estimate:
        return planned, papers_setting.in_words(planned)
    console.print(papers_setting.in_words(planned))
    report = papers_setting.evaluate_as_published(plans, update)
    return report, markdown(report)


def _correctors(
    name: str | None,
    url: str | None,
    modes: Sequence[str] | None,
    corrections: int,
    device: str | None,
    quantise: str | None,
) -> list["Corrector"]:
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


def bench(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="With --launches: blip-itm, blip-itc or clip. "
                       "Default: all.", show_default=False),
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
