"""Arguments and reports of jobs: plain frozen dataclasses."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backend.errors import UnknownPictures
from backend.progress import Step

if TYPE_CHECKING:  # `--help` needs no database
    from db.queries.dataset_queries import ProblemRow


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


@dataclass(frozen=True)
class ShardsReport:
    """Scores in files: all `shards` of a source, those scored by this command, and their pairs.
    `left_out`: rows and pictures that cannot be used; `failed`: shards, each with the reason."""

    shards: int
    scored_now: int
    pairs: int
    left_out: int
    failed: tuple[str, ...]
    out: str
    learnt: str = ""  #: what their detector has learnt from verdicts, in words


#: The kind of run that records a draw. Its parameter `pairs`: of how many; what a random draw shows
#: holds for all of them.
DRAWN, SAMPLED = "draw", "sample"


@dataclass(frozen=True)
class DrawReport:
    """Pairs drawn from the results of shards: `pairs` in all of them, `added` to the dataset now,
    `already_there`, and `problems` left out for their pictures."""

    dataset_id: int
    name: str
    pairs: int
    added: int
    already_there: int
    problems: int
    first_problems: "tuple[ProblemRow, ...]" = ()


@dataclass(frozen=True)
class ShardSelection:
    """Shards written without what was left out, `written_now` of them by this command, which
    `kept` pairs, `corrected` among them, and `left_out` others; `decided` of them by the
    `decisions` of a list."""

    shards: int
    written_now: int
    kept: int
    corrected: int
    left_out: int
    decided: int
    decisions: int
    out: str
    level_note: str = ""  #: why the threshold cannot be trusted; "" if it can, or without one


@dataclass(frozen=True)
class Deletion:
    """Extent of the deletion of a dataset. `reviewed` pairs have a verdict; `acts`: number
    of verdicts, undos and redos on its pairs, all of them saved in `verdict_file`."""

    dataset_id: int
    name: str
    root: str
    pairs: int
    scored: int
    reviewed: int
    acts: int
    verdict_file: str = ""


@dataclass(frozen=True)
class Relocation:
    """The new folder of a dataset; of the pictures `checked` there, some are `missing`."""

    dataset_id: int
    name: str
    root: str
    checked: int
    missing: int


@dataclass(frozen=True)
class ScoreReport:
    """Pairs `scored` now, `skipped` because they had a trajectory, with `unreadable` images, or
    with pictures `unknown` to the model; the last two are listed as problems. `trajectories`: which
    pairs get whole ones (`depth.Depth.name`); `completed`: first steps made whole now."""

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


@dataclass(frozen=True)
class SupportReport:
    """Phrases of `computed` pairs were attributed now: `phrases` in all, of which `covered` could
    be tested. `untested`: pairs of the dataset without support. `notes`: caveats for the user."""

    dataset_id: int
    pairs: int
    computed: int
    untested: int
    phrases: int
    covered: int
    seconds: float
    run_id: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpecificityReport:
    """`measured` of `pairs`; `retrieved`: captions that rank their own image first, among at most
    `of` similar ones. `likeness`: mean cosine of these with the caption's own image; `easy`: it is
    so low that `retrieved` says little. `pool` of `pictures` were searched; `by`: the scorer whose
    vectors were used."""

    dataset_id: int
    run_id: int
    pairs: int
    measured: int
    retrieved: int
    of: int
    likeness: float | None
    easy: bool
    pool: int
    pictures: int
    by: str


@dataclass(frozen=True)
class SecondOpinionPlan:
    """What a second opinion will take: `model` at `server` about `pairs` of `total`: `fewest` to
    `most` questions of `tokens_each` input tokens, measured on one pair of the dataset, which took
    `seconds_each`."""

    model: str
    server: str
    pairs: int
    total: int
    fewest: int
    most: int
    tokens_each: int
    seconds_each: float


@dataclass(frozen=True)
class SecondOpinionReport:
    """Pairs with `new_answers` and with `earlier_answers`: the model `agrees` with some captions
    (P(yes) of at least one half) and `doubts` others. `unanswered`: it said neither yes nor no;
    `left_out`: pictures that cannot be read, and questions that the server refused, with the last
    reason in `problem`; both are asked again next time. `stopped`: why it ended early, "" if it did
    not."""

    dataset_id: int
    run_id: int
    model: str
    server: str
    new_answers: int
    earlier_answers: int
    agrees: int
    doubts: int
    unanswered: int
    left_out: int
    requests: int
    tokens_in: int
    tokens_out: int
    cost: float
    problem: str = ""
    stopped: str = ""


@dataclass(frozen=True)
class ScoreResult(ScoreReport):
    """Result of the command `score`, with the reports of further measurements and the rows of
    scores it wrote to a file; None for what was not requested."""

    support: SupportReport | None = None
    specificity: SpecificityReport | None = None
    second_opinion: SecondOpinionReport | None = None
    rows_written: int | None = None


@dataclass(frozen=True)
class PictureQualityReport:
    """Pictures `measured` now; `unreadable` ones could not be opened. `issues`: number of pairs by
    issue of their picture, in the whole dataset."""

    dataset_id: int
    pairs: int
    measured: int
    unreadable: int
    issues: dict[str, int]


@dataclass(frozen=True)
class DuplicatesReport:
    """`pictures` were compared, `without` have no vector; the `groups` of near duplicates have
    `members` pictures in all. `threshold`: the minimum cosine with a group's first picture."""

    dataset_id: int
    threshold: float
    pictures: int
    without: int
    groups: int
    members: int


