"""The engine against the naive reference in one run on the same pairs, and the arithmetic limits.

Times on a CPU are processor time summed over threads, which other programs disturb less. Only the
ratios are comparable between machines.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from backend.engine.captions import Caption
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.forwarding import ForwardingSession
from backend.engine.scoring.loading import choose_device, choose_precision
from backend.engine.scoring.protocol import FloatArray, ImageState, Tokens, Work
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from research.bench.random_models import SCORERS, make_captions, random_pixels, random_scorer
from research.bench.reference import ReferenceSession
from research.evaluation.result_tables import published_result

#: The requests of one call: (index of the image, its texts).
Round = list[tuple[int, tuple[Tokens, ...]]]


@dataclass
class Recorder(ForwardingSession):
    """Wraps a session and records the (image, texts) of each call to `score`."""

    rounds: list[Round] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    _states: list[ImageState] = field(default_factory=list)

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        self.rounds.append([(self._number(state), tuple(texts)) for state, texts in requests])
        return super().score(requests)

    def _number(self, state: ImageState) -> int:
        if id(state) not in self._numbers:
            self._numbers[id(state)] = len(self._states)
            self._states.append(state)  # keeps it alive, so that its id is not reused
        return self._numbers[id(state)]


@dataclass(frozen=True)
class Shape:
    """Dimensions of a text tower. `patch_width` is 0 if it does not attend to images."""

    layers: int
    width: int
    inner: int  #: width of the feed-forward layers
    patch_width: int = 0
    patches: int = 0
    out: int = 0  #: outputs of the head: an embedding, or ITM's two logits


def operations(work: Work, shape: Shape) -> int:
    """Operations of the whole text side, including the keys and values of images."""
    d, below = shape.width, shape.layers - 1
    looks = 4 * d * d if shape.patch_width else 0  # cross-attention's queries and output
    a_token = 2 * d * d + looks + 4 * d * shape.inner  # all except queries, keys and values
    first = work.projections * 6 * d * d
    between = work.tokens * 6 * d * d * (below - 1) if below else 0
    last = work.tokens * 4 * d * d + work.sequences * (2 * d * d + a_token)
    attention = 4 * d * (work.attended * below + work.attended_last)
    attention += 4 * d * (work.seen * below + work.seen_last)
    images = work.images * shape.layers * shape.patches * 4 * d * shape.patch_width
    head = work.sequences * 2 * d * shape.out
    return first + between + work.tokens * a_token * below + last + attention + images + head


def plain_operations(work: Work, shape: Shape) -> int:
    """Operations of the naive reference: every token passes every layer, including the last."""
    d = shape.width
    looks = 4 * d * d if shape.patch_width else 0
    a_token = 8 * d * d + looks + 4 * d * shape.inner
    attention = 4 * d * (work.attended + work.seen)
    images = work.images * shape.patches * 4 * d * shape.patch_width
    return (work.tokens * a_token + attention + images) * shape.layers + (
        work.sequences * 2 * d * shape.out
    )


@dataclass(frozen=True)
class ScoringMeasurement:
    """One scorer with one explorer. Times are seconds for all pairs together.

    "Plain" is the naive reference implementation, "fast" the engine.

    * `overhead`: time of trajectories, relative to one plain score of the same pairs; both include
      image encoding;
    * `reference_overhead`: the same for the reference;
    * `speedup`: time of the trajectories alone, plain over fast, texts padded to the longest of
      their pair;
    * `speedup_full_padding`: the same with texts padded to the model's context (CLIP only);
    * `operations_speedup`: operations, plain over fast: what `speedup` would be if both ran at the
      same rate;
    * `operations_limit_overhead`: `overhead` in operations instead of seconds;
    * `rate`: operations per second of this machine's matrix products (`product_rate`);
    * `device_name`: of the accelerator, from its driver;
    * `bound_ratio`: measured time of the trajectories over the time that their operations would
      take at `rate`;
    * `same_trajectories`, `largest_difference`: number of identical trajectories and largest
      difference of s, fast against plain.
    """

    scorer: str
    explorer: str
    pairs: int
    words: tuple[int, int]
    precision: str
    device: str
    device_name: str
    image_seconds: float
    plain_score_seconds: float
    fast_seconds: float
    reference_seconds: float | None
    overhead: float
    reference_overhead: float | None
    speedup: float | None
    speedup_full_padding: float | None
    pairs_per_second: float
    operations: int
    operations_limit_overhead: float
    operations_speedup: float | None
    rate: float
    bound_ratio: float
    same_trajectories: int | None
    largest_difference: float | None


def measure(
    kind: str,
    exploring: Exploring,
    pairs: int = 8,
    words: tuple[int, int] = (8, 20),
    reference: bool = True,
    device: str = "cpu",
    precision: str = "float32",
    progress: Progress = no_progress,
) -> ScoringMeasurement:
    """Measure one scorer with one explorer; `reference=False` skips the slow reference.

    `words`: minimum and maximum caption length."""
    progress(0, 4, f"{kind}: making a model of the published size")
    scorer = random_scorer(kind, precision, device)
    pixels = random_pixels(scorer, pairs)
    captions = [Caption.parse(text) for text in make_captions(pairs, words)]
    encode(scorer, pixels[:1])
    image_seconds, states = _time(lambda: encode(scorer, pixels), device)
    requests = list(zip(states, captions, strict=True))
    dict(run_trajectories(scorer, [(states[0], Caption.parse("a warm up"))], exploring))

    progress(1, 4, f"{kind}, {exploring.name}: fast")

    def explore(session: Any) -> tuple[float, dict[int, Trajectory]]:
        return _time(
            lambda: dict(run_trajectories(scorer, requests, exploring, session=session)), device
        )

    def score_once() -> None:
        for state, caption in requests:
            plain_session.score([(state, scorer.reader.tokenise([caption.text]))])

    recorder = Recorder(scorer.open_session())
    fast_seconds, fast = explore(recorder)
    plain_session = ReferenceSession(scorer)  # pyrefly: ignore[bad-argument-type]
    plain_score, _ = _time(score_once, device)

    plain_session = ReferenceSession(scorer)  # resets its counters  # pyrefly: ignore[bad-argument-type]
    slow_seconds = full_seconds = None
    slow: dict[int, Trajectory] = {}
    if reference:
        progress(2, 4, f"{kind}, {exploring.name}: the plain way")
        slow_seconds, slow = explore(plain_session)
        if kind == "clip":
            progress(3, 4, f"{kind}, {exploring.name}: the plain way, padded to 77")
            padded = ReferenceSession(scorer, padding=77)  # pyrefly: ignore[bad-argument-type]
            full_seconds, _ = explore(padded)
    shape = shape_of(scorer)
    text_shape = replace(shape, patch_width=0)
    operation_count = operations(recorder.work, shape)
    operation_count += operations(recorder.session.embedding_work, text_shape)
    plain_operation_count = plain_operations(plain_session.work, shape)
    plain_operation_count += plain_operations(plain_session.embedding_work, text_shape)
    calls = max(1, len(recorder.rounds))
    rate = product_rate(max(16, recorder.work.tokens // calls), shape, scorer)
    once = operations_of_one_score(captions, scorer) + image_operations(scorer) * pairs
    base = image_seconds + plain_score
    return ScoringMeasurement(
        scorer=kind,
        explorer=explorer_name(exploring),
        pairs=pairs,
        words=words,
        precision=precision,
        device=device,
        device_name=torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        image_seconds=image_seconds,
        plain_score_seconds=plain_score,
        fast_seconds=fast_seconds,
        reference_seconds=slow_seconds,
        overhead=(image_seconds + fast_seconds) / base,
        reference_overhead=None if slow_seconds is None else (image_seconds + slow_seconds) / base,
        speedup=None if slow_seconds is None else slow_seconds / fast_seconds,
        speedup_full_padding=None if full_seconds is None else full_seconds / fast_seconds,
        pairs_per_second=pairs / (image_seconds + fast_seconds),
        operations=operation_count,
        operations_speedup=plain_operation_count / operation_count if reference else None,
        operations_limit_overhead=(operation_count + image_operations(scorer) * pairs) / once,
        rate=rate,
        bound_ratio=fast_seconds * rate / operation_count,
        same_trajectories=sum(_same(fast[i], slow[i]) for i in fast) if slow else None,
        largest_difference=max(_difference(fast[i], slow[i]) for i in fast) if slow else None,
    )


def explorer_name(exploring: Exploring) -> str:
    """The explorer's name with its approximations.

    >>> explorer_name(Exploring(lazy=2)), explorer_name(Exploring("gcd", whole=False))
    ('elimination, lazy 2', 'gcd, first step')
    """
    name = exploring.name
    if exploring.lazy is not None:
        name += f", lazy {exploring.lazy}"
    return name if exploring.whole else f"{name}, first step"


@torch.inference_mode()
def encode(scorer: DualEncoder, pixels: torch.Tensor) -> list[ImageState]:
    states: list[ImageState] = []

    def see(part: range) -> None:
        with scorer.precision():
            states.extend(
                scorer.encode_pixels(pixels[part.start : part.stop].to(scorer.info.device))
            )

    scorer.image_batches.each(len(pixels), see)
    return states


def shape_of(scorer: DualEncoder) -> Shape:
    text, vision = scorer.model.config.text_config, scorer.model.config.vision_config
    layers, width, inner = text.num_hidden_layers, text.hidden_size, text.intermediate_size
    if scorer.info.kind == "blip-itm":
        patches = (vision.image_size // vision.patch_size) ** 2 + 1
        return Shape(layers, width, inner, vision.hidden_size, patches, 2)
    out = scorer.model.config.projection_dim
    if scorer.info.kind == "blip-itc":
        out = scorer.model.text_proj.out_features
    return Shape(layers, width, inner, out=out)


def image_operations(scorer: DualEncoder) -> int:
    """Operations to encode one image, counted by torch."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with torch.inference_mode(), sdpa_kernel(SDPBackend.MATH), counter:
        scorer.encode_pixels(random_pixels(scorer, 1).to(scorer.info.device))
    return int(counter.get_total_flops())


