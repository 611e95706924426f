"""What the API answers. Scores that were not measured are null."""

import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import astuple, replace
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
    create_model,
)

from backend.engine.detection.types import SuspectWord
from backend.errors import SettingsError
from backend.jobs.job_view import JobView
from backend.measures import MEASURES, Measure, filter_names
from backend.review.pair_parts import PairPart, load_pair_parts
from backend.review.views import PairView, fingerprint_of
from backend.workspace import Cursor, QueuePage
from backend.workspace import QueueRow as StoredRow

log = logging.getLogger(f"traced.{__name__}")


class Record(BaseModel):
    """Reads its fields from our dataclasses. `alias`: the field's name there."""

    model_config = ConfigDict(from_attributes=True)


class Dataset(Record):
    id: int
    name: str
    pairs: int = Field(validation_alias="total")
    scored: int
    reviewed: int
    errors_found: int = Field(description="Captions found wrong so far.")


class Constant(Record):
    """What stands in most captions and says nothing about a picture."""

    text: str
    place: str = Field(description="begin, end or anywhere.")
    captions: int
    of: int = Field(description="Captions of the dataset, or of this writer.")
    writer: str
    is_stated: bool
    was_left_out: bool = Field(description="When the dataset was scored last.")
    is_left_out: bool = Field(description="From the next scoring on.")


class ErrorsRemaining(Record):
    about: float = Field(validation_alias="errors")
    low: float
    high: float


class Progress(Record):
    pairs: int = Field(validation_alias="total")
    reviewed: int
    errors_found: int
    precision_of_flagged: float | None
    errors_remaining: ErrorsRemaining | None = Field(
        validation_alias=AliasPath("left", "estimate"),
        description="With a 95 % interval; null until enough pairs were decided in random order.",
    )
    errors_left: str = Field(
        validation_alias=AliasPath("left", "figure"),
        description="As the pages say it: also what the model alone expects, if it knows the "
        "pictures.",
    )
    errors_left_by: str = Field(
        validation_alias=AliasPath("left", "basis"), description="What that rests on."
    )


def _number(measure: Measure) -> Any:
    return (float | None, Field(None, title=measure.title, description=measure.explanation))


def _required_field(name: str) -> Any:
    measure = MEASURES[name]
    return Field(title=measure.title, description=measure.explanation)


#: A field for each measure that people filter by.
Numbers: Any = create_model(
    "Numbers", __base__=Record, **{name: _number(MEASURES[name]) for name in filter_names()}
)


class ScoredPair(Numbers):
    """A pair's identity, its scores and the verdict on it."""

    id: int = Field(validation_alias="pair_id")
    external_id: str
    caption: str
    etag: str = Field(description="Names what a verdict is based on: version, caption, picture.")
    verdict: str | None = Field(validation_alias="decision")
    corrected_caption: str | None
    enriches: bool = Field(description="Whether the verdict enriches a caption that was right.")
    note: str


class QueueRow(ScoredPair):
    sampling: str = Field(
        description="How it comes to be here; pass it on with the verdict. random: drawn at random."
    )

    @classmethod
    def of(cls, row: StoredRow, sampling: str = "") -> Self:
        fingerprint = fingerprint_of(row.external_id, row.caption, row.image_path)
        etag = etag_of(row.verdict_version, fingerprint)
        return cls.model_validate({**vars(row), **row.numbers, "etag": etag, "sampling": sampling})


class Page(Record):
    pairs: list[QueueRow]
    next: str | None = Field(description="Pass it as `after`; null on the last page.")

    @classmethod
    def of(cls, page: QueuePage, sampling: Callable[[int], str]) -> Self:
        """`sampling`: how a pair comes to be shown."""
        place = page.next_cursor
        rows = [QueueRow.of(row, sampling(row.pair_id)) for row in page.rows]
        return cls(pairs=rows, next=json.dumps(astuple(place)) if place else None)


class Suspect(Record):
    word: str
    start: int
    end: int
    suspicion: float = Field(description="0 to 1.")


