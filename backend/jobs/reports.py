"""Options that several jobs read, and the reports of jobs: plain frozen records."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, field_validator

from backend.engine.language_models.chat_model import Question
from backend.engine.language_models.spending import Forecast
from backend.engine.trajectories.depth import ALL
from backend.errors import UnknownPictures
from backend.learning_texts import learnt_in_words
from backend.options import NOT_TYPED, CommandLine, Options, switch
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
    see `own_captions`; `constants`: parts that stand in most captions, `former_constants`: the
    texts of those that did when it was scored last, None if it was not; `notices`: see
    `backend.jobs.notices`."""

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
        parts = (part.in_words() for part in self.constants)
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
class Selection:
    """Some pairs of a dataset, and a description of them in words."""

    pair_ids: frozenset[int]
    words: str


class TwoStage(Options):
    """A selection of training pairs in two stages: the `align` share with the highest match, then
    the `keep` share of the whole by `by`, or by the user's own `scores`."""

    align: float = Field(0.7, gt=0, le=1)
    """Stage one of a selection for training (see select): share of the pairs to keep, by highest
    match. Default: 0.7."""
    keep: float = Field(0.5, gt=0, le=1)
    """Stage two: share of all pairs to keep. Default: 0.5."""
    by: str = "support"
    """Stage two: support (the paper's mean), worst (the weakest phrase: fewer errors stay),
    alignment, random, or specificity."""
    least_phrases: int = Field(0, ge=0)
    """Captions with fewer tested phrases go last in stage two."""
    split: Annotated[str | tuple[str, ...] | None, NOT_TYPED] = None
    """Only undecided pairs of this split, or of these, take part. None: all."""
    tag: Annotated[bool, NOT_TYPED] = False
    """Tag the pairs instead of leaving any out."""
    seed: int = Field(0, ge=0)
    """With --by random: of the random order. Default: the queue's."""
    scores: Annotated[str, CommandLine(metavar="FILE")] = ""
    """Stage two: by your own scores, a table with an id and a score, or a list with one suspect id
    per line. Higher stays, unless its name is that of an error, as p_error or loss."""

    @property
    def criterion(self) -> str:
        """What stage two goes by."""
        return f"the scores in {Path(self.scores).name}" if self.scores else self.by

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits whose pairs take part; none: all pairs do."""
        return (self.split,) if isinstance(self.split, str) else self.split or ()


#: Captions of at most this many words are short.
SHORT = 4
#: A split is reported if it loses this much more than the whole.
_THINNED = 0.1


def _at_least(line: float | None) -> str:
    return "any" if line is None else f"≥ {line:.4g}"


@dataclass(frozen=True)
class SelectionLosses:
    """Losses of a selection, so that no filter removes a kind of caption unnoticed.

    `kinds`: for each kind of word, the share of its occurrences that stays; `short`: the share of
    captions of at most 4 words that stays; `words`: how many words occur only in captions that
    leave; `examples`: five of them; `splits`: the share of each split that stays; `images`: number
    of images that lose all their captions."""

    kinds: dict[str, float]
    short: float | None
    words: int
    examples: tuple[str, ...]
    splits: dict[str, float]
    images: int


@dataclass(frozen=True)
class SelectionReport:
    """`taking_part`: undecided pairs of the split; `pool`, `kept`: those left after stages one and
    two; `decided`: pairs that curators have judged, which count towards no quota; `edited`:
    undecided pairs of the split with an edited caption, which stay as well. `align_line`,
    `keep_line`: the lowest match and the lowest stage-two value that stayed. `refitted`: support
    was renormalised for this first stage. `stays`, `goes`: fields of queues that show what stays
    and, by stage, what leaves."""

    dataset_id: int
    choice: TwoStage
    taking_part: int
    pool: int
    kept: int
    decided: int
    edited: int
    align_line: float | None
    keep_line: float | None
    refitted: bool
    lost: SelectionLosses
    stays: dict[str, str] = field(default_factory=dict)
    goes: dict[str, dict[str, str]] = field(default_factory=dict)
    view: str = ""
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Counts, thresholds and losses."""
        choice = self.choice
        where = f" of the split '{', '.join(choice.splits)}'" if choice.splits else ""
        lines = [
            f"{self.taking_part} undecided pairs{where}: {self.pool} by match, {self.kept} of them "
            f"by {choice.criterion}; {self.decided} decided pairs are not counted.",
            f"Thresholds: s {_at_least(self.align_line)}, {choice.criterion} "
            f"{_at_least(self.keep_line)}.",
            *self.losses_in_words(),
        ]
        if self.view:
            lines.append(f"Saved as the view '{self.view}'.")
        return "\n".join(lines)

    def losses_in_words(self) -> list[str]:
        """In sentences: a filter that silently removes all captions with "left of" is worse than
        none."""
        losses = self.lost
        kinds = ", ".join(f"{kind} {share:.0%}" for kind, share in losses.kinds.items())
        lines = [f"Kept, by kind of word: {kinds}."] if kinds else []
        if losses.short is not None:
            lines.append(f"Captions of at most {SHORT} words: {losses.short:.0%} stay.")
        if losses.words:
            lines.append(f"{losses.words} words are lost: {', '.join(losses.examples)}.")
        whole = self.kept / self.taking_part if self.taking_part else 1.0
        thin = [
            f"{name} {share:.0%}"
            for name, share in losses.splits.items()
            if share < whole - _THINNED
        ]
        if thin:
            lines.append(f"Splits that lose more than the dataset as a whole: {', '.join(thin)}.")
        if losses.images:
            lines.append(f"{losses.images} images lose all their captions.")
        return lines


