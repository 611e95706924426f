"""Cost of suggestions relative to trajectories: `python app.py bench --suggestions 24`

Wrong captions of drawn scenes, the embedded models, one thread, as the job that prepares
suggestions computes them, without their trajectories, which follow when the pair is opened. The
naive reference processes one pair at a time, decodes every candidate in full and computes the
trajectory of every suggestion; ours must make the same suggestions.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch

from backend.engine.captions import Caption
from backend.engine.correction import judge
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.correction.decoding import AskLikeliest, AskLikelihoods, Ranked
from backend.engine.correction.plain_decoding import PlainDecoding
from backend.engine.correction.suggestion import CorrectionContext, Suggestion
from backend.engine.detection.localisation import suspect_words
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.scoring.suggest import JUDGED_AHEAD_IF_SMALL, TOGETHER_IF_SMALL
from backend.progress import Progress, no_progress
from backend.settings import EMBEDDED_CAPTIONER, EMBEDDED_SCORER
from research.evaluation.labelled import from_scenes


class NaiveDecoding(PlainDecoding):
    """All captions are read, and images are described one by one."""

    def likeliest(self, requests: Sequence[tuple[int, AskLikeliest]]) -> list[Ranked]:
        every = self.log_likelihoods(
            [(image, AskLikelihoods(request.captions)) for image, request in requests]
        )
        return [
            sorted(enumerate(values), key=lambda item: (-item[1], item[0]))[: request.count]
            for values, (_, request) in zip(every, requests, strict=True)
        ]

    def describe(
        self, images: Sequence[int], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        return [super(NaiveDecoding, self).describe([image], prefix, max_new_tokens)[0]
                for image in images]  # fmt: skip


@dataclass(frozen=True)
class PlainCaptioner(Captioner):
    """The same model and the same results, without the optimisations."""

    def decoding(self, memories: Sequence[torch.Tensor]) -> NaiveDecoding:
        return NaiveDecoding(self, memories)


def plain(captioner: Captioner) -> PlainCaptioner:
    """The naive version of a BLIP captioner."""
    values = {field.name: getattr(captioner, field.name) for field in fields(Captioner)}
    return PlainCaptioner(**values)


#: Seed of the scenes, which were not used in training.
_SEED = 40


@dataclass(frozen=True)
class SuggestionSpeed:
    """Processor seconds for all `pairs`; `same`: pairs with the same suggestions in the same order
    both ways."""

    pairs: int
    trajectories: float
    ours: float
    plain: float
    same: int

    def table(self) -> str:
        return (
            f"{self.pairs} wrong captions, processor seconds a pair\n"
            f"trajectories            {self.trajectories / self.pairs:8.3f}\n"
            f"suggestions             {self.ours / self.pairs:8.3f}  "
            f"({self.ours / self.trajectories:.2f} × the trajectories)\n"
            f"suggestions, plain way  {self.plain / self.pairs:8.3f}  "
            f"({self.plain / self.ours:.2f} × ours)\n"
            f"{self.same} of {self.pairs} with the same suggestions"
        )


def bench_suggestions(pairs: int, progress: Progress = no_progress) -> SuggestionSpeed:
    """Measure suggestions for `pairs` wrong captions both ways."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        scorer = load_scorer(str(EMBEDDED_SCORER), device="cpu")
        captioner = load_captioner(str(EMBEDDED_CAPTIONER))
        cases, trajectory_seconds = _cases(scorer, pairs)
        # Warm up, so that lazy loading is not timed.
        judge.suggest_all(scorer, cases[:1], captioner, _no_opinion)
        fast: list[list[Suggestion]] = []
        slow: list[list[Suggestion]] = []
        ours = theirs = 0.0
        for first in range(0, pairs, TOGETHER_IF_SMALL):  # alternate: the machine's speed may drift
            part = cases[first : first + TOGETHER_IF_SMALL]
            progress(first, pairs, "Suggestions")
            seconds, suggestions = _time(scorer, part, captioner, len(part), JUDGED_AHEAD_IF_SMALL)
            ours, fast = ours + seconds, fast + suggestions
            seconds, suggestions = _time(scorer, part, plain(captioner), 1)
            theirs, slow = theirs + seconds, slow + suggestions
    finally:
        torch.set_num_threads(threads)
    texts = [[[s.caption for s in of_pair] for of_pair in way] for way in (fast, slow)]
    same = sum(a == b for a, b in zip(*texts, strict=True))
    return SuggestionSpeed(pairs, trajectory_seconds, ours, theirs, same)


def _time(
    scorer: Scorer,
    cases: Sequence[CorrectionContext],
    captioner: Captioner,
    together: int,
    judged_count: int | None = None,
) -> tuple[float, list[list[Suggestion]]]:
    suggestions: list[list[Suggestion]] = []
    start = time.process_time()
    for first in range(0, len(cases), together):
        part = cases[first : first + together]
        suggestions += judge.suggest_all(
            scorer,
            part,
            captioner,
            _no_opinion,
            classifier_captioner=captioner,
            judged_count=judged_count,
        )
    return time.process_time() - start, suggestions


def _no_opinion(trajectories: Sequence[Trajectory]) -> list[float]:
    """Stands in for the detector, whose time is negligible."""
    return [0.5] * len(trajectories)


def _cases(scorer: Scorer, pairs: int) -> tuple[list[CorrectionContext], float]:
    """Wrong captions with their trajectories, and the processor seconds for the trajectories."""
    sample = from_scenes(2 * pairs, "fine-grained", _SEED)
    rows = [row for row in range(len(sample)) if sample.wrong[row]][:pairs]
    images = [sample.picture(row) for row in rows]
    states = scorer.encode_images(images)
    captions = [Caption.parse(sample.captions[row]) for row in rows]
    start = time.process_time()
    trajectories = dict(run_trajectories(scorer, list(zip(states, captions, strict=True))))
    seconds = time.process_time() - start
    cases = [
        CorrectionContext(image, state, trajectories[i], suspect_words(trajectories[i], 1.0), 1.0)
        for i, (image, state) in enumerate(zip(images, states, strict=True))
    ]
    return cases, seconds
