"""The frozen records that the workspace returns to pages and to the command line."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from backend.datasets.caption_writers import Writer
from backend.datasets.cells import picture_key
from backend.datasets.reading.pair_checks import pair_name
from backend.engine.captions import Caption
from backend.engine.constants.judging import opening_of
from backend.engine.correction.anchoring import UnanchoredWord
from backend.engine.correction.suggestion import Suggestion, words_changed
from backend.engine.detection.explanations import Reasons
from backend.engine.detection.types import SuspectWord
from backend.engine.statistics.calibration import CalibrationBin
from backend.engine.statistics.stopping import Remaining
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.errors_left import ErrorsLeft
from backend.jobs.notices import Sentence
from db.measures import MeasuredRecord
from db.queries.pair_queries import CaptionRow
from db.queries.suggestion_queries import SuggestionRow


@dataclass(frozen=True)
class DatasetSummary:
    """Counts of one dataset. `errors_found` are verdicts that say the caption was wrong.
    `other_languages`: its phrases were measured, and most of its captions are not English."""

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
    other_languages: bool = False


@dataclass(frozen=True)
class Abstractness:
    """`words`: (start, end, gain) in characters; the drop in the caption's ICC without the word.
    Below 0: the word makes the caption more abstract."""

    caption: str
    icc: float
    words: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class SuggestionView:
    """A suggested correction; higher s and lower p are better."""

    id: int
    caption: str
    proposer: str
    s_before: float
    s_after: float
    p_before: float | None
    p_after: float | None
    words_changed: int = 0
    similarity: float | None = None
    #: What a vision-language model sees for each suspect word: (word, seen, wrong).
    steps: tuple[tuple[str, str, bool], ...] = ()
    #: For a richer caption: its own picture's rank before and after, and the number of pictures.
    ranks: tuple[int, int, int] | None = None
    #: For a richer caption: what the guard removed, and why.
    struck: tuple[str, ...] = ()
    #: For a richer caption: its concreteness before and after, and other remarks of the guard.
    icc: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    #: Whether it is shown to anybody; see `suggestion_chance.is_worth_an_offer`.
    is_offer: bool = True
    #: Its words that the model doubts, at most two.
    doubts: tuple[str, ...] = ()
    #: Somebody asked a model for it, and sees the answer whatever the detector says.
    is_asked: bool = False


class BetterPicture(NamedTuple):
    """The pair whose picture a caption fits better, with its likeness to its own picture and to
    that one, cosines of vectors."""

    pair_id: int
    external_id: str
    own_likeness: float
    likeness: float


@dataclass(frozen=True)
class VerdictView:
    """One row of a pair's history. `decision` None: undecided after it."""

    decision: str | None
    corrected_caption: str | None
    author: str
    created_at: datetime
    note: str = ""
    #: A richer caption was accepted: not a correction.
    enriches: bool = False
    #: The claim that it is about, and what it says of it; "": it is about the caption.
    claim: str = ""
    is_right: bool | None = None
    is_undo: bool = False


@dataclass(frozen=True)
class PhraseView:
    """A phrase (characters start:end) and how much s drops when it is replaced by nonsense words,
    with the spread over these words; None, None if it could not be tested.
    `suspect_yet_supported`: it contains a suspect word, but matters more than the average phrase
    of its kind: the scorer is unsure about that word."""

    start: int
    end: int
    kind: str
    pas: float | None
    spread: float | None
    suspect_yet_supported: bool = False


@dataclass(frozen=True)
class Likeness:
    """How many pairs (including this one) share its most suspect word, and how many have a suspect
    word of the same kind; counts are capped at 1000."""

    word: str | None
    kind: str | None
    same_word: int
    same_kind: int


@dataclass(frozen=True)
class ClaimView(MeasuredRecord):
    """One claim of a caption that has several: the characters `start` to `end`. `numbers`: of the
    measures that claims have. `words_read`: as many of its words have been read by the model, None:
    nothing has been scored. `can_be_wrong`: it is not vague, opens no list and repeats no other."""

    start: int
    end: int
    kind: str
    repeats: bool
    is_vague: bool
    can_be_wrong: bool
    words_read: int | None = None
    #: What a curator says of it; None: nothing.
    is_right: bool | None = None
    #: It is not in the text that the pair has now.
    is_gone: bool = False
    #: See `engine.claims.claim.Claim`.
    subject: str = ""


@dataclass(frozen=True)
class ClaimsFound:
    """What captions consist of by their form: of `sampled` captions, chosen at random from `pairs`
    or, if there are no more, all of them, `several` have several sentences and `lists` are lists of
    tags, with so many sentences or tags each, on average. `division`: how they were divided when
    the dataset was scored; "": it was not, or before there were claims; `constants`: what
    that found in most captions, in words."""

    pairs: int
    sampled: int
    several: int
    sentences_each: float
    lists: int
    tags_each: float
    division: str = ""
    constants: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConstantView:
    """A part that stands in `captions` of `of` captions, or of those by `writer`. `is_left_out`:
    whether models will not read it when the dataset is scored again; `was_left_out`: did not when
    it was scored last; `is_stated`: whether a person said so."""

    text: str
    place: str
    captions: int
    of: int
    writer: str
    count: str
    is_stated: bool
    was_left_out: bool
    is_left_out: bool


