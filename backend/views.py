"""What the workspace hands to pages and to the command line: plain, frozen, complete."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from backend.detection.types import SuspectWord
from backend.progress.figures import CalibrationBin
from backend.progress.stopping import Remaining
from backend.team.agreement import Agreement
from backend.trajectories.trajectory import Trajectory

#: The verdicts a curator can give, in the order in which they are shown.
DECISIONS = ("correct", "correction", "drop", "abstract", "unsure")

#: Verdicts that say "this caption was wrong".
WRONG = ("correction", "drop")


@dataclass(frozen=True)
class DatasetSummary:
    """Counts of one dataset. `errors_found` are verdicts that say the caption was wrong."""

    id: int
    name: str
    source: str
    root: str
    total: int
    scored: int
    reviewed: int
    errors_found: int
    by_decision: dict[str, int]
    problems: int = 0


@dataclass(frozen=True)
class Abstractness:
    """`words`: (start, end, gain) in characters; what the caption's ICC would lose without them.
    Below 0: the word makes the caption more abstract."""

    caption: str
    icc: float
    words: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class SuggestionView:
    """One correction on offer; higher s and lower p are better."""

    id: int
    caption: str
    proposer: str
    s_before: float
    s_after: float
    p_before: float | None
    p_after: float | None
    words_changed: int = 0
    similarity: float | None = None
    #: What a vision-language model has seen for each suspect word: (word, seen, wrong).
    steps: tuple[tuple[str, str, bool], ...] = ()


@dataclass(frozen=True)
class VerdictView:
    """One row of a pair's history. `decision` None: the verdict before it was undone."""

    decision: str | None
    corrected_caption: str | None
    author: str
    created_at: datetime


@dataclass(frozen=True)
class Likeness:
    """What a pair has in common with others: how many have its most suspect word, and how many a
    suspect word of its kind (itself included); 1000 stands for that many and more."""

    word: str | None
    kind: str | None
    same_word: int
    same_kind: int


@dataclass(frozen=True)
class PairView:
    """Everything about one pair that a curator sees."""

    pair_id: int
    dataset_id: int
    external_id: str
    caption: str
    split: str | None
    image_name: str
    image_size: tuple[int, int] | None
    version: int
    decision: str | None
    corrected_caption: str | None
    s_0: float | None
    gain: float | None
    p_error: float | None
    icc: float | None
    looks_abstract: bool
    truncated: bool
    words_read: int | None
    suspects: tuple[SuspectWord, ...]
    trajectory: Trajectory | None
    suggestions: tuple[SuggestionView, ...]
    #: What p_error rests on: "injected noise", "12 verdicts and injected noise", "not scored yet".
    basis: str
    #: The scorer that produced s, e.g. "blip-itm · scenes-blip-itm".
    scored_by: str
    #: Plain warning about the model, empty if there is none.
    limits: str
    history: tuple[VerdictView, ...] = ()
    #: How many verdicts were taken back or given again with this pair's.
    together: int = 1
    #: Characters (start, end) of the words that a curator called wrong.
    wrong_words: tuple[tuple[int, int], ...] = ()
    likeness: Likeness | None = None
    disagreement: float | None = None
    #: The vision-language model that may be asked for a correction of this pair; "": none.
    may_ask: str = ""


@dataclass(frozen=True)
class SuspectsHit:
    """Of pairs whose wrong words a curator has marked: how often the most suspect word is one of
    them, and how often a word by lot would be."""

    pairs: int
    top1: float
    chance: float


@dataclass(frozen=True)
class Retraining:
    """A classifier and its AUC on the verdicts of its time, beside that of the one before it."""

    name: str
    created_at: datetime
    active: bool
    auc_before: float | None
    auc_after: float | None


@dataclass(frozen=True)
class ProgressView:
    """How far a review has come. `pace`: (curator, day, verdicts); `found`: (pairs decided, errors
    among them) along the way; `remaining`: None as long as no pair was drawn by lot."""

    total: int
    reviewed: int
    errors_found: int
    by_decision: dict[str, int]
    pace: tuple[tuple[str, str, int], ...]
    precision_of_flagged: float | None
    flagged: int
    remaining: Remaining | None
    calibration: tuple[CalibrationBin, ...]
    found: tuple[tuple[int, int], ...]
    retrainings: tuple[Retraining, ...]
    suspects_hit: SuspectsHit | None = None


@dataclass(frozen=True)
class AccountView:
    """Somebody who may log in; an inactive account may not (any more)."""

    name: str
    role: str
    active: bool
    created_at: datetime


@dataclass(frozen=True)
class AccountsView:
    accounts: tuple[AccountView, ...]


@dataclass(frozen=True)
class OpinionView:
    """What one curator says about a pair."""

    author: str
    decision: str
    corrected_caption: str | None
    decided_at: datetime


@dataclass(frozen=True)
class DisputeView:
    """A pair about which curators differ."""

    pair_id: int
    external_id: str
    caption: str
    opinions: tuple[OpinionView, ...]


@dataclass(frozen=True)
class TeamView:
    """Agreement of the curators of a dataset. `disputed` counts all pairs that wait for an
    adjudicator, `disputes` are the first of them."""

    dataset_id: int
    by_verdict: Agreement
    right_or_wrong: Agreement
    disputed: int
    disputes: tuple[DisputeView, ...]


@dataclass(frozen=True)
class CaptionCheck:
    """The curator's own edit, scored."""

    caption: str
    s: float
    p_error: float | None
    icc: float
    suspects: tuple[SuspectWord, ...] = ()


