"""Trajectories and gradients of labelled pairs: read from the cache, or computed and saved.

A cache file per run, keyed by scorer and revision, explorer and parameters, and the pairs; written
under a temporary name and renamed. Two baselines for the suspect words: the first-order rise of s
if the word were replaced by an average one (a gradient), and the rise of s when its phrase becomes
nonsense (-PAS), which measures nearly the same as a deletion.
"""

import hashlib
import json
import time
import zipfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.datasets.safe_files.regular_files import replacement
from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.detection.cold_start import ScoreCaptions
from backend.engine.detection.localisation import WordWeights
from backend.engine.detection.word_weights import Spans, fit_word_weights
from backend.engine.expectation import Expectation, expectations
from backend.engine.noise.injection import ImageCaption, inject
from backend.engine.phrases.attribution import attribute_phrases
from backend.engine.phrases.nonce import Nonces, make_pools
from backend.engine.scoring.protocol import Embed, FloatArray, ImageState, Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from research.evaluation.labelled import LabelledPairs
from research.evaluation.suspect_hits import WordScores

_BATCH = 16
#: Pairs among which LEMoN's authors look for neighbours.
BANK = 50_000
#: One array a caption, by name.
Arrays = dict[str, list[NDArray[Any]]]


def word_gradients(scorer: Scorer, pairs: Iterator[tuple[ImageState, Caption]]) -> list[WordScores]:
    """For each pair one score per word, shape [words]; higher is more suspect, -inf if unread.

    A word of several tokens gets the maximum of their scores.
    """
    session = scorer.open_session()
    mask = scorer.reader.replaceable(True)
    word_scores: list[WordScores] = []
    for batch in iter(lambda: list(islice(pairs, _BATCH)), []):
        texts = scorer.reader.tokenise([caption.text for _, caption in batch])
        queries = [(state, text) for (state, _), text in zip(batch, texts, strict=True)]
        for (_, caption), text, gains in zip(
            batch, texts, session.replacement_gains(queries), strict=True
        ):
            of_tokens = gains[:, mask].mean(1) - gains[np.arange(len(text)), list(text)]
            of_words = np.full(len(caption), -np.inf)
            spans = scorer.reader.spans(caption.text)
            for (start, end), gain in zip(spans, of_tokens, strict=False):
                for word, (first, last) in enumerate(caption.spans):
                    if start < last and first < end:
                        of_words[word] = max(of_words[word], float(gain))
            word_scores.append(of_words)
    return word_scores


def load_or_make(
    folder: Path, what: dict[str, Any], captions: Sequence[str], make: Callable[[], Arrays]
) -> Arrays:
    """The arrays of `captions` for the key `what`: read from `folder`, or made and saved."""
    key = json.dumps({**what, "format": 3, "captions": list(captions)}, sort_keys=True)
    path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = archive["names"].tolist()
            return {
                name: np.split(archive[name], np.cumsum(archive[f"{name}_lengths"])[:-1])
                for name in names
            }
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        arrays = make()
    contents: dict[str, Any] = {"names": np.array(list(arrays))}
    for name, parts in arrays.items():
        contents[name] = np.concatenate(parts) if parts else np.zeros(0)
        contents[f"{name}_lengths"] = np.array([len(part) for part in parts], np.int64)
    folder.mkdir(parents=True, exist_ok=True)
    with replacement(path, is_flushed=False) as part, part.open("wb") as file:
        np.savez_compressed(file, **contents)
    return arrays


def _arrays_of(trajectories: Sequence[Trajectory]) -> Arrays:
    arrays: Arrays = {
        "scores": [t.scores for t in trajectories],
        "similarities": [t.similarities for t in trajectories],
        "removed": [np.array(t.removed, np.int64) for t in trajectories],
        "first_step_scores": [t.first_step_scores for t in trajectories],
        "truncated": [np.array([t.truncated]) for t in trajectories],
        "captions": [np.frombuffer(json.dumps(t.captions).encode(), np.uint8)
                     for t in trajectories],
    }  # fmt: skip
    auxiliaries = [t.auxiliary for t in trajectories if t.auxiliary is not None]
    if auxiliaries:  # one scorer: all or none have it
        arrays["second_scores"] = [auxiliary.scores for auxiliary in auxiliaries]
        arrays["second_first_step_scores"] = [a.first_step_scores for a in auxiliaries]
    return arrays


def _trajectory(caption: str, row: int, arrays: Arrays) -> Trajectory:
    of = {name: parts[row] for name, parts in arrays.items()}
    texts = json.loads(of["captions"].tobytes())
    auxiliary = None
    if "second_scores" in of:
        auxiliary = AuxiliaryScores(of["second_scores"], of["second_first_step_scores"])
    return Trajectory(
        Caption.parse(caption), of["scores"], of["similarities"], tuple(of["removed"].tolist()),
        of["first_step_scores"], bool(of["truncated"][0]),
        None if texts is None else tuple(texts), auxiliary,
    )  # fmt: skip