@dataclass(frozen=True)
class PictureOfPair:
    """`path`: its address, with its proof (see `datasets/safe_files/containers.py`); `size`: in
    pixels, None if it cannot be shown, and `problem` says why. `captions`: all of this picture,
    that of the pair among them, in import order; `contradictions`: its words that contradict the
    others."""

    path: str
    name: str
    size: tuple[int, int] | None
    problem: str = ""
    captions: tuple[CaptionRow, ...] = ()
    contradictions: tuple[UnanchoredWord, ...] = ()
    #: The languages of those captions that the model does not read, by pair id.
    unread: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class VerdictOfPair:
    """The verdict in effect, and what was before it. `enriches`: the caption was correct, and says
    more now; `note`: "" without one."""

    version: int
    decision: str | None
    corrected_caption: str | None
    enriches: bool = False
    note: str = ""
    history: tuple[VerdictView, ...] = ()


@dataclass(frozen=True)
class ModelOpinion:
    """What the model says of the caption, and what is known of the model.

    `basis` of p_error: "injected noise", "12 verdicts and injected noise", "not scored yet";
    `reasons`: why p_error is what it is, None if the classifier cannot say. `scored_by`: the scorer
    that produced s, e.g. "blip-itm · scenes-blip-itm"; `limits`: a warning about it, "" if there is
    none. `better_picture`: of a caption that is likely wrong, whose picture it fits better."""

    basis: str
    scored_by: str
    limits: str
    suspects: tuple[SuspectWord, ...]
    trajectory: Trajectory | None
    reasons: Reasons | None = None
    looks_abstract: bool = False
    truncated: bool = False
    words_read: int | None = None
    likeness: Likeness | None = None
    better_picture: BetterPicture | None = None


@dataclass(frozen=True)
class Suggestions:
    """What a curator can accept or ask for. `enrichments`: richer captions, where the caption is
    correct but could say more. `may_ask`: the vision-language model available for correcting this
    pair, "" for none; `may_enrich`: whether it may be asked for richer captions."""

    corrections: tuple[SuggestionView, ...] = ()
    enrichments: tuple[SuggestionView, ...] = ()
    may_ask: str = ""
    may_enrich: bool = False


@dataclass(frozen=True)
class PhraseSupport:
    """`phrases`: in caption order, with the support of the image for each; None if not measured.
    `note`: a caveat about these numbers, "" if there is none."""

    phrases: tuple[PhraseView, ...] | None = None
    note: str = ""


@dataclass(frozen=True)
class Writers:
    """Who or what wrote the caption and what it has become; None: nobody says, or there is none."""

    original: Writer | None = None
    corrected: Writer | None = None


@dataclass(frozen=True)
class PairView(MeasuredRecord):
    """Everything about one pair that a curator sees. `numbers`: by the names of `MEASURES`."""

    pair_id: int
    dataset_id: int
    external_id: str
    caption: str
    split: str | None
    picture: PictureOfPair
    verdict: VerdictOfPair
    opinion: ModelOpinion
    suggestions: Suggestions = Suggestions()
    support: PhraseSupport = PhraseSupport()
    writers: Writers = Writers()
    #: The model was told to score pictures of a kind that it does not know.
    is_unfamiliar: bool = False
    #: The languages that the model reads; empty: nobody says.
    languages_read: frozenset[str] = frozenset()
    #: The language that the caption seems to be in and the model does not read; "": none.
    unread_language: str = ""
    #: Character ranges (start, end) of the words that a curator marked as wrong.
    wrong_words: tuple[tuple[int, int], ...] = ()
    #: People's own words on the pair.
    tags: tuple[str, ...] = ()
    #: The dataset's guidelines for curators, in Markdown; "": none.
    guidelines: str = ""
    #: The claims of a caption that has several, in order. The trajectory, the reasons and the
    #: suggestions belong to the selected one, the suspects to all.
    claims: tuple[ClaimView, ...] = ()
    #: Which of them is selected.
    selected: int = 0
    #: (start, end, in how many captions) of the constant parts that models did not read.
    constants: tuple[tuple[int, int, str], ...] = ()
    #: What features and packages say of it, by the names of their parts; of one that fails, its
    #: error (`review.pair_parts`).
    parts: Mapping[str, object] = field(default_factory=dict)

    @property
    def claim(self) -> ClaimView | None:
        """The selected claim; None: the caption is one claim."""
        return self.claims[self.selected] if self.claims else None

    @property
    def is_beyond_model(self) -> bool:
        """Whether the model does not know such pictures or does not read the caption's language:
        its chances of error are no figures, and it accuses no word."""
        return self.is_unfamiliar or bool(self.unread_language)

    @property
    def helpful_suggestions(self) -> tuple[SuggestionView, ...]:
        """Those that are likely to help, the best first, and answers that were asked for; where the
        pair is beyond the model these alone."""
        is_judged = not self.is_beyond_model
        return tuple(
            each
            for each in self.suggestions.corrections
            if (each.is_offer and is_judged) or each.is_asked
        )

    @property
    def name(self) -> str:
        """See `pair_name`."""
        return pair_name(self.external_id, self.picture.path, self.caption)

    @property
    def fingerprint(self) -> str:
        """See `fingerprint_of`."""
        return fingerprint_of(self.external_id, self.caption, self.picture.path)


