"""`evaluate`: measure quality. Each evaluation is a command with the options that it reads."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import Field
from typer.core import TyperGroup

from backend.cli.commands import as_command
from backend.cli.output import console, emit, open_dataset, progress
from backend.datasets.read_options import ReadOptions
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
from backend.options import ARGUMENT, FOLDER_OR_NAME, CommandLine, Options
from backend.progress import Progress
from backend.settings import MODELS, load_settings

if TYPE_CHECKING:
    from backend.features.corrections.corrector import Corrector
    from research.benchmarks.run import Judges
    from research.evaluation.evaluate import Plan

DETECTION, BENCHMARK = "detection", "benchmark"
_READING = ReadOptions.model_fields


# -------------------------------------------------------------------------------- options


class ReportOptions(Options):
    """Where a report goes."""

    markdown: Path | None = None
    """Also write all tables to this Markdown file."""
    as_json: AsJson = False


class Page(Options):
    page: Path | None = None
    """Also write charts and tables to this HTML file."""


class Trials(ReportOptions):
    """Independent repetitions on drawn pairs."""

    pairs: int | None = Field(None, ge=1)
    """Pairs per run. Default: 400."""
    seeds: int = 3
    """Independent repetitions."""
    first_seed: int = 0
    """The first of them."""
    embedded: tuple[Path, ...] = ()
    """Folder with embedded models; given several times, seed k takes the k-th: independently
    trained models. Default: those of the program."""

    @property
    def drawn(self) -> tuple[int, int, int, Sequence[Path]]:
        """Pairs per run, seeds, the first of them, and folders of embedded models."""
        return self.count, self.seeds, self.first_seed, self.folders

    @property
    def count(self) -> int:
        """Pairs per run."""
        return 400 if self.pairs is None else self.pairs

    @property
    def folders(self) -> Sequence[Path]:
        """Of the embedded models."""
        return self.embedded or (MODELS,)


class ScorerTrials(Trials):
    """Such repetitions with a choice of scorers."""

    scorer: tuple[str, ...] = ()
    """As for score; may be given several times where several are compared. Default: the embedded
    ones that the evaluation is about."""


class LongCaptionTrials(ScorerTrials):
    """Paragraphs and lists of tags, claim by claim."""

    device: Device = None


class ModelTrials(ScorerTrials):
    """Such repetitions with a choice of models and devices."""

    model: Annotated[str | None, FOLDER_OR_NAME] = None
    """Default: the embedded model of each scorer."""
    device: Device = None


class DatasetTrials(ModelTrials):
    """Such repetitions on a dataset whose captions are assumed correct."""

    dataset: str = "scenes"
    """scenes (freshly drawn, with known truth), unfamiliar-scenes (from a world that the embedded
    models have never seen), or a dataset's path, whose captions are assumed correct."""
    image_root: Annotated[Path | None, _READING["image_root"]] = None
    captioner: Annotated[tuple[str, ...], FOLDER_OR_NAME] = ()
    """Captioner that judges each word and refills suspect ones, or 'none'. Default: the embedded
    one with the embedded scorer; given several times, seed k takes the k-th."""


class TrajectoryTrials(DatasetTrials):
    """Such repetitions in which errors are injected and trajectories computed."""

    scorer: tuple[str, ...] = ()
    """As for score, or lemon-fix, lemon-opt (as published), lemon-auc (ours); may be given several
    times. Default: blip-itm."""
    noise: str = "all"
    """random, noun, fine-grained or all; rules: fine-grained by the rules that also make the
    detector's training errors; recorded: errors recorded in a dataset that the noise command
    made."""
    test_pairs: int | None = Field(None, ge=1)
    """How many of the pairs are from the dataset's test split. Default: half, with --published
    1,000."""
    devices: Annotated[str, CommandLine(metavar="DEVICES")] = ""
    """Several devices, such as cuda:0,cuda:1: each run's trajectories in one process each."""
    precision: Precision = None
    cache: Path = Path("data/evaluation")
    """Where trajectories are cached for the next evaluation."""

    def plan(self) -> "Plan":
        from research.evaluation.evaluate import NOISES, Plan

        return Plan(
            dataset=self.dataset, image_root=self.image_root,
            scorers=self.scorer or ("blip-itm",), model=self.model, embedded=self.folders,
            captioners=self.captioner, noises=NOISES if self.noise == "all" else [self.noise],
            seeds=self.seeds, first_seed=self.first_seed, pairs=self.count,
            test_pairs=self.test_pairs,
            devices=tuple(filter(None, map(str.strip, self.devices.split(",")))),
            device=self.device, precision=self.precision, cache=self.cache,
        )  # fmt: skip