def operations_of_one_score(captions: Sequence[Caption], scorer: DualEncoder) -> int:
    """Operations to score x_0 of every pair once."""
    session = scorer.open_session()
    states = encode(scorer, random_pixels(scorer, 1)) * len(captions)
    texts = scorer.reader.tokenise([caption.text for caption in captions])
    for state, text in zip(states, texts, strict=True):
        session.score([(state, [text])])
    work = session.work
    work.images = len(captions) if work.images else 0
    return operations(work, shape_of(scorer))


def product_rate(tokens: int, shape: Shape, scorer: DualEncoder, seconds: float = 1.0) -> float:
    """Operations per second of this machine's matrix products with the shapes of the text tower."""
    device, dtype = scorer.info.device, scorer.dtype
    x = torch.randn(tokens, shape.width, device=device, dtype=dtype)
    up = torch.randn(shape.inner, shape.width, device=device, dtype=dtype)
    down = torch.randn(shape.width, shape.inner, device=device, dtype=dtype)

    def once() -> None:
        for _ in range(4):
            torch.nn.functional.linear(torch.nn.functional.linear(x, up), down)

    with torch.inference_mode():
        once()
        duration, rounds = 0.0, 0
        while duration < seconds:
            duration += _time(once, device)[0]
            rounds += 1
    return rounds * 4 * 4 * tokens * shape.width * shape.inner / duration