def fingerprint_of(external_id: str, caption: str, image_path: str) -> str:
    """Distinguishes a pair from any other that might reuse its id, and from itself with another
    caption or picture: a verdict that arrives late applies to what its curator saw, or to none."""
    text = f"{external_id}\0{caption}\0{picture_key(image_path)}"
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class SuspectsHit:
    """On pairs whose wrong words a curator has marked: how often the most suspect word is one of
    them, and how often a random word would be."""

    pairs: int
    top1: float
    chance: float


@dataclass(frozen=True)
class Retraining:
    """A classifier and its AUC on the verdicts at training time, with that of its predecessor."""

    name: str
    created_at: datetime
    active: bool
    auc_before: float | None
    auc_after: float | None


@dataclass(frozen=True)
class ProgressView:
    """How far a review has come. `pace`: (curator, day, verdicts); `left`: the errors among the
    pairs without a verdict; `left_by_decided`: (pairs decided, errors left then) along the way, as
    far as is known now, () if it is not; `notices`: what else there is to say of the dataset."""

    total: int
    reviewed: int
    errors_found: int
    by_decision: dict[str, int]
    pace: tuple[tuple[str, str, int], ...]
    precision_of_flagged: float | None
    flagged: int
    left: ErrorsLeft
    left_by_decided: tuple[tuple[int, float], ...]
    calibration: tuple[CalibrationBin, ...]
    retrainings: tuple[Retraining, ...]
    suspects_hit: SuspectsHit | None = None
    expected: tuple["ExpectedErrors", ...] = ()
    whole: "SampledDataset | None" = None
    notices: tuple[Sentence, ...] = ()


@dataclass(frozen=True)
class SampledDataset:
    """The `pairs` at `source` that a dataset is a random sample of; `remaining`: the errors among
    them that no verdict has found, None until enough of the sample is decided."""

    source: str
    pairs: int
    remaining: Remaining | None


@dataclass(frozen=True)
class ExpectedErrors:
    """`errors` that the model expects among the scored pairs of a split (`name`; "" without one)
    before the first verdict. `tenths`: pairs by tenth of the chance of error."""

    name: str
    pairs: int
    errors: float
    tenths: tuple[int, ...]


@dataclass(frozen=True)
class EditedCaption:
    pair_id: int
    external_id: str
    before: str
    after: str


@dataclass(frozen=True)
class EditView:
    """Effect of a bulk edit on `looked_at` pairs: `changed` get a new text,
    `unchanged` do not; `left_alone`: decided drop, abstract or unsure; `refused`: the text would be
    empty, or the same caption that a person has called wrong; `passed_over`: another curator was
    faster. `examples`: the first ones that change. `unjudged`: those on which the curator owes an
    opinion of their own first, without that of others."""

    dataset_id: int
    looked_at: int
    changed: int
    unchanged: int
    left_alone: int
    refused: int
    passed_over: int
    examples: tuple[EditedCaption, ...]
    unjudged: int = 0


@dataclass(frozen=True)
class CaptionCheck:
    """Scores of the curator's own edit."""

    caption: str
    s: float
    p_error: float | None
    icc: float
    suspects: tuple[SuspectWord, ...] = ()
    #: As in `PairView`.
    unread_language: str = ""


def _worth_naming(caption: str, doubts: Sequence[str]) -> tuple[str, ...]:
    """Without the words with which the caption opens and says nothing: “a picture of”."""
    opening = opening_of([word.lower() for word in Caption.parse(caption).words])
    return tuple(word for word in doubts if word.lower() not in opening)


def suggestion_view(
    caption: str,
    suggestion: Suggestion | SuggestionRow,
    identity: int,
    chance: float | None,
    provenance: Any = None,
    is_offer: bool = True,
    doubts: Sequence[str] = (),
) -> SuggestionView:
    """`identity`: the id by which the page refers to it; `chance`: that it is wrong."""
    facts = provenance or {}
    ranks, icc = facts.get("ranks"), facts.get("icc")
    return SuggestionView(
        identity, suggestion.caption, suggestion.proposer, suggestion.s_before,
        suggestion.s_after, suggestion.p_before, chance,
        words_changed(Caption.parse(caption), suggestion.caption), suggestion.similarity,
        tuple((str(word), str(view), bool(wrong)) for word, view, wrong in facts.get("steps", ())),
        (int(ranks[0]), int(ranks[1]), int(ranks[2])) if ranks else None,
        tuple(str(why) for _, _, why in facts.get("struck", ())),
        (float(icc[0]), float(icc[1])) if icc else None,
        tuple(str(text) for text in facts.get("notes", ())), is_offer,
        _worth_naming(suggestion.caption, doubts), "model" in facts,
    )  # fmt: skip