class Phrase(Record):
    phrase: str
    start: int
    end: int
    kind: str
    pas: float | None = Field(description="How much s falls when the phrase is made meaningless.")
    spread: float | None


class Step(Record):
    step: int
    s: float
    c: float
    caption: str


class Suggestion(Record):
    id: int
    caption: str
    made_by: str = Field(validation_alias="proposer")
    s_before: float
    s_after: float
    p_before: float | None
    p_after: float | None
    words_changed: int
    similarity: float | None


class Writer(Record):
    name: str
    kind: str = Field(description="person, model, or empty.")
    prompt: str
    date: str


class PictureCaption(Record):
    pair: int = Field(validation_alias="pair_id")
    caption: str
    corrected_caption: str | None
    p_error: float | None
    decision: str | None
    caption_field: str | None = Field(description="Which of several kinds of captions it is.")


class BetterPicture(Record):
    """The pair whose picture a caption fits better than its own."""

    pair: int = Field(validation_alias="pair_id")
    external_id: str
    own_likeness: float = Field(description="Cosine of the caption to its own picture.")
    likeness: float = Field(description="The same to that one.")


class Claim(Record):
    """A claim of a caption that has several."""

    start: int = Field(description="Its first character in the caption.")
    end: int = Field(description="The character behind its last.")
    text: str
    p_error: float | None = _required_field("p_error")
    s_0: float | None = _required_field("s_0")
    icc: float | None = _required_field("icc")
    is_vague: bool
    repeats: bool = Field(description="Whether it says again what an earlier claim says.")
    is_right: bool | None = Field(description="What a curator says of it; null: nothing.")
    is_gone: bool = Field(description="Whether the corrected caption is without it.")


#: What features and packages add beside a pair, as far as programs may read it.
_PARTS = tuple(part for part in load_pair_parts() if part.api is not None)
_FIELDS: dict[str, Any] = {part.name: (part.api | None, ...) for part in _PARTS}
_PairWithParts: Any = create_model("PairWithParts", __base__=ScoredPair, **_FIELDS)


def _read_by(part: PairPart, view: PairView) -> BaseModel | None:
    """The record of the part; None where there is none, or it is not as its model says."""
    record = view.parts.get(part.name)
    if record is None or part.api is None or isinstance(record, Exception):
        return None
    try:
        return part.api.model_validate(record, from_attributes=True)
    except Exception:  # of whatever its author wrote
        log.exception("the part '%s' of pair %d cannot be told", part.name, view.pair_id)
        return None


class Pair(_PairWithParts):
    picture: str = Field(description="Its address, from this server's page.")
    guidelines: str = Field(description="Of the dataset, in Markdown.")
    tags: list[str] = Field(description="People's own words on the pair.")
    captions_of_picture: list[PictureCaption] = Field(description="Also of other pairs.")
    suspects: list[Suspect]
    claims: list[Claim] = Field(description="Of a caption that has several.")
    trajectory: list[Step] = Field(description="Of its most suspicious claim, or another.")
    phrases: list[Phrase] | None
    suggestions: list[Suggestion] = Field(validation_alias="helpful_suggestions")
    enrichments: list[Suggestion]
    better_picture: BetterPicture | None = Field(description="Whose caption it may be.")
    writer: Writer | None = Field(description="Who or what wrote the caption.")
    new_writer: Writer | None = Field(description="The same of what it has become.")
    sampling: str = Field("", description="How it was chosen, for its verdict; see `next`.")

    @classmethod
    def of(cls, view: PairView) -> Self:
        caption, trajectory = view.caption, view.opinion.trajectory
        return cls.model_validate(
            vars(view.verdict)
            | dict(view.numbers)
            | {part.name: _read_by(part, view) for part in _PARTS}
            | {
                "pair_id": view.pair_id,
                "external_id": view.external_id,
                "caption": caption,
                "guidelines": view.guidelines,
                "tags": view.tags,
                "better_picture": view.opinion.better_picture,
                "helpful_suggestions": view.helpful_suggestions,
                "enrichments": view.suggestions.enrichments,
                "captions_of_picture": view.picture.captions,
                "writer": view.writers.original,
                "new_writer": view.writers.corrected,
                "etag": etag_of(view.verdict.version, view.fingerprint),
                "picture": f"pictures/{view.pair_id}",
                "suspects": suspects_of(caption, view.opinion.suspects),
                "claims": [
                    {**vars(claim), **claim.numbers, "text": caption[claim.start : claim.end]}
                    for claim in view.claims
                ],
                "phrases": view.support.phrases
                and [vars(p) | {"phrase": caption[p.start : p.end]} for p in view.support.phrases],
                "trajectory": [
                    Step(
                        step=step,
                        s=float(trajectory.scores[step]),
                        c=float(trajectory.similarities[step]),
                        caption=trajectory.caption_at(step),
                    )
                    for step in range(trajectory.steps + 1)
                ]
                if trajectory
                else [],
            }
        )


