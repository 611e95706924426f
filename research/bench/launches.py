"""What an accelerator would have to launch: `python app.py bench --launches blip-itm`

On an accelerator a small call costs some tens of microseconds, whatever it computes; thousands of
them per pair once took forty times as long as the arithmetic. Their number can be counted without
one: it depends on a model's depth, not on its width. So a narrow model of the published depth runs
on the CPU in an accelerator's batches (`ACCELERATOR`), and every operation but views is counted.
"""

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils._python_dispatch import TorchDispatchMode

from backend.engine.captions import Caption
from backend.engine.correction import judge
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.localisation import suspect_words
from backend.engine.scoring.batch_memory import ACCELERATOR, Pace
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.forwarding import ForwardingSession
from backend.engine.scoring.protocol import (
    FloatArray,
    ImageState,
    Scorer,
    Session,
    Tokens,
)
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.trajectory import Trajectory
from backend.features.vision_language.vqa_checkpoints import VqaScorer
from backend.jobs.scoring.suggest import JUDGED_AHEAD_IF_SMALL
from backend.progress import Progress, no_progress
from research.bench.measure_scoring import encode
from research.bench.random_models import (
    KINDS,
    NARROW,
    Size,
    make_captions,
    random_captioner,
    random_pixels,
    random_scorer,
    random_vision_language_model,
)

#: The kind of a scorer that a vision-language model is.
_CHAT = "vqa"
COUNTED = (*KINDS, _CHAT)

#: Pairs that an accelerator has in flight; fewer of them share as many launches.
IN_FLIGHT = ACCELERATOR.pairs
_WORDS = (8, 20)
#: Operations that an accelerator runs in one call although torch can take them apart.
_WHOLE = ("aten::scaled_dot_product_attention", "aten::linear", "aten::layer_norm")
#: Operations that write nothing.
_ALLOCATIONS = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")


@dataclass(frozen=True)
class AcceleratedCaptioner(Captioner):
    """A captioner in an accelerator's batches."""

    @property
    def pace(self) -> Pace:
        return ACCELERATOR


def accelerate(captioner: Captioner) -> Captioner:
    return AcceleratedCaptioner(
        **{field.name: getattr(captioner, field.name) for field in fields(Captioner)}
    )


class LaunchCounter(TorchDispatchMode):
    """Counts operations that are not views, and calls of attention among them, by stage."""

    def __init__(self) -> None:
        super().__init__()
        self._stage = ""
        self.launches: Counter[str] = Counter()
        self.attention: Counter[str] = Counter()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = function.name().split(".")[0]
        if name not in _WHOLE:
            with self:
                parts = function.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        if self._stage and not function.is_view and name.removeprefix("aten::") not in _ALLOCATIONS:
            self.launches[self._stage] += 1
            self.attention[self._stage] += "scaled_dot_product" in name
        return function(*args, **kwargs)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        outer, self._stage = self._stage, name
        try:
            yield
        finally:
            self._stage = outer


@dataclass
class _StagedSession(ForwardingSession):
    """A session whose auxiliary texts (c_t, and a second score) are a stage of their own."""

    counter: LaunchCounter

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        with self.counter.stage("auxiliary texts"):
            return super().embed(texts)


@dataclass(frozen=True)
class StageLaunches:
    """Of one stage of scoring 1,000 pairs."""

    scorer: str
    stage: str
    launches: int
    attention: int