def word_interventions(
    scorer: Scorer, pairs: Iterable[tuple[ImageState, Caption]]
) -> list[WordScores]:
    """One score per word for each pair, shape [words]; words in no phrase score below all others.

    Raises SettingsError for LEMoN."""
    requests = list(pairs)
    nonces = Nonces(scorer.reader, make_pools(scorer.reader, scorer.open_session().embed))
    by_caption = []
    for index, scores in attribute_phrases(scorer, requests, nonces):
        caption = requests[index][1]
        values = [-score.pas for score in scores if score.pas is not None]
        words = np.full(len(caption), min(values, default=0.0) - 1.0)
        for score in scores:
            if score.pas is None:
                continue
            for i, (start, end) in enumerate(caption.spans):
                if score.phrase.start <= start and end <= score.phrase.end:
                    words[i] = -score.pas
        by_caption.append(words)
    return by_caption


class LabelledSource:
    """Labelled pairs as the neighbours of a scorer (`PairSource`): all pairs outside `test` and
    outside the dataset's own validation part, including noisy ones, at most BANK of them, as in
    LEMoN's code. Keys are row indices.

    `fit`: "fix", or the objective by which a scorer is fitted to the labels of the validation part;
    without one, to those outside `test`.
    """

    def __init__(self, pairs: LabelledPairs, test: NDArray[np.bool_], fit: str) -> None:
        self._pairs, self._test, self._fit = pairs, test, fit

    @property
    def identity(self) -> Hashable:
        return self  # pairs are never shared between runs

    def vectors(
        self, model: str, embed: Embed
    ) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
        for first in range(0, len(self._pairs), _BATCH):
            captions = self._pairs.captions[first : first + _BATCH]
            rows = list(range(first, first + len(captions)))
            yield rows, *embed(_pictures(self._pairs, first), captions)

    def training_keys(self) -> NDArray[np.int64] | None:
        validation = self._pairs.validation
        rows = np.flatnonzero(~self._test if validation is None else ~self._test & ~validation)
        return np.sort(np.random.default_rng(0).permutation(rows)[:BANK])

    @property
    def objective(self) -> str:
        return self._fit

    def labels(self) -> Mapping[int, bool] | None:
        if self._fit == "fix":
            return None
        validation = self._pairs.validation
        rows = np.flatnonzero(~self._test if validation is None else validation)
        return {int(row): bool(self._pairs.wrong[row]) for row in rows}


def prepare(
    scorer: Scorer, pairs: LabelledPairs, test: NDArray[np.bool_], fit: str = "fix"
) -> None:
    """Prepare the scorer for these pairs; see `LabelledSource`."""
    scorer.prepare(LabelledSource(pairs, test, fit))


def trajectories_of(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    exploring: Exploring,
    pairs: LabelledPairs,
    on_devices: Callable[[], list[Trajectory]] | None = None,
) -> list[Trajectory]:
    """The trajectories of the pairs, in order; images are opened lazily. `on_devices`: computes
    them elsewhere (`trajectories_on_devices`)."""
    key = {**_key(what, scorer), "explorer": exploring.name, **exploring.parameters()}

    def make() -> Arrays:
        if on_devices is not None:
            return _arrays_of(on_devices())
        by_index = dict(run_trajectories(scorer, states_of(scorer, pairs), exploring))
        return _arrays_of([by_index[index] for index in range(len(pairs))])

    arrays = load_or_make(cache, key, pairs.captions, make)
    return [_trajectory(caption, row, arrays) for row, caption in enumerate(pairs.captions)]


def with_captioner(
    cache: Path,
    what: dict[str, Any],
    captioner: Captioner | None,
    trajectories: Sequence[Trajectory],
    pairs: LabelledPairs,
) -> list[Trajectory]:
    """The trajectories with the captioner's expectations added; unchanged without a captioner."""
    if captioner is None:
        return list(trajectories)
    reader = captioner

    def make() -> Arrays:
        read: list[Expectation] = []
        for first in range(0, len(pairs), _BATCH):
            texts = pairs.captions[first : first + _BATCH]
            read += expectations(reader, list(zip(_pictures(pairs, first), texts, strict=True)))
        return {"log_p": [e.log_p for e in read], "distance": [e.distance for e in read]}

    key = {**what, "of": "expectations", "captioner": reader.identity}
    arrays = load_or_make(cache, key, pairs.captions, make)
    return [
        replace(trajectory, expectation=Expectation(log_p, distance, (), reader.identity))
        for trajectory, log_p, distance in zip(
            trajectories, arrays["log_p"], arrays["distance"], strict=True
        )
    ]