class CaptionScore(Record):
    s: float
    p_error: float | None
    icc: float
    suspects: list[Suspect]


class Verdict(Record):
    """The verdict in effect on a pair, and what the next one is based on. null: undecided."""

    id: int = Field(validation_alias="pair_id")
    etag: str
    verdict: str | None = Field(validation_alias="decision")
    enriches: bool
    corrected_caption: str | None
    note: str


class JobStep(Record):
    """How far a job is: `share` of all of it, 0 to 1, and its seconds left; null: unknown."""

    stage: str
    share: float | None
    per_second: float
    seconds_left: float | None


class Job(Record):
    """`message`: what it does now, or how it ended."""

    id: int
    kind: str
    subject: str
    dataset: int | None = Field(validation_alias="dataset_id")
    status: Literal["queued", "running", "done", "failed", "cancelled"]
    done: int
    total: int
    step: JobStep
    message: str
    result: dict[str, Any]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, view: JobView) -> "Job":
        words = " · ".join(filter(None, (view.step.stage, view.step.facts)))
        return cls.model_validate(view if view.has_ended else replace(view, message=words))


def suspects_of(caption: str, suspects: Iterable[SuspectWord]) -> list[Suspect]:
    return [
        Suspect(word=caption[s.start : s.end], start=s.start, end=s.end, suspicion=s.score)
        for s in suspects
    ]


def cursor_of(after: str, order: str) -> Cursor | None:
    """The place after a page of a queue in this order, from its `next`; None for the first page.
    Raises SettingsError."""
    if not after:
        return None
    try:
        place = Cursor(*_PLACE.validate_json(after, strict=True))
    except ValidationError:
        place = None
    if place is None or not place.is_in(order):
        raise SettingsError(
            "'after' is not a queue position: pass the 'next' of the previous page."
        )
    return place


def etag_parts(etag: str) -> tuple[int, str]:
    """The version and the fingerprint that an entity tag names. Raises SettingsError."""
    match = re.fullmatch(r'(?:W/)?"?(\d{1,9})-([0-9a-f]{16})"?', etag.strip())
    if match is None:
        raise SettingsError("This is not the 'etag' of a pair: pass that of the pair you judged.")
    return int(match[1]), match[2]


def matched_etag(if_match: str, current: str) -> str:
    """The tag that an `If-Match` names: that of the pair if it is `*` or a list that has it, else
    the first. `current`: the pair's. Raises SettingsError for what is no tag.

    >>> matched_etag('"1-00000000000000aa", "2-00000000000000bb"', "2-00000000000000bb")
    '2-00000000000000bb'
    """
    if if_match.strip() == "*":
        return current
    tags = ["{}-{}".format(*etag_parts(tag)) for tag in if_match.split(",")]
    return current if current in tags else tags[0]


def etag_of(version: int, fingerprint: str) -> str:
    """See `Scored.etag`."""
    return f"{version}-{fingerprint}"


#: A place in an order: the value there, and the pair.
_Id = Annotated[int, Field(ge=0, lt=2**31)]
_PLACE = TypeAdapter(tuple[bool | FiniteFloat | str | None, _Id])