@dataclass(frozen=True)
class MapReport:
    """`pictures`, with `pairs`, are on the map; `without`: pictures without a vector."""

    dataset_id: int
    run_id: int
    pictures: int
    pairs: int
    without: int


@dataclass(frozen=True)
class BagsReport:
    """`bags`: number of bags by size; `pictures`: in the dataset; `struck`: left out on request."""

    dataset_id: int
    out: Path
    pictures: int
    bags: dict[int, int]
    struck: int


@dataclass(frozen=True)
class QueueReport:
    """A job that asked a model about the pairs of a queue. `outcomes`: how many pairs ended how.
    `stopped`: why it stopped before the end of the queue."""

    dataset_id: int
    looked_at: int
    outcomes: dict[str, int]
    requests: int = 0
    answers_kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    stopped: str = ""


@dataclass(frozen=True, kw_only=True)
class CorrectionReport(QueueReport):
    """`outcomes`: *offered*, *no better*, *unchanged*, *refused*, *unreadable*, *asked before*,
    *not scored*, *image unreadable*, and those of `prompting.unaskable`. `accepted`: by the
    rule."""

    proposer: str
    accepted: int
    rule: str | None


@dataclass(frozen=True, kw_only=True)
class BoostReport(QueueReport):
    """`outcomes`: *offered*, *no better*, *refused by the guard*, *looks wrong*, *nothing to
    blend*, *unreadable*, *asked before*, …; `struck`: phrases that the guard removed.
    `calibrated_on`: number of phrases of people's captions that the guard's rule was fitted to, 0
    for the default rule."""

    struck: int
    calibrated_on: int = 0


@dataclass(frozen=True)
class DryRunQuestion:
    """The request that would be sent for one pair; of the picture only its size in bytes."""

    pair_id: int
    external_id: str
    system: str
    user: str
    image_bytes: int


@dataclass(frozen=True)
class DryRun:
    """`pairs`: in the queue; `tokens_each`: rough estimate of the tokens per request."""

    proposer: str
    pairs: int
    tokens_each: int
    questions: tuple[DryRunQuestion, ...]


@dataclass(frozen=True)
class BoostDryRun(DryRun):
    """`pictures_to`, `captions_to`: the servers that would get them; None: they stay on this
    machine."""

    pictures_to: str | None
    captions_to: str | None


@dataclass(frozen=True)
class TrainReport:
    """A candidate classifier, trained but not adopted, compared with the one in use."""

    dataset_id: int
    classifier_id: int
    name: str
    verdicts: int
    report: dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """Some pairs of a dataset, and a description of them in words."""

    pair_ids: frozenset[int]
    words: str


@dataclass(frozen=True)
class TwoStage:
    """A selection of training pairs in two stages: the `align` share with the highest match, then
    the `keep` share of the whole by `by` (support, worst, alignment, random, specificity).

    `least_phrases`: pairs with fewer tested phrases go last in stage two. `split`: only undecided
    pairs of this split, or of these, take part, None: all. `tag`: tag the pairs instead of leaving
    any out. `seed`: of the random order; 0 is that of the queue. `scores`: a file of the user's own
    scores, by which stage two selects instead of by `by`.
    """

    align: float = 0.7
    keep: float = 0.5
    by: str = "support"
    least_phrases: int = 0
    split: str | tuple[str, ...] | None = None
    tag: bool = False
    seed: int = 0
    scores: str = ""

    @property
    def criterion(self) -> str:
        """What stage two goes by."""
        return f"the scores in {Path(self.scores).name}" if self.scores else self.by

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits whose pairs take part; none: all pairs do."""
        return (self.split,) if isinstance(self.split, str) else self.split or ()


@dataclass(frozen=True)
class Lost:
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
    lost: Lost
    stays: dict[str, str] = field(default_factory=dict)
    goes: dict[str, dict[str, str]] = field(default_factory=dict)
    view: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportChoice:
    """The options of an export. Every field is one choice of the curator."""

    #: Undecided pairs with p_error above this leave; None keeps all undecided ones.
    drop_above: float | None = None
    #: Pairs with the verdict *abstract*: "leave out", "tag" (kept, tags column says so) or "keep".
    abstract: str = "leave out"
    #: Pairs with the verdict *wrong: drop*: "leave out" or "tag".
    dropped: str = "leave out"
    #: Pairs with the verdict *unsure*: "keep" or "leave out".
    unsure: str = "keep"
    #: Captions that stay unchanged and have a specificity below this are generic; None: no limit.
    specificity_below: float | None = None
    #: Generic captions: "tag" (kept, tags column says so) or "leave out".
    generic: str = "tag"
    #: Only pairs that a curator has decided.
    decided_only: bool = False
    #: Only these pairs; the others are neither written nor counted. None: all.
    only: Selection | None = None
    #: Of undecided pairs only those that a two-stage selection keeps. None: all.
    two_stage: TwoStage | None = None
    #: "decided": as curators left them; "enriched": also suggested, unchecked enrichments, unless
    #: a verdict says otherwise.
    captions: str = "decided"


@dataclass(frozen=True)
class ExportCounts:
    """Number of pairs by what an export does with them; `total` is `kept` plus all `left_out`."""

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
    #: Why the threshold of the choice cannot be trusted; "" if it can, or if there is none.
    level_note: str = ""


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