class DetectionTrials(TrajectoryTrials, Page):
    """Evaluate how well errors are detected: known errors are injected, and the results on held-out
    pairs are reported alongside control baselines."""

    pairs: int | None = Field(None, ge=1)
    """Pairs per run; half of them are wrong. Default: 400, with --published 31,000 (one caption for
    each picture of Flickr30k)."""
    explorer: tuple[str, ...] = ()
    """elimination, gcd or fast-gcd; may be given several times. Default: elimination."""
    trained_on: Annotated[tuple[str, ...], CommandLine(metavar="NOISE")] = ()
    """Also train the detector on this noise and test it on --noise; may be given several times."""
    detector: Detector = None
    compare: bool = False
    """Also each detector on its own, and the paper's ablations. Slow."""
    corrections: int = Field(0, ge=0)
    """Also correct this many wrong captions per run and evaluate the corrections."""
    word_weights: str = "default"
    """Weights of the signs of suspect words: default, or fitted on errors injected into the
    training half, without a label."""
    published: bool = False
    """TRACED's Tables 1 and 6 in the paper's own setting: published BLIP and CLIP, all scorers and
    explorers or those named, all noises, on a --dataset whose name contains coco, flickr30k or
    imdb; with --noise recorded only the errors that it records. Estimates the time first;
    resumes."""
    estimate: bool = False
    """With --published: only estimate the time."""
    learning_curve: bool = False
    """Also the learning curve over 50 to 3,000 labelled pairs, 20 splits each."""
    cold_start: bool = False
    """Also the detector that is trained without labels, on 120, 600 and 3,000 pairs. Slow: it
    scores up to 2,000 injected errors each."""
    scores: Annotated[tuple[Path, ...], CommandLine(metavar="FILE")] = ()
    """With --noise recorded: another program's scores, a table with an id and a score, or its
    suspects, one id per line: compared on the same pairs; may be given several times."""
    vlm: Vlm = None
    vlm_url: VlmUrl = None
    vlm_mode: tuple[str, ...] = ()
    """With --corrections and --vlm: unguided, words, reasoning, trajectory; may be given several
    times. Default: all four."""
    quantise: Quantise = None
    times: int = Field(0, ge=0)
    """Time this many pairs with and without trajectories."""

    def correctors(self) -> list["Corrector"]:
        """The vision-language model, once for each way of asking it."""
        from backend.engine.correction.modes import MODES, mode_named
        from backend.features.corrections.corrector import Corrector
        from backend.loaded_models import Engine

        if self.vlm is None:
            return []
        if not self.corrections:
            raise SettingsError("Set the number of captions to correct: --corrections N.")
        overridden = {
            "corrector": self.vlm, "corrector_url": self.vlm_url, "device": self.device,
            "quantise": self.quantise,
        }  # fmt: skip
        model = Engine(load_settings(overridden)).chat_model
        if model is None:
            return []
        return [Corrector(model, mode_named(mode)) for mode in self.vlm_mode or MODES]


class StepTrials(TrajectoryTrials):
    """Exact trajectories against their first step alone and against lazy elimination."""

    noise: str = "fine-grained"
    """random, noun, fine-grained, rules or recorded: the errors that are injected."""
    lazy: Annotated[tuple[int, ...], CommandLine(metavar="M")] = ()
    """Also lazy elimination that re-scores M words; may be given several times."""


class SpecificityTrials(DatasetTrials):
    """Do captions find their pictures among similar ones?"""

    captioner: Annotated[tuple[str, ...], FOLDER_OR_NAME] = ()
    """With --dataset: captioners to evaluate; may be given several times."""
    size: tuple[int, ...] = ()
    """Pictures per bag; may be given several times. Default: 3, 5, 7."""
    bags: Path | None = None
    """With --dataset: the bags to evaluate on, a folder that the bags command wrote or a file in
    the form of TrueMatch. Default: mined here."""
    captions: Path | None = None
    """With --dataset: any model's captions, a JSONL with id and caption."""


class BiasOptions(ReportOptions):
    """How many verdicts until a writer's planted bias is found, and how many patterns are none?"""

    captioners: Path | None = None
    """Folder for two captioners, which are trained here on captions with planted biases and then
    describe new scenes; stopped, the same command resumes. Default: simulated writers."""
    runs: int = Field(40, ge=1)
    """Verdicts are drawn so many times."""
    first_seed: int = 0
    """Of what is drawn at random."""


