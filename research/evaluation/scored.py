"""Trajectories and gradients of labelled pairs: read from the cache, or computed and saved.

A cache file per run, keyed by scorer and revision, explorer and parameters, and the pairs; written
under a temporary name and renamed. Two baselines for the suspect words: the first-order rise of s
if the word were replaced by an average one (a gradient), and the rise of s when its phrase becomes
nonsense (-PAS), which measures nearly the same as a deletion.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

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


def word_gradients(scorer: Scorer, pairs: Iterable[tuple[ImageState, Caption]]) -> list[WordScores]:
    """For each pair one score per word, shape [words]; higher is more suspect, -inf if unread.

    A word of several tokens gets the maximum of their scores.
    """
    session = scorer.open_session()
    allowed = scorer.reader.replaceable(True)
    word_scores: list[WordScores] = []
    batch: list[tuple[ImageState, Caption]] = []

    def answer() -> None:
        texts = scorer.reader.tokenise([caption.text for _, caption in batch])
        queries = [(state, text) for (state, _), text in zip(batch, texts, strict=True)]
        for (_, caption), (_, text), gains in zip(
            batch, queries, session.replacement_gains(queries), strict=True
        ):
            usual = gains[:, allowed].mean(1)
            own_gains = gains[np.arange(len(text)), list(text)]
            word_scores.append(
                _by_word(caption, scorer.reader.spans(caption.text), usual - own_gains)
            )
        batch.clear()

    for pair in pairs:
        batch.append(pair)
        if len(batch) == _BATCH:
            answer()
    if batch:
        answer()
    return word_scores


def _by_word(caption: Caption, tokens: list[tuple[int, int]], gains: np.ndarray) -> WordScores:
    by_word = np.full(len(caption), -np.inf)
    for (start, end), gain in zip(tokens, gains, strict=False):
        for word, (first, last) in enumerate(caption.spans):
            if start < last and first < end:
                by_word[word] = max(by_word[word], float(gain))
    return by_word


_ARRAYS = ("scores", "similarities", "removed", "first_step_scores")
_SECOND = ("scores", "first_step_scores")


def cached_trajectories(
    folder: Path,
    what: dict[str, Any],
    captions: Sequence[str],
    make: Callable[[], list[Trajectory]],
) -> list[Trajectory]:
    """The trajectories of `captions` for the key `what`: read from `folder`, or made and saved."""
    path = _path(folder, what, captions)
    trajectories = _read(path, captions)
    if trajectories is None:
        trajectories = make()
        _write(path, trajectories)
    return trajectories


def cached_words(
    folder: Path,
    what: dict[str, Any],
    captions: Sequence[str],
    make: Callable[[], list[NDArray[np.float64]]],
) -> list[NDArray[np.float64]]:
    """The same for one array of numbers per caption."""
    path = _path(folder, what, captions)
    try:
        with np.load(path, allow_pickle=False) as kept:
            return np.split(kept["values"], np.cumsum(kept["lengths"])[:-1])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        words = make()
    lengths = np.array([len(part) for part in words], np.int64)
    _replace(path, {"values": np.concatenate([np.zeros(0), *words]), "lengths": lengths})
    return words


def cached_expectations(
    folder: Path,
    what: dict[str, Any],
    captions: Sequence[str],
    make: Callable[[], list[Expectation]],
) -> list[Expectation]:
    """The same for a captioner's expectations of the words; alternatives are not saved."""
    path = _path(folder, what, captions)
    try:
        with np.load(path, allow_pickle=False) as kept:
            ends = np.cumsum(kept["lengths"])[:-1]
            log_p, distance = np.split(kept["log_p"], ends), np.split(kept["distance"], ends)
            captioner = str(kept["captioner"])
        return [Expectation(*values, (), captioner) for values in zip(log_p, distance, strict=True)]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        made = make()
    empty = np.zeros(0, np.float32)
    _replace(
        path,
        {
            "log_p": np.concatenate([empty, *(expectation.log_p for expectation in made)]),
            "distance": np.concatenate([empty, *(expectation.distance for expectation in made)]),
            "lengths": np.array([len(expectation.log_p) for expectation in made], np.int64),
            "captioner": np.array(made[0].captioner if made else ""),
        },
    )
    return made


