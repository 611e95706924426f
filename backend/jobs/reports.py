"""What long work is given and what it reports: plain frozen records."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any


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
    #: What was decided without being asked: an encoding, a column that holds no ids.
    notes: tuple[str, ...] = ()
    #: Why the dataset's model cannot score its pictures, "" if it can or nobody has looked.
    asks_for_model: str = ""


@dataclass(frozen=True)
class Deletion:
    """What goes, or has gone, with a dataset. `reviewed` pairs have a verdict; `acts`: all
    verdicts, undos and redos on its pairs, which are kept in `verdict_file`."""

    dataset_id: int
    name: str
    root: str
    pairs: int
    scored: int
    reviewed: int
    acts: int
    verdict_file: str = ""


@dataclass(frozen=True)
class ScoreReport:
    """`scored` pairs got a trajectory now; `skipped` had one; `unreadable` images were reported,
    and so were those of `unknown` pairs, which the model does not know."""

    dataset_id: int
    pairs: int
    scored: int
    skipped: int
    unreadable: int
    truncated: int
    suggestions: int
    seconds: float
    run_id: int
    #: How the detector was made: figures by name, see `backend.engine.detection.cold_start`.
    detector: dict[str, Any] = field(default_factory=dict)
    unknown: int = 0


@dataclass(frozen=True)
class SupportReport:
    """`computed` pairs got their phrases now, `phrases` in all, of which `covered` could be tested;
    `untested`: pairs of the dataset without support. `notes`: what is to be known of it."""

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
    `of` similar ones. `likeness`: their mean cosine with the own image; `easy`: so low that the
    figure says little. `pool` of `pictures` were looked through; `by`: whose vectors judged."""

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
class PictureQualityReport:
    """`measured` pictures were looked at now; `unreadable` could not be opened; `issues`: pairs by
    what their picture has, of the whole dataset."""

    dataset_id: int
    pairs: int
    measured: int
    unreadable: int
    issues: dict[str, int]


@dataclass(frozen=True)
class DuplicatesReport:
    """`pictures` were compared, `without` have no vector; `groups` of near duplicates hold
    `members` pictures. `threshold`: the least cosine with a group's first picture."""

    dataset_id: int
    threshold: float
    pictures: int
    without: int
    groups: int
    members: int


@dataclass(frozen=True)
class MapReport:
    """`pictures` with `pairs` have a place on the map; `without`: pictures without a vector."""

    dataset_id: int
    run_id: int
    pictures: int
    pairs: int
    without: int


@dataclass(frozen=True)
class BagsReport:
    """`bags`: how many of each size, of so many `pictures`; `struck`: left out as was asked."""

    dataset_id: int
    out: Path
    pictures: int
    bags: dict[int, int]
    struck: int


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
class BoostReport:
    """`outcomes`: how many pairs ended as *offered*, *no better*, *refused by the guard*, *looks
    wrong*, *nothing to blend*, *unreadable*, *asked before*, …; `struck`: phrases that the guard
    has taken out. `stopped`: why it ended before the queue did."""

    dataset_id: int
    looked_at: int
    outcomes: dict[str, int]
    struck: int
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
class Selection:
    """Some pairs of a dataset, and in words which."""

    pair_ids: frozenset[int]
    words: str


@dataclass(frozen=True)
class TwoStage:
    """A selection of training pairs in two stages: the `align` share with the highest match, then
    the `keep` share of the whole by `by` (support, worst, alignment, random, specificity).

    `least_phrases`: pairs with fewer tested phrases go last in stage two. `split`: only undecided
    pairs of this split take part, None: all. `tag`: say in the tags what would leave, leave none
    out.
    """

    align: float = 0.7
    keep: float = 0.5
    by: str = "support"
    least_phrases: int = 0
    split: str | None = None
    tag: bool = False


@dataclass(frozen=True)
class Lost:
    """What a selection loses, so that no filter takes a kind of caption away unseen.

    `kinds`: of each kind of word, the share of its occurrences that stays; `short`: the share of
    captions of at most 4 words that stays; `words`: how many words vanish with every caption that
    had them; `examples`: five of them; `splits`: of each split the share that stays; `images`:
    images that lose all their captions."""

    kinds: dict[str, float]
    short: float | None
    words: int
    examples: tuple[str, ...]
    splits: dict[str, float]
    images: int


@dataclass(frozen=True)
class SelectionReport:
    """`taking_part`: undecided pairs of the split; `pool`, `kept` of them; `decided`: pairs that
    curators have judged, which count in no quota. Lines: the lowest match and the lowest value
    that stayed. `refitted`: support was normalised anew for this first stage. `stays`, `goes`:
    fields of queues that show what stays, and by its name what leaves at each stage."""

    dataset_id: int
    choice: TwoStage
    taking_part: int
    pool: int
    kept: int
    decided: int
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
    """What stays. Every field is one decision the curator takes."""

    #: Undecided pairs with p_error above this leave; None keeps all undecided ones.
    drop_above: float | None = None
    #: Pairs with the verdict *abstract*: "leave out", "tag" (kept, tags column says so) or "keep".
    abstract: str = "leave out"
    #: Pairs with the verdict *wrong: drop*: "leave out" or "tag".
    dropped: str = "leave out"
    #: Pairs with the verdict *unsure*: "keep" or "leave out".
    unsure: str = "keep"
    #: Captions that stay as they are with a specificity below this are generic; None: no line.
    specificity_below: float | None = None
    #: Generic captions: "tag" (kept, tags column says so) or "leave out".
    generic: str = "tag"
    #: Only pairs that a curator has decided.
    decided_only: bool = False
    #: Only these pairs; the others are neither written nor counted. None: all.
    only: Selection | None = None
    #: Of undecided pairs only those that a two-stage selection keeps. None: all.
    two_stage: TwoStage | None = None
    #: "decided": as curators left them; "enriched": and where nobody has decided otherwise, the
    #: enrichment on offer, which nobody has checked.
    captions: str = "decided"


@dataclass(frozen=True)
class ExportCounts:
    """What an export would do, pair by pair: `total` is the sum of `kept` and `left_out`."""

    total: int
    kept: int
    corrected: int
    tagged: int
    left_out: dict[str, int]
    by_decision: dict[str, int]
    #: Kept with an enriched caption, accepted or on offer.
    enriched: int = 0


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
    """Long work in the background. `status`: queued, running, done, failed or cancelled.
    `subject`: what it works on: a dataset's name, or the path that is imported."""

    id: int
    kind: str
    subject: str
    dataset_id: int | None
    status: str
    is_cancelling: bool
    done: int
    total: int
    message: str
    result: dict[str, Any]
    created_at: datetime
    updated_at: datetime

    @property
    def has_ended(self) -> bool:
        return self.status in ("done", "failed", "cancelled")