class Ratings(ReportOptions):
    """Concreteness (ICC) against human ratings."""

    ratings: tuple[Path, ...] = ()
    """CSV files of captions and human ratings."""
    words: tuple[Path, ...] = ()
    """CSV files of single words and human ratings."""
    concreteness: Annotated[tuple[str, ...], FOLDER_OR_NAME] = ()
    """Models, such as moranyanuka/icc, or embedded. Default: embedded."""
    device: Device = None


class JudgeOptions(ReportOptions, Page):
    """Models that are compared on the same captions."""

    model: Annotated[str | None, FOLDER_OR_NAME] = None
    """Default: the embedded one."""
    scorer: str | None = None
    """As for score."""
    captioner: Annotated[str | None, FOLDER_OR_NAME] = None
    """Captioner whose likelihood is compared, or 'none'. Default: the embedded one with the
    embedded scorer."""
    baseline: Annotated[tuple[str, ...], CommandLine(metavar="KIND=NAME_OR_DIR")] = ()
    """A single score to compare with, such as clip=openai/clip-vit-base-patch32 (CLIPScore),
    lemon-fix, or vqa:NAME_OR_DIR (P(yes)); may be given several times. Default with a published
    benchmark: the embedded clip and blip-itm."""
    scores: Annotated[tuple[Path, ...], CommandLine(metavar="FILE")] = ()
    """Another program's scores, a table with an id and a score, the output of `capevalkit score`,
    or its suspects, one id per line: compared on the same pairs; may be given several times."""
    judge_url: VlmUrl = None
    judge_model: str | None = None
    """The model behind --judge-url, if it serves several: P(yes) is compared."""
    judge_answers: Annotated[Path | None, CommandLine(metavar="FILE")] = None
    """Keep its answers in this JSONL: what is answered there is not asked again."""
    first_seed: int = 0
    """Of what is drawn at random."""
    device: Device = None
    precision: Precision = None

    def judges(self) -> "Judges":
        from research.benchmarks.run import Judges

        return Judges(
            self.model, self.scorer, self.captioner, self.baseline, self.scores, self.device,
            self.precision, self.judge_url, self.judge_model, self.judge_answers,
        )  # fmt: skip


class BenchmarkOptions(JudgeOptions):
    """A published benchmark in its own files (also: --benchmark NAME PATH). Nothing is
    downloaded."""

    name: Annotated[str, ARGUMENT]
    """foil, sugarcrepe, sugarcrepe++, winoground, aro, hat, nocaps-foil, mhaldetect,
    detailverifybench or seetrue."""
    path: Annotated[Path, ARGUMENT]
    """Its file or folder."""
    image_root: Path | None = None
    """The folder of its pictures."""
    pairs: int | None = None
    """Draw so many of its pictures or examples. Default: all."""
    skip_missing: bool = False
    """Leave out the entries whose pictures are missing; the report says how many."""
    items: Annotated[Path | None, CommandLine(metavar="FILE")] = None
    """Also write the ids, pictures and captions to this JSONL, for others to score (--scores)."""


class VerdictOptions(JudgeOptions):
    """Models on the verdicts in a dataset of the store."""

    dataset: str
    """Name in the database."""
    db: Database = None


# ---------------------------------------------------------------------------- evaluations