#: What is together in a new split always: pairs of one picture.
PICTURE = "picture"


class NewSplits(Options):
    """Splits that an export makes, in place of the source's."""

    shares: Annotated[str, NOT_TYPED]
    """Shares of training, validation and test, or of training and test: '80/10/10', '90/10'."""
    seed: Annotated[int, NOT_TYPED] = Field(0, ge=0)
    """Of the draw."""
    together: Annotated[tuple[str, ...], NOT_TYPED] = (PICTURE,)
    """What is in one split: 'picture', always; pairs with the same value in a column of the source,
    by its name; what a feature knows, by its name."""

    @field_validator("shares")
    @classmethod
    def _are_shares(cls, value: str) -> str:
        if not is_shares(value) or not all(map(int, value.split("/"))):
            raise ValueError(
                f"'{value[:40]}' are no shares: name two or three whole numbers, such as 80/10/10 "
                "for training, validation and test."
            )
        return value

    @property
    def parts(self) -> tuple[int, ...]:
        return tuple(map(int, self.shares.split("/")))

    @property
    def names(self) -> tuple[str, ...]:
        return ("train", "test") if len(self.parts) == 2 else ("train", "validation", "test")

    def in_words(self) -> str:
        together = ", ".join(dict.fromkeys((PICTURE, *self.together)))
        return (
            f"made anew, {self.shares} ({', '.join(self.names)}), seed {self.seed}; in one split: "
            f"{together}"
        )


def is_shares(text: str) -> bool:
    """Whether a text is meant as shares of splits, not as the name of one.

    >>> is_shares("80/10/10"), is_shares("train"), is_shares("2014")
    (True, False, False)
    """
    return re.fullmatch(r"\d{1,9}(/\d{1,9}){1,2}", text) is not None


class ExportChoice(Options):
    """What an export keeps. Every field is one choice of the curator; a verdict overrides the
    threshold and the selection."""

    drop_above: float | None = Field(None, ge=0, le=1)
    """Leave out undecided pairs whose chance of error is above this."""
    abstract: Literal["leave out", "tag", "keep"] = "leave out"
    """Vague pairs: 'leave out', 'tag' or 'keep'."""
    dropped: Literal["leave out", "tag"] = "leave out"
    """Removed pairs: 'leave out' or 'tag'."""
    wrong: Literal["tag", "leave out"] = "tag"
    """Pairs called wrong, without a correction: 'tag' or 'leave out'."""
    unsure: Literal["keep", "leave out"] = "keep"
    """Pairs that somebody is not sure of: 'keep' or 'leave out'."""
    specificity_below: float | None = Field(None, le=0)
    """Captions with a specificity below this are generic (see score --specificity)."""
    generic: Literal["tag", "leave out"] = "tag"
    """With --specificity-below: 'tag' or 'leave out'."""
    wrong_claims: Literal["keep", "leave out"] = "keep"
    """Claims decided wrong, in captions of several: 'keep' or 'leave out', which writes the caption
    without them."""
    drop_claims_above: float | None = Field(None, ge=0, le=1)
    """Leave out claims of undecided captions of several whose chance of error is above
    this."""
    decided_only: Annotated[bool, switch("decided-only")] = False
    """Only pairs with a verdict."""
    name_people: Annotated[bool, switch("name-people")] = False
    """Name the curators in the card, in columns and in what describes the export; ask them first.
    Default: they are numbered, and people who wrote captions are counted."""
    only: Annotated[Selection | None, NOT_TYPED] = None
    """Only these pairs; the others are neither written nor counted."""
    two_stage: TwoStage | None = None
    """Of undecided pairs only those that a two-stage selection keeps."""
    captions: Literal["decided", "enriched"] = "decided"
    """'decided': as curators left them, accepted enrichments included; 'enriched': also suggested
    enrichments, unchecked, where no verdict says otherwise. The column caption_kind says which is
    which."""
    keep_pictures_together: Annotated[bool, switch("keep-pictures-together")] = False
    """Move all pairs of a picture to one split, where it is in several: test, else validation, else
    another, so that no model is tested on a picture that it has seen."""
    new_splits: Annotated[NewSplits | None, NOT_TYPED] = None
    """Splits that are made, in place of the source's. None: those of the source."""
    copy_images: Annotated[bool, switch("copy-images")] = False
    """In formats with image paths: copy the images too, so that the folder can be moved. Exports
    that are jobs (page, API) always do."""
    unconfirmed: Annotated[bool, switch("unconfirmed")] = False
    """In formats that compare captions: also corrections that no person has confirmed, suggested or
    accepted by a rule."""


@dataclass(frozen=True)
class ExportDecision:
    """The decision on one pair. `left_out_because` is empty for a pair that stays."""

    caption: str
    #: Origin of the caption: human, corrected, edited (in bulk), shortened (by claims that are
    #: wrong, or look so), new (there was none), or the kind of an enrichment.
    kind: str = "human"
    tags: tuple[str, ...] = ()
    left_out_because: str = ""
    #: Of an enrichment that nobody has accepted.
    proposer: str = field(default="", repr=False)


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
    #: Kept, by split; "" for those without one.
    by_split: dict[str, int] = field(default_factory=dict)
    #: Why the threshold of the choice cannot be trusted; "" if it can, or if there is none.
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

    @property
    def asks_for_model(self) -> bool:
        """Whether it scored nothing because its model does not know the dataset's pictures."""
        return self.failure == UnknownPictures.__name__