@dataclass(frozen=True)
class PlaygroundResult:
    """One image and one caption, everything out."""

    caption: str
    s_0: float
    p_error: float | None
    #: What the probability rests on, or why there is none.
    p_note: str
    icc: float
    looks_abstract: bool
    truncated: bool
    suspects: tuple[SuspectWord, ...]
    trajectory: Trajectory
    suggestions: tuple[SuggestionView, ...]
    scored_by: str
    limits: str
    abstractness: Abstractness


@dataclass(frozen=True)
class ProblemView:
    """A row that did not go in: where it is and what to do."""

    file: str
    row: int | None
    kind: str
    message: str
    external_id: str | None = None


@dataclass(frozen=True)
class ImportReport:
    dataset_id: int
    name: str
    added: int
    already_there: int
    problems: int
    first_problems: tuple[ProblemView, ...] = ()


@dataclass(frozen=True)
class ScoreReport:
    """`scored` pairs got a trajectory now; `skipped` had one; `unreadable` images were reported."""

    dataset_id: int
    pairs: int
    scored: int
    skipped: int
    unreadable: int
    truncated: int
    suggestions: int
    seconds: float
    run_id: int
    #: How the detector was made: figures by name, see `backend.detection.cold_start`.
    detector: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlaneCell:
    """Pairs in a cell of the plane; cells count from 0 at probability 0 and at ICC 0."""

    p_error: int
    icc: int
    pairs: int
    undecided: int


@dataclass(frozen=True)
class PlanePoint:
    pair_id: int
    p_error: float
    icc: float
    decision: str | None


@dataclass(frozen=True)
class ThresholdView:
    """See `backend.progress.thresholds`. `at`: a probability of error (and above), or an ICC (and
    below); `waiting`: undecided pairs beyond it."""

    wanted: float
    at: float
    precision: float
    low: float
    high: float
    decided: int
    found: float
    waiting: int


@dataclass(frozen=True)
class PlaneView:
    """`size` cells a side; `points`: pairs drawn by lot; `wrong`, `abstract`: thresholds chosen
    from verdicts, one for each precision that can be had."""

    cells: tuple[PlaneCell, ...]
    size: int
    points: tuple[PlanePoint, ...]
    wrong: tuple[ThresholdView, ...]
    abstract: tuple[ThresholdView, ...]


@dataclass(frozen=True)
class CorrectionReport:
    """`outcomes`: how many pairs ended as *offered*, *no better*, *unchanged*, *refused*,
    *unreadable*, *asked before*, *not scored*, *image unreadable*. `accepted`: by the rule.
    `stopped`: why it ended before the queue did."""

    dataset_id: int
    proposer: str
    looked_at: int
    outcomes: dict[str, int]
    accepted: int
    rule: str | None
    requests: int
    answers_kept: int
    tokens_in: int
    tokens_out: int
    cost: float
    stopped: str = ""


@dataclass(frozen=True)
class DryRunQuestion:
    """What would be sent for one pair; the picture as its size in bytes."""

    pair_id: int
    external_id: str
    system: str
    user: str
    image_bytes: int


@dataclass(frozen=True)
class DryRun:
    """`pairs`: in the queue; `tokens_each`: a rough guess at one question."""

    proposer: str
    pairs: int
    tokens_each: int
    questions: tuple[DryRunQuestion, ...]


@dataclass(frozen=True)
class CorrectorFigures:
    """Of captions that people have corrected: the share with a readable answer, with a correction,
    and with the very correction that was accepted; the mean rise of s, words changed."""

    model: str
    readable: float
    corrected: float
    same: float
    rise_of_s: float | None
    words_changed: float | None


@dataclass(frozen=True)
class DistillationReport:
    """`examples` learnt from, of which so many were the teacher's answers; `held_out`: corrections
    that all three were examined on."""

    dataset_id: int
    examples: int
    from_teacher: int
    held_out: int
    losses: tuple[float, ...]
    untrained: CorrectorFigures
    student: CorrectorFigures
    teacher: CorrectorFigures | None
    model: Path


@dataclass(frozen=True)
class ClassifierView:
    """A trained classifier; `report` holds its cross-validated figures."""

    id: int
    name: str
    kind: str
    basis: str
    active: bool
    created_at: datetime
    report: dict[str, Any]


@dataclass(frozen=True)
class TrainReport:
    """A candidate, trained but not yet adopted, beside the classifier in use."""

    dataset_id: int
    classifier_id: int
    name: str
    verdicts: int
    report: dict[str, Any]


@dataclass(frozen=True)
class ExportChoice:
    """What stays. Every field is one decision the curator takes."""

    #: Undecided pairs with p_error above this leave; None keeps all undecided ones.
    drop_above: float | None = None
    #: Pairs with the verdict *abstract*: "leave out", "tag" (kept, tags column says so) or "keep".
    abstract: str = "leave out"
    #: Pairs with the verdict *wrong: drop*: "leave out" or "tag".
    dropped: str = "leave out"
    #: Pairs with the verdict *unsure*: "keep" or "leave out".
    unsure: str = "keep"
    #: Only pairs that a curator has decided.
    decided_only: bool = False


@dataclass(frozen=True)
class ExportCounts:
    """What an export would do, pair by pair: `total` is the sum of `kept` and `left_out`."""

    total: int
    kept: int
    corrected: int
    tagged: int
    left_out: dict[str, int]
    by_decision: dict[str, int]


@dataclass(frozen=True)
class ExportReport:
    out: Path
    format: str
    counts: ExportCounts
    written: int
    card: str


@dataclass(frozen=True)
class BackupReport:
    path: str
    bytes: int


@dataclass(frozen=True)
class JobView:
    """Long work in the background. `status`: queued, running, done or failed."""

    id: int
    kind: str
    dataset_id: int | None
    status: str
    done: int
    total: int
    message: str
    result: dict[str, Any]
    updated_at: datetime