def _path(folder: Path, what: dict[str, Any], captions: Sequence[str]) -> Path:
    key = json.dumps(
        {**what, "format": 2, "captions": list(captions)}, sort_keys=True, ensure_ascii=True
    )
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"


def _replace(path: Path, arrays: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
    temporary.replace(path)


def _write(path: Path, trajectories: Sequence[Trajectory]) -> None:
    arrays: dict[str, Any] = {}
    for name in _ARRAYS:
        parts = [np.asarray(getattr(t, name)) for t in trajectories]
        arrays[name] = np.concatenate([np.zeros(0), *parts])
        arrays[f"{name}_lengths"] = np.array([len(part) for part in parts], np.int64)
    auxiliaries = [t.auxiliary for t in trajectories if t.auxiliary is not None]
    if auxiliaries and len(auxiliaries) == len(trajectories):  # one scorer: all or none have it
        for name in _SECOND:
            arrays[f"second_{name}"] = np.concatenate(
                [getattr(auxiliary, name) for auxiliary in auxiliaries]
            )
    arrays["truncated"] = np.array([t.truncated for t in trajectories], np.bool_)
    texts = json.dumps([t.captions for t in trajectories])
    arrays["captions"] = np.frombuffer(texts.encode(), np.uint8)
    _replace(path, arrays)


def _read(path: Path, captions: Sequence[str]) -> list[Trajectory] | None:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            parts = {
                name: np.split(arrays[name], np.cumsum(arrays[f"{name}_lengths"])[:-1])
                for name in _ARRAYS
            }
            truncated = arrays["truncated"].tolist()
            texts = json.loads(arrays["captions"].tobytes())
            auxiliaries = _auxiliary_scores(arrays, len(captions))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
    return [
        Trajectory(
            Caption.parse(caption),
            parts["scores"][i].astype(np.float32),
            parts["similarities"][i].astype(np.float32),
            tuple(parts["removed"][i].astype(int).tolist()),
            parts["first_step_scores"][i].astype(np.float32),
            truncated[i],
            None if texts[i] is None else tuple(texts[i]),
            auxiliaries[i],
        )
        for i, caption in enumerate(captions)
    ]


def _auxiliary_scores(arrays: Any, count: int) -> list[AuxiliaryScores | None]:
    """The auxiliary scores, whose arrays have the same lengths as those of s; None if absent."""
    if "second_scores" not in arrays:
        return [None] * count
    parts = [
        np.split(
            arrays[f"second_{name}"].astype(np.float32), np.cumsum(arrays[f"{name}_lengths"])[:-1]
        )
        for name in _SECOND
    ]
    return [AuxiliaryScores(*parts_of_pair) for parts_of_pair in zip(*parts, strict=True)]


def word_interventions(
    scorer: Scorer, pairs: Iterable[tuple[ImageState, Caption]]
) -> list[WordScores]:
    """One score per word for each pair, shape [words]; words in no phrase score below all others.

    Raises SettingsError for LEMoN."""
    listed = list(pairs)
    nonces = Nonces(scorer.reader, make_pools(scorer.reader, scorer.open_session().embed))
    by_caption = []
    for index, scores in attribute_phrases(scorer, listed, nonces):
        caption = listed[index][1]
        known = [-score.pas for score in scores if score.pas is not None]
        words = np.full(len(caption), min(known, default=0.0) - 1.0)
        for score in scores:
            if score.pas is None:
                continue
            for i, (start, end) in enumerate(caption.spans):
                if score.phrase.start <= start and end <= score.phrase.end:
                    words[i] = -score.pas
        by_caption.append(words)
    return by_caption


_BATCH = 16
#: Pairs among which LEMoN's authors look for neighbours.
BANK = 50_000


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

    def make() -> list[Trajectory]:
        by_index = dict(run_trajectories(scorer, states_of(scorer, pairs), exploring))
        return [by_index[index] for index in range(len(pairs))]

    return cached_trajectories(cache, key, pairs.captions, on_devices or make)


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
    asking = captioner

    def make() -> list[Expectation]:
        made: list[Expectation] = []
        for first in range(0, len(pairs), _BATCH):
            texts = pairs.captions[first : first + _BATCH]
            made += expectations(asking, list(zip(_pictures(pairs, first), texts, strict=True)))
        return made

    key = {**what, "of": "expectations", "captioner": asking.identity}
    read = cached_expectations(cache, key, pairs.captions, make)
    return [replace(t, expectation=e) for t, e in zip(trajectories, read, strict=True)]


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
    made = [
        (row, noisy)
        for row, noisy in zip(rows, inject(captions, 1.0, ["fine_grained"], seed), strict=True)
        if noisy is not None
    ]
    changed: list[Spans] = [noisy.changed for _, noisy in made]
    key = {**what, "copies": "fine_grained"}
    score = score_captions(cache, key, scorer, captioner, exploring, pairs)
    return fit_word_weights(score([(row, noisy.text) for row, noisy in made]), changed)


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
        queried = LabelledPairs(
            texts, texts, np.ones(len(texts), np.bool_), [frozenset()] * len(texts),
            [""] * len(texts), [pairs.groups[row] for row in rows],
            lambda index: pairs.picture(rows[index]),
        )  # fmt: skip
        key = {**what, "rows": rows}
        trajectories = trajectories_of(cache, key, scorer, exploring, queried)
        return with_captioner(cache, key, captioner, trajectories, queried)

    return score


def gradients_of(
    cache: Path, what: dict[str, Any], scorer: Scorer, pairs: LabelledPairs
) -> list[WordScores]:
    """Gradient scores of the words, for pairs whose changed words are known; empty for others."""
    return _of_changed_pairs(cache, {**what, "of": "gradients"}, scorer, pairs, word_gradients)


def interventions_of(
    cache: Path, what: dict[str, Any], scorer: Scorer, pairs: LabelledPairs
) -> list[WordScores] | None:
    """Intervention scores of the words, for pairs whose changed words are known, empty for others;
    None for a scorer that compares pairs."""
    if scorer.info.compares_pairs:
        return None
    key = {**what, "of": "interventions"}
    return _of_changed_pairs(cache, key, scorer, pairs, word_interventions)


def _of_changed_pairs(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    pairs: LabelledPairs,
    scores_of: Callable[[Scorer, Iterator[tuple[ImageState, Caption]]], Iterable[WordScores]],
) -> list[WordScores]:
    def make() -> list[WordScores]:
        rows = [row for row, changed in enumerate(pairs.changed) if changed]
        requests = (
            state for row, state in enumerate(states_of(scorer, pairs)) if pairs.changed[row]
        )
        by_row = dict(zip(rows, scores_of(scorer, requests), strict=True))
        return [by_row.get(row, np.zeros(0)) for row in range(len(pairs))]

    return cached_words(cache, _key(what, scorer), pairs.captions, make)


def states_of(scorer: Scorer, pairs: LabelledPairs) -> Iterator[tuple[ImageState, Caption]]:
    for first in range(0, len(pairs), _BATCH):
        for row, state in enumerate(scorer.encode_images(_pictures(pairs, first)), first):
            yield scorer.of_pair(state, row), Caption.parse(pairs.captions[row])


def _pictures(pairs: LabelledPairs, first: int) -> list[Image.Image]:
    return [pairs.picture(row) for row in range(first, min(first + _BATCH, len(pairs)))]


def _key(what: dict[str, Any], scorer: Scorer) -> dict[str, Any]:
    info = scorer.info
    return {**what, "revision": info.revision, "precision": info.precision, **info.parameters}