def _time(compute: Callable[[], Any], device: str) -> tuple[float, Any]:
    """Seconds: processor time on a CPU, otherwise wall time after the device has synchronised."""
    now = time.process_time if device.startswith("cpu") else time.perf_counter
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    wait()
    start = now()
    result = compute()
    wait()
    return now() - start, result


def _same(result: Trajectory, reference: Trajectory) -> bool:
    return result.steps == reference.steps and all(
        result.caption_at(step) == reference.caption_at(step) for step in range(result.steps + 1)
    )


def _difference(result: Trajectory, reference: Trajectory) -> float:
    """The largest difference of s up to the step at which the trajectories diverge, if they do."""
    largest = 0.0
    for step in range(min(result.steps, reference.steps) + 1):
        largest = max(largest, abs(float(result.scores[step] - reference.scores[step])))
        if result.caption_at(step) != reference.caption_at(step):
            break
    return largest


#: Overheads measured on an L40 (TRACED, Table 2): time with trajectories over time without.
PAPER_OVERHEADS = {
    ("blip-itm", "elimination"): 24.2,
    ("blip-itm", "fast-gcd"): 237.0,
    ("blip-itc", "elimination"): 13.8,
    ("clip", "elimination"): 18.0,
}


@dataclass(frozen=True)
class BenchReport:
    results: list[ScoringMeasurement]


