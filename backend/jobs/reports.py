"""Options that several jobs read, and the reports of jobs: plain frozen records."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from backend.engine.language_models.chat_model import Question
from backend.engine.language_models.spending import Forecast
from backend.engine.trajectories.depth import ALL
from backend.learning_texts import learnt_in_words
from backend.progress import Step

if TYPE_CHECKING:  # `--help` needs no database
    from backend.engine.constants.part import ConstantPart
    from db.queries.dataset_queries import ProblemRow

#: Problems included in a report; the others are in the store.
SHOWN_PROBLEMS = 20


def counts_in_words(counts: Iterable[tuple[int, str]]) -> str:
    """Those that are not 0, each with what it is of.

    >>> counts_in_words([(1200, "agree"), (0, "were skipped"), (3, "cannot be used")])
    '1,200 agree; 3 cannot be used'
    """
    return "; ".join(f"{count:,} {what}" for count, what in counts if count)


def unread_note(count: int) -> str:
    """That no threshold leaves out these captions, which the model does not read; "" for none.

    >>> unread_note(1)
    '1 caption is in a language that the model does not read; no threshold leaves it out.'
    """
    if not count:
        return ""
    are, languages, them = (
        ("is", "a language", "it") if count == 1 else ("are", "languages", "them")
    )
    return (
        f"{count_of(count, 'caption')} {are} in {languages} that the model does not read; no "
        f"threshold leaves {them} out."
    )


def count_of(number: int, noun: str) -> str:
    """
    >>> count_of(1, "pair"), count_of(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{number:,} {noun}" + ("s" if number != 1 else "")


@dataclass(frozen=True)
class SourceChanges:
    """Rows of a source compared with its last import. `changed`: another caption or split;
    `moved`: the picture alone has another address; `gone`: pairs without a row, `same`: the rest.
    """

    new: int = 0
    changed: int = 0
    moved: int = 0
    gone: int = 0
    same: int = 0

    def in_words(self) -> str:
        """ "" if there was nothing to compare with."""
        counts = asdict(self)
        if not any(counts.values()):
            return ""
        by_kind = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        return f"Compared with the last import: {by_kind}."


@dataclass(frozen=True)
class ImportReport:
    dataset_id: int
    name: str
    added: int
    already_there: int
    problems: int
    first_problems: "tuple[ProblemRow, ...]" = ()
    #: Choices made automatically: an encoding, a column that contains no ids.
    notes: tuple[str, ...] = ()
    #: Why the dataset's model cannot score its pictures, "" if it can or was not checked.
    asks_for_model: str = ""
    #: Of a dataset that existed before; `update`: whether changed rows were taken or kept as they
    #: were; `hidden`: pairs hidden now because they are gone; `replaced`, `unproved`: see
    #: `backend.jobs.compare_source.Comparison`.
    changes: SourceChanges = SourceChanges()
    update: str = "keep"
    hidden: int = 0
    replaced: int = 0
    unproved: int = 0
    #: What a first look at the dataset says, of the command line: pages run it in the background.
    first_look: tuple[str, ...] = ()

    def in_words(self) -> str:
        text = (
            f"Dataset '{self.name}': {count_of(self.added, 'pair')} added, {self.already_there} "
            f"there already, {count_of(self.problems, 'row')} left out."
        )
        return f"{text} {self.changes.in_words()}".rstrip()


#: The kind of run that records a draw. Its parameter `pairs`: of how many; what a random draw shows
#: holds for all of them.
DRAWN, SAMPLED = "draw", "sample"


@dataclass(frozen=True)
class Deletion:
    """Extent of the deletion of a dataset. `reviewed` pairs have a verdict; `acts`: number
    of verdicts, undos and redos on its pairs, all of them saved in `verdict_file`. `is_upload`: its
    images were uploaded for it alone, and are removed with what nobody uses."""

    dataset_id: int
    name: str
    root: str
    pairs: int
    scored: int
    reviewed: int
    acts: int
    verdict_file: str = ""
    is_upload: bool = False

    @property
    def about_images(self) -> str:
        """What becomes of the images."""
        if self.is_upload:
            return "Its images were uploaded for it: they are removed too, at a later start."
        return f"The images in {self.root} are not touched."


@dataclass(frozen=True)
class Relocation:
    """The new folder of a dataset; of the pictures `checked` there, some are `missing`."""

    dataset_id: int
    name: str
    root: str
    checked: int
    missing: int

    def in_words(self) -> str:
        return (
            f"'{self.name}' is in {self.root} now: {self.checked - self.missing} of {self.checked} "
            "pictures checked are there."
        )


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


@dataclass(frozen=True)
class ExportCounts:
    """Number of pairs by what an export does with them; `total` is `kept` plus all `left_out`.
    `by_decision`: of those that are kept; `called_wrong`: that stay although they are."""

    total: int
    kept: int
    corrected: int
    tagged: int
    left_out: dict[str, int]
    by_decision: dict[str, int]
    #: Kept with an enriched caption, accepted or only suggested.
    enriched: int = 0
    #: Kept with a caption that was edited in bulk.
    edited: int = 0
    #: Kept without claims that are wrong, or look so.
    shortened: int = 0
    called_wrong: int = 0
    #: Kept though more likely wrong than right, and not reviewed.
    likely_wrong: int = 0
    #: Undecided captions in languages that the model does not read, which no threshold leaves out.
    unread: int = 0
    #: Kept, by split; "" for those without one.
    by_split: dict[str, int] = field(default_factory=dict)
    #: Why the threshold of the choice cannot be trusted, and for which captions it does not count;
    #: "" if nothing is to be said, or if there is none.
    level_note: str = ""
    #: Pictures that are written in several splits.
    shared_pictures: int = 0
    #: Written in another split than in the source, so that each picture is in one.
    moved: int = 0

    def in_words(self) -> str:
        left_out = sum(self.left_out.values())
        reasons = "; ".join(f"{number:,} {why}" for why, number in sorted(self.left_out.items()))
        phrases = [*self.caption_changes, *([f"{self.tagged:,} tagged"] if self.tagged else ())]
        return (
            f"{count_of(self.total, 'pair')}: {self.kept} kept"
            + (f" ({', '.join(phrases)})" if phrases else "")
            + f", {left_out} left out"
            + (f" ({reasons})." if reasons else ".")
            + self.splits_in_words()
        )

    @property
    def caption_changes(self) -> list[str]:
        """What became of captions that are kept, each with its count; without what befell none."""
        counts = (
            (self.corrected, "corrected"),
            (self.edited, "edited in bulk"),
            (self.enriched, "enriched"),
            (self.shortened, "without some claims"),
        )
        return [f"{count:,} {change}" for count, change in counts if count]

    def splits_in_words(self) -> str:
        """A sentence about pictures in several splits, after a blank; "" without any."""
        if self.shared_pictures:
            are = "is" if self.shared_pictures == 1 else "are"
            pictures = count_of(self.shared_pictures, "picture")
            return f" {pictures} {are} in several splits: what is tested on was seen in training."
        if self.moved:
            return f" {count_of(self.moved, 'pair')} moved to the split of the same picture."
        return ""


@dataclass(frozen=True)
class ExportReport:
    out: Path | str  #: a folder, or an address
    format: str
    counts: ExportCounts
    written: int
    card: str
    #: Number of pairs left out because their picture cannot be shown to be the one that was
    #: imported, and the first of them with the reason.
    unreadable: int = 0
    first_unreadable: "tuple[ProblemRow, ...]" = ()
    #: What identifies the files that were written, see `export_folder.digest_of`.
    digest: str = ""

    def in_words(self) -> str:
        return f"{self.counts.in_words()} Written to {self.out}."


@dataclass(frozen=True)
class JobView:
    """A background job. `status`: queued, running, done, failed or cancelled. `subject`: what it
    works on: a dataset's name, a model, or the path that is imported. `message`, `failure`,
    `continued_by`: how it ended, if it is not done (see `JobRow`)."""

    id: int
    kind: str
    subject: str
    dataset_id: int | None
    status: str
    is_cancelling: bool
    done: int
    total: int
    step: Step
    message: str
    failure: str
    continued_by: int | None
    result: dict[str, Any]
    created_at: datetime
    updated_at: datetime

    @property
    def has_ended(self) -> bool:
        return self.status in ("done", "failed", "cancelled")
