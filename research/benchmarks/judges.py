"""What judges the captions of a benchmark: the program as it is, single scores, a captioner, files.

The program goes a user's way (`TracedJudge`): the captions are imported, scored and ranked in a
temporary store, and its chances of error and suspect words are read from there.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from backend.datasets.cells import trim
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.datasets.safe_files.images import load_image
from backend.engine.captions import Caption
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.expectation import expectations
from backend.engine.scoring.loading import KINDS, choose_device, load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.errors import (
    DatasetFormatError,
    ImageError,
    ModelMismatch,
    QuestionRefused,
    SettingsError,
)
from backend.features.selection.score_file import ScoreFile, read_all_scores, read_scores
from backend.features.vision_language.model_check import open_server
from backend.features.vision_language.opinions import p_yes
from backend.features.vision_language.server_question import question_about
from backend.jobs import export_scores
from backend.progress import Progress, no_progress
from backend.settings import MODELS
from research.benchmarks.benchmark import Item
from research.benchmarks.benchmark_figures import Judgement
from research.evaluation.evaluate import LEMON
from research.evaluation.labelled import DIRECTORIES, LabelledPairs
from research.evaluation.scored import prepare
from research.user_datasets import Picture, import_pairs

#: Requests to a server that are in flight together.
_AT_ONCE = 4


def picture_of(item: Item) -> Image.Image:
    """Raises DatasetFormatError, which names the file."""
    try:
        image = load_image(item.picture)
    except ImageError as problem:
        raise DatasetFormatError(f"{item.picture}: {problem}") from problem
    return image.crop(item.box) if item.box is not None else image


def _by_picture(items: Sequence[Item]) -> Iterator[tuple[Image.Image, list[int]]]:
    """Each picture with the rows of its captions; those that follow each other share one."""
    rows = range(len(items))
    for _, of_picture in groupby(rows, key=lambda row: (items[row].picture, items[row].box)):
        caption_rows = list(of_picture)
        yield picture_of(items[caption_rows[0]]), caption_rows


def load_named(name: str, device: str | None, precision: str | None) -> tuple[str, Scorer]:
    """A scorer named KIND, KIND=MODEL or MODEL, and what it is called in a report.

    Raises SettingsError for a kind that no embedded model has and that names no model."""
    kind, equals, model = name.partition("=")
    if not equals and kind not in KINDS and kind not in LEMON:
        return f"s_0 of {name}", load_scorer(name, None, device, precision)
    if not model:
        base = "clip" if kind in LEMON or kind == "lemon" else kind
        if base not in DIRECTORIES:
            raise SettingsError(
                f"There is no embedded {kind}; name a model for it: {kind}=NAME_OR_DIR."
            )
        model = str(MODELS / DIRECTORIES[base])
    scorer = load_scorer(model, "lemon" if kind in LEMON else kind, device, precision)
    return f"s_0 of {kind}", scorer


def by_scorer(
    name: str, scorer: Scorer, items: Sequence[Item], progress: Progress = no_progress
) -> Judgement:
    """The single score of each caption. A scorer that compares pairs (LEMoN) gets the benchmark's
    own captions as its neighbours, without their labels."""
    if scorer.info.compares_pairs:
        texts = [item.caption for item in items]
        pairs = LabelledPairs(
            texts, texts, np.zeros(len(items), np.bool_), [frozenset()] * len(items),
            [""] * len(items), list(range(len(items))), lambda row: picture_of(items[row]),
        )  # fmt: skip
        prepare(scorer, pairs, np.zeros(len(items), np.bool_))
    scores = np.zeros(len(items))
    for image, rows in _by_picture(items):
        (state,) = scorer.encode_images([image])
        requests = [(scorer.of_pair(state, row), [items[row].caption]) for row in rows]
        for row, (score,) in zip(rows, scorer.score(requests), strict=True):
            scores[row] = float(score)
        progress(rows[-1] + 1, len(items), f"Scoring by {name}")
    info = scorer.info
    more = "".join(f", {key} {value}" for key, value in info.parameters.items())
    neighbours = ", neighbours: these captions" if info.compares_pairs else ""
    settings = f"{info.kind}, {_model_name(info.model)}, revision {info.revision}, {info.precision}"
    return Judgement(name, scores, settings + more + neighbours)


def by_captioner(
    model: str, items: Sequence[Item], device: str | None, progress: Progress = no_progress
) -> Judgement:
    """The captioner's mean log-probability of the caption's words; the words it finds least likely
    are its suspects."""
    captioner = load_captioner(model, choose_device(device))
    scores = np.zeros(len(items))
    suspects = []
    for image, rows in _by_picture(items):
        read = expectations(captioner, [(image, items[row].caption) for row in rows])
        for row, expectation in zip(rows, read, strict=True):
            words = np.full(len(Caption.parse(items[row].caption)), -np.inf)
            words[: len(expectation.log_p)] = -expectation.log_p
            scores[row] = expectation.log_p.mean() if len(expectation.log_p) else 0.0
            suspects.append(words)
        progress(rows[-1] + 1, len(items), "Reading by the captioner")
    settings = f"mean log p of the words, {_model_name(model)}, {captioner.identity}"
    return Judgement("captioner's likelihood", scores, settings, suspects)


def by_file(path: Path, items: Sequence[Item]) -> tuple[list[Judgement], list[str]]:
    """Anybody's scores by the ids of the captions, one judge for each metric, and notes on the
    file.

    Raises SettingsError with counts if captions have no score: a figure of the others could not be
    compared with those of the other judges."""
    files = read_all_scores(path)
    names = [path.name if len(files) == 1 else f"{path.name}, {each.column}" for each in files]
    ids = {item.id for item in items}
    extra, total = len(files[0].by_id.keys() - ids), len(files[0].by_id)
    notes = [f"{path.name}: {extra:,} of {total:,} ids are of no caption here."] if extra else []
    return [
        _of_file(name, path, scores, items) for name, scores in zip(names, files, strict=True)
    ], notes


def _of_file(name: str, path: Path, scores: ScoreFile, items: Sequence[Item]) -> Judgement:
    missing = [item.id for item in items if item.id not in scores.by_id]
    if missing and not scores.is_list:
        raise SettingsError(
            f"{len(missing):,} of {len(items):,} captions have no score in '{path.name}', "
            f"'{trim(missing[0])}' first; it has {len(scores.by_id):,} ids. All judges are "
            "compared on the same captions.",
            terminal="Write the ids and pictures of all captions to a file with --items FILE.",
        )
    sign = -1.0 if scores.says_wrong else 1.0
    values = np.array([sign * scores.by_id.get(item.id, 0.0) for item in items])
    meaning = "wrong" if scores.says_wrong else "right"
    settings = f"column {scores.column or 'list of suspects'}: higher is more likely {meaning}"
    return Judgement(name, values, settings)


def by_server(
    url: str,
    model: str | None,
    items: Sequence[Item],
    answers: Path | None = None,
    progress: Progress = no_progress,
) -> Judgement:
    """P(yes) of a model behind an OpenAI-compatible server, asked whether the picture shows the
    caption, with the words of a second opinion. `answers`: a JSONL that gets each answer as it
    comes; captions that have one there are not asked about again.

    Raises ModelUnavailable for a server that fails, ModelMismatch, which names the caption, for a
    model that refuses it or answers something else than yes or no."""
    scores: dict[str, float] = {}
    if answers is not None and answers.exists():
        scores = read_scores(answers).by_id
    endpoint = open_server(url, model)

    def ask(item: Item) -> float:
        try:
            answer = endpoint.ask(question_about(picture_of(item), item.caption))
        except QuestionRefused as problem:
            raise ModelMismatch(f"About '{trim(item.id)}': {problem}") from problem
        if (p := p_yes(answer.likeliest)) is None:
            raise ModelMismatch(
                f"'{endpoint.name}' answers neither yes nor no about '{trim(item.id)}', so it "
                "cannot be compared on the same captions."
            )
        return p

    waiting = [item for item in items if item.id not in scores]
    with DaemonPool(_AT_ONCE) as pool, ExitStack() as stack:
        log = None if answers is None else stack.enter_context(answers.open("a", encoding="utf-8"))
        for item, p in zip(waiting, pool.map_in_order(ask, waiting), strict=True):
            scores[item.id] = p
            if log is not None:
                log.write(json.dumps({"id": item.id, "score": p}, ensure_ascii=False) + "\n")
                log.flush()
            progress(len(scores), len(items), f"Asking {endpoint.name}")
    values = np.array([scores[item.id] for item in items])
    spending = endpoint.spending
    settings = f"{endpoint.name}, P(yes) by the second opinion's question, {spending.requests:,} "
    settings += f"requests, {spending.tokens_in:,} tokens in, {spending.tokens_out:,} out"
    return Judgement(f"P(yes) of {endpoint.name}", values, settings)


def by_program(
    items: Sequence[Item], options: Mapping[str, str | None], progress: Progress = no_progress
) -> Judgement:
    """The program's own chance of error: imported, scored and ranked as a user's dataset is.
    `options`: settings that differ from the defaults (model, kind, captioner, device)."""
    pictures: dict[object, int] = {}
    numbers = [pictures.setdefault((item.picture, item.box), row) for row, item in enumerate(items)]

    def picture(number: int) -> Picture:
        item = items[number]
        if isinstance(item.picture, Path) and item.box is None:
            return item.picture
        return picture_of(item)

    captions = zip(numbers, (item.caption for item in items), strict=True)
    with import_pairs(captions, picture, options, progress) as (workspace, dataset):
        settings = workspace.settings
        workspace.jobs.score(dataset, progress, anyway=True, suggestions=False)
        with TemporaryDirectory() as folder:
            out = Path(folder) / "scores.jsonl"
            export_scores.write(workspace.store, dataset, out)
            lines = out.read_text(encoding="utf-8").splitlines()
    by_id = {row["id"]: row for row in map(json.loads, lines)}
    lacking = [item.id for row, item in enumerate(items) if _p_error(by_id.get(str(row))) is None]
    if lacking:
        raise DatasetFormatError(
            f"{len(lacking):,} of {len(items):,} captions were not scored, '{trim(lacking[0])}' "
            "first."
        )
    rows = [by_id[str(row)] for row in range(len(items))]
    suspects = [_of_words(item, row["suspects"]) for item, row in zip(items, rows, strict=True)]
    about = f"{_model_name(settings.model)}, {settings.kind or 'its own kind'}, "
    about += f"captioner {_model_name(settings.captioner or 'auto')}, detector without labels"
    scores = -np.array([row["p_error"] for row in rows], np.float64)
    return Judgement("TRACED Curator", scores, about, suspects)


def _p_error(row: Mapping[str, object] | None) -> object:
    return None if row is None else row.get("p_error")


def _of_words(item: Item, suspects: Sequence[Sequence[float]]) -> np.ndarray:
    spans = Caption.parse(item.caption).spans
    words = np.full(len(spans), -np.inf)
    for start, end, score in suspects:
        for word, (first, last) in enumerate(spans):
            if start < last and first < end:
                words[word] = max(words[word], score)
    return words


def _model_name(model: str) -> str:
    """A directory by its name: where it lies on this machine is nobody's business."""
    return Path(model).name if Path(model).is_absolute() else model