@dataclass(frozen=True)
class Launches:
    """By scorer, None: not measured:

    * `host_ms`: milliseconds of the processor per pair beside the model;
    * `overlap`: time of trajectories in two sessions over that in one, with a simulated card.
    """

    pairs: int
    stages: list[StageLaunches]
    host_ms: dict[str, float | None]
    overlap: dict[str, float | None]

    def table(self) -> str:
        lines = [f"launches and calls of attention per 1,000 pairs, counted on {self.pairs} pairs"]
        for scorer, milliseconds in self.host_ms.items():
            stages = [stage for stage in self.stages if stage.scorer == scorer]
            lines += [scorer, *(f"{stage.stage:18} {stage.launches:9,} {stage.attention:9,}"
                                for stage in stages)]  # fmt: skip
            lines.append(f"{'whole job':18} {sum(stage.launches for stage in stages):9,}")
            if milliseconds is not None:
                lines.append(f"{'beside the model':18} {milliseconds:9.2f} ms a pair")
            if (ratio := self.overlap[scorer]) is not None:
                lines.append(f"{'two sessions':18} {ratio:9.2f} of the time of one")
        return "\n".join(lines)


def bench_launches(
    pairs: int, scorers: Sequence[str] = (), progress: Progress = no_progress
) -> Launches:
    """Count for each scorer, by default all. Raises SettingsError for an unknown one."""
    stages: list[StageLaunches] = []
    host: dict[str, float | None] = {}
    overlap: dict[str, float | None] = {}
    for number, kind in enumerate(scorers or COUNTED):
        progress(number, len(scorers or COUNTED), f"Counting {kind}")
        counter = LaunchCounter()
        with counter:
            _score_as_a_job_does(kind, pairs, counter)
        for stage, launches in counter.launches.items():
            per_thousand = [1000 * n // pairs for n in (launches, counter.attention[stage])]
            stages.append(StageLaunches(kind, stage, *per_thousand))
        host[kind] = _host_milliseconds(kind, pairs)
        overlap[kind] = _overlap(kind, pairs)
    return Launches(pairs, stages, host, overlap)


def _scorer(kind: str, size: Size) -> DualEncoder:
    scorer = random_scorer(kind, size=size)
    scorer.pace = ACCELERATOR
    scorer.image_batches.size = ACCELERATOR.images  # reached after a first batch
    return scorer


def _chat_scorer() -> VqaScorer:
    with tempfile.TemporaryDirectory() as folder:
        scorer = random_vision_language_model(Path(folder))
    assert scorer.shares_prefixes
    scorer.pace = ACCELERATOR
    scorer.image_batches.size = ACCELERATOR.images
    return scorer


def _captioner(size: Size) -> Captioner:
    captioner = accelerate(random_captioner(size))
    captioner.image_batches.size = ACCELERATOR.images
    return captioner


def _score_as_a_job_does(kind: str, pairs: int, counter: LaunchCounter) -> None:
    """All stages of a job for captions whose copies are one in three pairs."""
    captioner = _captioner(NARROW)
    texts = make_captions(pairs, _WORDS)
    images = _images(pairs, NARROW.pixels)
    scorer, states = _encode(kind, images, counter)
    with counter.stage("trajectories"):
        trajectories = _trajectories(scorer, states, texts, counter)
    with counter.stage("captioner"):
        memories = captioner.encode(images)
        captioner.read(memories, texts)
    copies = make_captions(pairs // 3, _WORDS, seed=1)
    with counter.stage("injected copies"):
        run = dict(run_trajectories(scorer, _pairs(states, copies)))
        assert len(run) == len(copies)
        captioner.read(memories[: len(copies)], copies)
    with counter.stage("suggestions"):
        _suggest(scorer, captioner, images, states, trajectories)


def _encode(
    kind: str, images: Sequence[Image.Image], counter: LaunchCounter
) -> tuple[Scorer, Sequence[ImageState]]:
    """A vision-language model reads a picture with its first caption; alone for its vector."""
    if kind == _CHAT:
        chat = _chat_scorer()
        states = chat.encode_images(images)
        with counter.stage("images"):
            chat.image_embeddings(states)
        return chat, states
    scorer = _scorer(kind, NARROW)
    pixels = random_pixels(scorer, len(images))
    with counter.stage("images"):
        return scorer, encode(scorer, pixels)


def _pairs(states: Sequence[ImageState], texts: Sequence[str]) -> list[tuple[ImageState, Caption]]:
    return [(state, Caption.parse(text)) for state, text in zip(states, texts, strict=False)]


def _trajectories(
    scorer: Scorer, states: Sequence[ImageState], texts: Sequence[str], counter: LaunchCounter
) -> list[Trajectory]:
    session = _StagedSession(scorer.open_session(), counter)
    run = dict(run_trajectories(scorer, _pairs(states, texts), session=session))
    return [run[index] for index in range(len(texts))]


def _suggest(
    scorer: Scorer,
    captioner: Captioner,
    images: Sequence[Image.Image],
    states: Sequence[ImageState],
    trajectories: Sequence[Trajectory],
) -> None:
    cases = [
        CorrectionContext(image, state, trajectory, suspect_words(trajectory, 1.0), 1.0)
        for image, state, trajectory in zip(images, states, trajectories, strict=True)
    ]
    for first in range(0, len(cases), captioner.max_batch):
        part = cases[first : first + captioner.max_batch]
        judge.suggest_all(
            scorer, part, captioner, _no_opinion, classifier_captioner=captioner,
            judged_count=JUDGED_AHEAD_IF_SMALL,
        )  # fmt: skip


def _no_opinion(trajectories: Sequence[Trajectory]) -> list[float]:
    return [0.5] * len(trajectories)


def _images(count: int, pixels: int) -> list[Image.Image]:
    values = np.random.default_rng(0).integers(0, 256, (count, pixels, pixels, 3), np.uint8)
    return [Image.fromarray(value) for value in values]


#: So small that its own arithmetic hardly counts.
_TINY = Size(layers=1, width=8, heads=1, pixels=32)


def _host_milliseconds(kind: str, pairs: int) -> float | None:
    """Processor time of trajectories of a tiny model, per pair: tokens, candidates, batches. None
    for a vision-language model, whose layers make most of the calls however small they are."""
    if kind == _CHAT:
        return None
    scorer = _scorer(kind, _TINY)
    requests = _pairs(encode(scorer, random_pixels(scorer, pairs)), make_captions(pairs, _WORDS))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        dict(run_trajectories(scorer, requests[:8]))
        start = time.process_time()
        run = dict(run_trajectories(scorer, requests))
        seconds = time.process_time() - start
    finally:
        torch.set_num_threads(threads)
    assert len(run) == pairs
    return 1000 * seconds / pairs


#: Share of a call's time that a card computes: BLIP-ITM on an H200.
_CARD_SHARE = 0.45


@dataclass
class _SimulatedCardSession(ForwardingSession):
    """The processor prepares one call at a time; then the call waits, as for a card that computes
    `_CARD_SHARE` of its time."""

    processor: threading.Lock

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        with self.processor:
            start = time.thread_time()
            answer = super().score(requests)
            seconds = time.thread_time() - start
        time.sleep(seconds * _CARD_SHARE / (1 - _CARD_SHARE))
        return answer


class _InSessions:
    """A scorer that is asked in these sessions."""

    def __init__(self, scorer: Scorer, sessions: Sequence[Session]) -> None:
        self._scorer, self._sessions = scorer, sessions

    def open_sessions(self) -> Sequence[Session]:
        return self._sessions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scorer, name)


def _overlap(kind: str, pairs: int) -> float | None:
    """What two sessions on one simulated card take of the time of one, in turn, each with half of
    twice as many pairs. None for a vision-language model, which has one session."""
    if kind == _CHAT:
        return None
    scorer = _scorer(kind, NARROW)
    states = encode(scorer, random_pixels(scorer, 2 * pairs))
    requests = _pairs(states, make_captions(2 * pairs, _WORDS))
    seconds = []
    for count in (1, 2):
        lock = threading.Lock()
        sessions = [_SimulatedCardSession(scorer.open_session(), lock) for _ in range(count)]
        start = time.perf_counter()
        asked: Any = _InSessions(scorer, sessions)
        dict(run_trajectories(asked, requests, live=pairs))
        seconds.append(time.perf_counter() - start)
    return seconds[1] / seconds[0]