class WithDefault(TyperGroup):
    """Without the name of an evaluation, detection is evaluated; --benchmark NAME names one too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, name_evaluation(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            names = ", ".join(f"'{name}'" for name in self.commands)
            ctx.fail(f"There is no evaluation '{args[0]}', only {names}.")
        return super().resolve_command(ctx, args)


def name_evaluation(arguments: Sequence[str]) -> list[str]:
    """The arguments of `evaluate`, with the name of the evaluation first.

    >>> name_evaluation(["--seeds", "3"]), name_evaluation(["--benchmark", "foil", "foil.json"])
    (['detection', '--seeds', '3'], ['benchmark', 'foil', 'foil.json'])
    """
    words = [
        part
        for word in arguments
        for part in (word.split("=", 1) if word.startswith("--benchmark=") else [word])
    ]
    if "--benchmark" in words:
        place = words.index("--benchmark")
        return [BENCHMARK, *words[place + 1 : place + 2], *words[:place], *words[place + 2 :]]
    if words[:1] in (["--help"], ["-h"]) or (words and not words[0].startswith("-")):
        return words
    return [DETECTION, *words]


evaluate = typer.Typer(
    cls=WithDefault,
    help="Measure quality: with known errors, on published benchmarks, on your own verdicts. "
    f"Without a name: {DETECTION}.",
)


def _evaluation(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the function as an evaluation of this name."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        evaluate.command(name)(as_command(function))
        return function

    return add


def _report(
    options: ReportOptions,
    run: Callable[..., Any],
    markdown: Callable[[Any], str],
    page: Callable[[Any, str], str] | None = None,
) -> None:
    """Run an evaluation, print its report and write it to the files that `options` name.
    `markdown`, `page`: its tables, and its HTML page with the command."""
    files = [getattr(options, name, None) for name in ("markdown", "page", "items")]
    for file in files:  # before hours of computing
        if file is not None and not file.absolute().parent.is_dir():
            raise SettingsError(f"There is no folder {file.absolute().parent}.")
    with progress("Evaluating") as update:
        report = run(progress=update)
    tables, command = markdown(report), " ".join(["python app.py", *sys.argv[1:]])
    if options.markdown is not None:
        options.markdown.write_text(f"`{command}`\n\n{tables}\n", encoding="utf-8")
    if page is not None and isinstance(options, Page) and options.page is not None:
        options.page.write_text(page(report, command), encoding="utf-8")
    emit(report, options.as_json, tables)


# ---------------------------------------------------------------------- errors in captions


@_evaluation(DETECTION)
def detection(options: DetectionTrials) -> None:
    from backend.engine.trajectories.exploring import Exploring
    from research.evaluation import evaluate as detecting
    from research.evaluation import papers_setting, result_tables
    from research.evaluation.page import page

    pairs, test_pairs = options.count, options.test_pairs
    if options.published:
        pairs = options.pairs or papers_setting.PAIRS
        test_pairs = test_pairs or min(papers_setting.TEST_PAIRS, pairs // 2)
    plan = replace(
        options.plan(),
        explorers=[Exploring(name) for name in options.explorer or ("elimination",)],
        pairs=pairs, test_pairs=test_pairs, detector=options.detector or "best",
        compare=options.compare, corrections=options.corrections,
        correctors=options.correctors(), times=options.times,
        word_weights=options.word_weights, learning_curve=options.learning_curve,
        cold_start=options.cold_start, trained_on=options.trained_on,
        contestants=options.scores,
    )  # fmt: skip
    if not options.published:
        run = partial(detecting.evaluate, plan)
        _report(options, run, result_tables.markdown, page=page)
        return
    with progress("Evaluating") as update:
        plans = papers_setting.plans(plan, options.scorer, options.explorer)
        estimate = papers_setting.estimate(plans, update)
    if options.estimate:
        emit(estimate, options.as_json, papers_setting.in_words(estimate))
        return
    console.print(papers_setting.in_words(estimate))
    run = partial(papers_setting.evaluate_as_published, plans)
    _report(options, run, result_tables.markdown, page=page)


@_evaluation("steps")
def steps(options: StepTrials) -> None:
    from research.evaluation import fewer_steps

    run = partial(fewer_steps.evaluate_steps, options.plan(), options.lazy)
    _report(options, run, fewer_steps.markdown)


@_evaluation("long-captions")
def long_captions(options: LongCaptionTrials) -> None:
    from research.evaluation import several_claims

    measure, scorer = several_claims.evaluate_long_captions, next(iter(options.scorer), "blip-itm")
    run = partial(measure, *options.drawn, scorer, device=options.device)
    _report(options, run, several_claims.markdown)


@_evaluation("regions")
def regions(options: ScorerTrials) -> None:
    """Do regions of words lie on the things that they are about?"""
    from research.evaluation import pointing

    scorers = options.scorer or ("blip-itm", "blip-itc", "clip")
    run = partial(pointing.evaluate_pointing, *options.drawn, scorers)
    _report(options, run, pointing.markdown)


@_evaluation("cleaning")
def cleaning(options: Trials) -> None:
    """Do verdicts pay for the models that are trained on the captions?"""
    from research.evaluation import cleaning_pays

    run = partial(cleaning_pays.evaluate_cleaning, *options.drawn)
    _report(options, run, cleaning_pays.markdown)


@_evaluation("boosting")
def boosting(options: LongCaptionTrials) -> None:
    """Richer captions and their guard, with answers by rule."""
    from research.evaluation import boosted_captions

    run = partial(boosted_captions.evaluate_boosting, *options.drawn, device=options.device)
    _report(options, run, boosted_captions.markdown)


@_evaluation("blind-spots")
def blind_spots(options: BiasOptions) -> None:
    from research.evaluation import biased_captioners, planted_biases

    def run(progress: Progress) -> planted_biases.BiasReport:
        folder = options.captioners
        writers = (
            planted_biases.SimulatedWriters()
            if folder is None
            else biased_captioners.trained_writers(folder.expanduser(), progress=progress)
        )
        return planted_biases.evaluate_biases(
            writers, runs=options.runs, first_seed=options.first_seed, progress=progress
        )

    _report(options, run, planted_biases.markdown)


# -------------------------------------------------------------------- phrases, bags, concreteness


@_evaluation("support")
def support(options: ScorerTrials) -> None:
    """Phrases and how much each matters."""
    from research.evaluation import support as supporting

    _check(options)
    scorers = options.scorer or ("clip", "blip-itm")
    run = partial(supporting.evaluate_support, *options.drawn, scorers)
    _report(options, run, supporting.markdown)


@_evaluation("selection")
def selection(options: ScorerTrials) -> None:
    """What two-stage selection keeps of a synthetic mixture."""
    from research.evaluation import selection as selecting

    _check(options)
    scorer = next(iter(options.scorer), "clip")
    run = partial(selecting.evaluate_selection, *options.drawn, scorer)
    _report(options, run, selecting.markdown)


@_evaluation("composition")
def composition(options: ModelTrials) -> None:
    """True captions against minimally false ones."""
    from backend.engine.scoring.loading import load_scorer
    from research.evaluation import composition as comparing
    from research.evaluation.labelled import DIRECTORIES

    _check(options)
    kind = next(iter(options.scorer), None)
    model = options.model or str(options.folders[0] / DIRECTORIES[kind or "clip"])
    scorer = load_scorer(model, kind, options.device)
    comparisons = comparing.drawn_comparisons(options.count, options.first_seed)
    run = partial(comparing.evaluate_composition, scorer, comparisons)
    _report(options, run, comparing.markdown)


def _check(options: Trials) -> None:
    if options.count < 40 or options.seeds < 1:
        raise SettingsError("An evaluation needs at least 1 seed and 40 pairs.")


@_evaluation("specificity")
def specificity(options: SpecificityTrials) -> None:
    from backend.features.specificity.bags_operation import SIZES
    from research.evaluation import specificity as recalling

    kind, sizes = next(iter(options.scorer), None), options.size or SIZES
    if options.dataset == "scenes":
        if options.bags or options.captions or options.captioner or options.model:
            raise SettingsError(
                "--bags, --captions, --captioner and --model need a dataset: --dataset PATH."
            )
        run = partial(
            recalling.evaluate_scenes, *options.drawn, kind or "clip", sizes, options.device
        )
    else:
        default = str(MODELS / "scenes-clip") if kind is None else None
        settings = load_settings({"model": options.model or default, "kind": kind})
        run = partial(
            recalling.evaluate_dataset, Path(options.dataset).expanduser(), options.image_root,
            settings.model, settings.kind, sizes, options.bags, options.captioner,
            options.captions, options.count, options.first_seed, options.device,
        )  # fmt: skip
    _report(options, run, recalling.markdown)


@_evaluation("icc")
def icc(options: Ratings) -> None:
    from research.evaluation import icc as agreeing

    models = [None if name == "embedded" else name for name in options.concreteness or ["embedded"]]

    def run(progress: Progress) -> Any:
        return agreeing.evaluate_icc(options.ratings, options.words, models, options.device)

    _report(options, run, agreeing.markdown)


# ------------------------------------------------------------- published benchmarks, own verdicts


@_evaluation(BENCHMARK)
def benchmark(options: BenchmarkOptions) -> None:
    from research.benchmarks.report import markdown, page
    from research.benchmarks.run import evaluate_benchmark

    if options.image_root is None:
        raise SettingsError("Give the folder of the benchmark's pictures: --image-root FOLDER")
    run = partial(
        evaluate_benchmark, options.name, options.path.expanduser(), options.image_root,
        options.judges(), options.pairs, options.first_seed, options.skip_missing, options.items,
    )  # fmt: skip
    _report(options, run, markdown, page=page)


@_evaluation("verdicts")
def verdicts(options: VerdictOptions) -> None:
    from research.benchmarks.report import markdown, page
    from research.benchmarks.run import compare_on_verdicts

    workspace, dataset = open_dataset(options.dataset, database=options.db)
    run = partial(compare_on_verdicts, workspace, dataset, options.judges(), options.first_seed)
    _report(options, run, markdown, page=page)