def word_weights_of(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    captioner: Captioner | None,
    exploring: Exploring,
    pairs: LabelledPairs,
    test: NDArray[np.bool_],
    seed: int,
) -> WordWeights | None:
    """Suspect-word weights, fitted as in a cold start: on copies of the captions outside `test`, in
    which the program itself injects errors. No labels of the pairs are used."""
    rows = np.flatnonzero(~test).tolist()
    captions = [ImageCaption(str(pairs.groups[row]), pairs.captions[row]) for row in rows]
    copies = [
        (row, noisy)
        for row, noisy in zip(rows, inject(captions, 1.0, ["fine_grained"], seed), strict=True)
        if noisy is not None
    ]
    spans: list[Spans] = [noisy.changed for _, noisy in copies]
    key = {**what, "copies": "fine_grained"}
    score = score_captions(cache, key, scorer, captioner, exploring, pairs)
    return fit_word_weights(score([(row, noisy.text) for row, noisy in copies]), spans)


def score_captions(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    captioner: Captioner | None,
    exploring: Exploring,
    pairs: LabelledPairs,
) -> ScoreCaptions:
    """A function for the trajectories of other captions on the images of these pairs, by row."""

    def score(requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        rows, texts = [row for row, _ in requests], [text for _, text in requests]
        copies = LabelledPairs(
            texts, texts, np.ones(len(texts), np.bool_), [frozenset()] * len(texts),
            [""] * len(texts), [pairs.groups[row] for row in rows],
            lambda index: pairs.picture(rows[index]),
        )  # fmt: skip
        key = {**what, "rows": rows}
        trajectories = trajectories_of(cache, key, scorer, exploring, copies)
        return with_captioner(cache, key, captioner, trajectories, copies)

    return score


def gradients_of(
    cache: Path, what: dict[str, Any], scorer: Scorer, pairs: LabelledPairs
) -> list[WordScores] | None:
    """Gradient scores of the words of pairs whose changed words are known, empty for others; None
    if there are none."""
    return _of_changed_pairs(cache, {**what, "of": "gradients"}, scorer, pairs, word_gradients)


def interventions_of(
    cache: Path, what: dict[str, Any], scorer: Scorer, pairs: LabelledPairs
) -> list[WordScores] | None:
    """The same for intervention scores; None as well for a scorer that compares pairs."""
    if scorer.info.compares_pairs:
        return None
    key = {**what, "of": "interventions"}
    return _of_changed_pairs(cache, key, scorer, pairs, word_interventions)


def _of_changed_pairs(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    pairs: LabelledPairs,
    scores_of: Callable[[Scorer, Iterator[tuple[ImageState, Caption]]], list[WordScores]],
) -> list[WordScores] | None:
    rows = [row for row, words in enumerate(pairs.changed) if words]
    if not rows:
        return None

    def make() -> Arrays:
        requests = (
            state for row, state in enumerate(states_of(scorer, pairs)) if pairs.changed[row]
        )
        by_row = dict(zip(rows, scores_of(scorer, requests), strict=True))
        return {"words": [by_row.get(row, np.zeros(0)) for row in range(len(pairs))]}

    return load_or_make(cache, _key(what, scorer), pairs.captions, make)["words"]


def states_of(scorer: Scorer, pairs: LabelledPairs) -> Iterator[tuple[ImageState, Caption]]:
    for first in range(0, len(pairs), _BATCH):
        for row, state in enumerate(scorer.encode_images(_pictures(pairs, first)), first):
            yield scorer.of_pair(state, row), Caption.parse(pairs.captions[row])


def _pictures(pairs: LabelledPairs, first: int) -> list[Image.Image]:
    return [pairs.picture(row) for row in range(first, min(first + _BATCH, len(pairs)))]


def _key(what: dict[str, Any], scorer: Scorer) -> dict[str, Any]:
    info = scorer.info
    return {**what, "revision": info.revision, "precision": info.precision, **info.parameters}


@dataclass(frozen=True)
class Times:
    """Wall-clock seconds for 1,000 pairs (TRACED, Table 2), including opening and encoding their
    images, extrapolated from `pairs` pairs."""

    scorer: str
    explorer: str
    device: str
    pairs: int
    single_score: float
    trajectories: float


def measure_times(
    scorer: Scorer, name: str, exploring: Exploring, pairs: LabelledPairs, count: int
) -> Times:
    """Time both ways over the first `count` pairs, after a short warm-up."""
    count = min(count, len(pairs))

    def single(limit: int) -> None:
        session = scorer.open_session()
        for row, (state, caption) in enumerate(states_of(scorer, pairs)):
            if row == limit:
                return
            session.score([(state, scorer.reader.tokenise([caption.text]))])

    def explore(limit: int) -> None:
        some = (pair for _, pair in zip(range(limit), states_of(scorer, pairs), strict=False))
        for _ in run_trajectories(scorer, some, exploring):
            pass

    single(2)
    explore(2)
    return Times(
        name,
        exploring.name,
        scorer.info.device,
        count,
        1000 * _seconds(lambda: single(count)) / count,
        1000 * _seconds(lambda: explore(count)) / count,
    )


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