def run_bench(
    scorers: Sequence[str],
    explorers: Sequence[str],
    pairs: int,
    words: str,
    reference: bool,
    device: str | None,
    precision: str | None,
    progress: Progress,
    lazies: Sequence[int] = (),
    first_step: bool = False,
) -> BenchReport:
    """Measure every scorer with every explorer, and with lazy elimination for each of `lazies`.

    `words`: range of caption lengths, such as "8-20"; `first_step`: also the first step of each
    explorer alone. Raises SettingsError for unknown names and invalid ranges.
    """
    where = choose_device(device)
    how = choose_precision(where, precision)
    lengths = _range_of(words)
    explorings = [Exploring(name) for name in explorers or ["elimination"]]
    if first_step:
        explorings += [replace(exploring, whole=False) for exploring in explorings]
    explorings += [Exploring(lazy=lazy) for lazy in lazies]
    unknown = set(scorers) - set(SCORERS)
    if unknown:
        raise SettingsError(f"There is no scorer '{unknown.pop()}'; use {', '.join(SCORERS)}.")
    return BenchReport(
        [
            measure(scorer, exploring, pairs, lengths, reference, where, how, progress)
            for scorer in scorers or SCORERS
            for exploring in explorings
        ]
    )


def _range_of(words: str) -> tuple[int, int]:
    """The fewest and most words of a caption. Raises SettingsError.

    >>> _range_of("8-20")
    (8, 20)
    """
    with suppress(ValueError):
        first, last = (int(part) for part in words.split("-"))
        if 1 <= first <= last:
            return first, last
    raise SettingsError(f"'{words}' is not a range of words; write it as 8-20.")


def table(results: Sequence[ScoringMeasurement]) -> str:
    """The measurements and the paper's overheads as a table for a terminal."""
    lines = [
        f"{'scorer':9} {'explorer':23} {'pairs/s':>8} {'speedup':>8} {'overhead':>9} "
        f"{'limit':>6} {'plain':>7} {'paper':>6} {'time/arithmetic':>16} {'share':>6} "
        f"{'s/1,000':>8} {'paper':>6}  same"
    ]
    for r in results:
        paper = PAPER_OVERHEADS.get((r.scorer, r.explorer))
        on_l40 = published_result(2, "any", r.scorer, r.explorer, "one L40", "seconds_per_1000")
        seconds = 1000 * (r.image_seconds + r.fast_seconds) / r.pairs
        lines.append(
            f"{r.scorer:9} {r.explorer:23} {r.pairs_per_second:8.2f} {_number(r.speedup):>8} "
            f"{r.overhead:9.2f} {r.operations_limit_overhead:6.2f} "
            f"{_number(r.reference_overhead):>7} {_number(paper):>6} {r.bound_ratio:16.2f} "
            f"{100 / r.bound_ratio:5.0f}% {seconds:8.1f} "
            f"{_number(on_l40.mean if on_l40 else None):>6}  "
            + (f"{r.same_trajectories}/{r.pairs}" if r.same_trajectories is not None else "–")
        )
    names = ", ".join(dict.fromkeys(f"{r.device_name} in {r.precision}" for r in results))
    lines.append(
        f"on {names}; share: of the rate of the device's matrix products; s/1,000: pairs, images "
        "included; paper: TRACED, Table 2, on one L40"
    )
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
