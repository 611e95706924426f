"""What scoring, measuring, suggesting and training have done, or would take."""

from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Self

from backend.counts import count_of
from backend.engine.language_models.chat_model import Question
from backend.engine.language_models.spending import Forecast
from backend.engine.trajectories.depth import ALL
from backend.learning_texts import learnt_in_words

if TYPE_CHECKING:  # `--help` needs no database
    from backend.engine.constants.part import ConstantPart
    from db.queries.dataset_queries import ProblemRow


def about_depth(completed: int) -> str:
    """What is so where not all trajectories are whole; `completed`: as of a `ScoreReport`."""
    first = "Each scored pair has the first step of its trajectory, which is enough to rank it."
    if not completed:
        return f"{first} Each is completed when its pair is opened."
    were = "trajectory was" if completed == 1 else "trajectories were"
    others = "each of the others is completed when its pair is opened."
    return f"{first} {completed:,} {were} completed now; {others}"


@dataclass(frozen=True)
class ScoreReport:
    """Pairs `scored` now, `skipped` because they had a trajectory, with `unreadable` images, or
    with pictures `unknown` to the model; the last two are listed as problems. `trajectories`: which
    pairs get whole ones (`depth.Depth.name`); `completed`: first steps made whole now; `warning`:
    see `own_captions`; `constants`: parts that stand in most captions, `suspected`: in how many one
    of its words is most suspect, for each; `former_constants`: the texts of those that did when it
    was scored last, None if it was not; `notices`: see `backend.jobs.notices`."""

    dataset_id: int
    pairs: int
    scored: int
    skipped: int
    unreadable: int
    truncated: int
    suggestions: int
    seconds: float
    run_id: int
    #: Training report of the detector, by name; see `backend.engine.detection.cold_start`.
    detector: dict[str, Any] = field(default_factory=dict)
    unknown: int = 0
    trajectories: str = "all"
    completed: int = 0
    first_unreadable: "tuple[ProblemRow, ...]" = ()
    warning: str = ""
    constants: "tuple[ConstantPart, ...]" = ()
    suspected: tuple[int, ...] = ()
    former_constants: tuple[str, ...] | None = None
    notices: tuple[str, ...] = ()

    def in_words(self) -> str:
        unknown = ""
        if self.unknown:
            unknown = f"{self.unknown} left out whose pictures the model does not know, "
        text = (
            f"{count_of(self.scored, 'pair')} scored, {self.skipped} already had scores, "
            f"{count_of(self.unreadable, 'image')} unreadable, {unknown}"
            f"{count_of(self.truncated, 'caption')} truncated by the model; {self.seconds:.0f} s."
        )
        counted = zip(self.constants, chain(self.suspected, repeat(0)), strict=False)
        parts = (part.in_words(suspected) for part, suspected in counted)
        text = "\n".join(
            filter(None, (text, *parts, self._changed_constants(), self.warning, *self.notices))
        )
        if self.trajectories == ALL:
            return text
        return f"{text}\nTrajectories: {self.trajectories}. {about_depth(self.completed)}"

    def _changed_constants(self) -> str:
        """Which constant parts are new since the last scoring, and which are none any more."""
        if self.former_constants is None:
            return ""
        texts = [part.text for part in self.constants]
        new = [f"“{text}”" for text in texts if text not in self.former_constants]
        gone = [f"“{text}”" for text in self.former_constants if text not in texts]
        return " ".join(
            f"{what} since the last scoring: {', '.join(parts)}."
            for what, parts in (("Constant", new), ("No longer constant", gone))
            if parts
        )


@dataclass(frozen=True)
class MeasureReport:
    """Of `pairs` with a caption, `measured` now; `without`: the measure has no number for them;
    `unreadable`: their pictures could not be read."""

    dataset_id: int
    measure: str
    pairs: int
    measured: int
    without: int
    unreadable: int

    def in_words(self) -> str:
        without = self.without + self.unreadable
        rest = f" {count_of(without, 'pair')} got no number." if without else ""
        return f"{count_of(self.measured, 'caption')} measured now.{rest}"


@dataclass(frozen=True)
class QueueReport:
    """A job that asked a model about the pairs of a queue. `outcomes`: how many pairs ended how.
    `stopped`: why it stopped before the end of the queue; `warning`: see `own_captions`."""

    dataset_id: int
    looked_at: int
    outcomes: dict[str, int]
    requests: int = 0
    answers_kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    stopped: str = ""
    warning: str = ""

    def requests_in_words(self) -> str:
        """Requests, tokens and cost."""
        cost = f"; cost {self.cost:.4f}" if self.cost else ""
        return (
            f"{count_of(self.requests, 'request')} sent, {self.answers_kept} answered from the "
            f"cache; {self.tokens_in} tokens in, {self.tokens_out} out{cost}."
        )

    def outcomes_in_words(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))


@dataclass(frozen=True)
class DryRunQuestion:
    """The request that would be sent for one pair; of the picture only its size in bytes."""

    pair_id: int
    external_id: str
    system: str
    user: str
    image_bytes: int

    @classmethod
    def of(cls, pair_id: int, external_id: str, question: Question) -> Self:
        return cls(pair_id, external_id, question.system, question.user, len(question.image or b""))


@dataclass(frozen=True)
class DryRun:
    """`pairs`: in the queue; `forecast`: what asking about all of them will take; `warning`: see
    `own_captions`."""

    proposer: str
    pairs: int
    forecast: Forecast
    questions: tuple[DryRunQuestion, ...]
    warning: str = field(default="", kw_only=True)

    def in_words(self) -> str:
        parts = [
            f"--- pair {question.external_id}: a JPEG of {question.image_bytes} bytes, and\n"
            f"[system]\n{question.system}\n[user]\n{question.user}\n"
            for question in self.questions
        ]
        summary = (
            f"{self.proposer}: {count_of(self.pairs, 'pair')} in this queue; "
            f"{self.forecast.in_words()}. Nothing was sent."
        )
        return "\n".join([*parts, summary, *filter(None, (self.warning,))])


@dataclass(frozen=True)
class TrainReport:
    """A candidate classifier, trained but not adopted, compared with the one in use."""

    dataset_id: int
    classifier_id: int
    name: str
    verdicts: int
    report: dict[str, Any]

    def in_words(self) -> str:
        """The figures of the classifier."""
        lines = [f"{self.name}, on {count_of(self.verdicts, 'verdict')}."]
        for key, value in self.report.items():
            if isinstance(value, float):
                lines.append(f"  {key.replace('_', ' ')}: {value:.3f}")
            elif isinstance(value, int | str):
                lines.append(f"  {key.replace('_', ' ')}: {value}")
        return "\n".join([*lines, learnt_in_words(self.report)])
