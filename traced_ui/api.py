"""What programs can do: the functions behind `/api/v1`.

    import httpx

    api = httpx.Client(base_url="http://127.0.0.1:7860/api/v1/")
    for pair in api.get("datasets/1/queue", params={"limit": 10}).json()["pairs"]:
        if pair["p_error"] > 0.95:
            api.put(f"pairs/{pair['id']}/verdict", json={"verdict": "drop"},
                    headers={"If-Match": pair["etag"]})

Each function takes who calls, and plain values; the docstrings are shown to programs and to
language models.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import fastapi
from fastapi import Body, Depends, Header, Query
from fastapi.responses import HTMLResponse, Response
from pydantic import AfterValidator, Field, create_model
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from backend import plugins
from backend.datasets.cells import text_problem, trim
from backend.errors import PairChanged, SettingsError
from backend.operations.export import ExportOptions
from backend.operations.import_ import ImportOptions
from backend.operations.registry import OPERATIONS
from backend.options import Options
from backend.review.charts import progress_of
from backend.review.queue import MIXED_EVERY, sampling_of
from backend.review.queue_form import START, clean_fields, from_fields, given_fields
from backend.version import VERSION
from backend.workspace import QueueFilter, VerdictRow, Workspace
from traced_ui.api_records import (
    CaptionScore,
    Constant,
    Dataset,
    Job,
    Page,
    Pair,
    Progress,
    Suggestion,
    Verdict,
    cursor_of,
    etag_of,
    etag_parts,
    matched_etag,
    suspects_of,
)
from traced_ui.login import curator_of, is_reader, seen_by
from traced_ui.problems import explain_problems
from traced_ui.templates import render_page

MOST = 200


@dataclass(frozen=True)
class Caller:
    """The workspace as the caller sees it, and their account (None: login is disabled)."""

    workspace: Workspace
    name: str | None = None
    may_write: bool = True

    def find(self, dataset: int) -> int:
        """The id of a dataset. Raises NotFound if there is none."""
        self.workspace.guidelines(dataset)
        return dataset

    @property
    def author(self) -> str:
        return self.name or self.workspace.settings.author


def caller_of(workspace: Workspace, connection: HTTPConnection) -> Caller:
    visible_workspace = seen_by(workspace, connection)
    return Caller(visible_workspace, curator_of(connection), not is_reader(connection))


def _is_storable(text: str) -> str:
    """Raises ValueError for text that a database cannot hold."""
    if reason := text_problem(text):
        raise ValueError(reason)
    return text


async def _caller(request: fastapi.Request) -> Caller:
    return caller_of(request.app.state.workspace, request)


async def _writing(caller: Annotated[Caller, Depends(_caller)]) -> Caller:
    if not caller.may_write:
        raise HTTPException(HTTPStatus.FORBIDDEN, "This key may only read: its scope is 'read'.")
    return caller


Reader = Annotated[Caller, Depends(_caller)]
Writer = Annotated[Caller, Depends(_writing)]
#: Every database can store such an id.
Id = Annotated[int, Field(ge=0, lt=2**31)]
Text = Annotated[str, AfterValidator(_is_storable)]


def datasets(caller: Reader) -> list[Dataset]:
    """All datasets with their counts."""
    return [Dataset.model_validate(summary) for summary in caller.workspace.datasets()]


def progress(caller: Reader, dataset: Id) -> Progress:
    """The review progress of a dataset, with an estimate of its remaining errors."""
    return Progress.model_validate(progress_of(caller.workspace.store, caller.find(dataset)))


def queue(
    caller: Reader,
    dataset: Id,
    review: Text = "unreviewed",
    order: Text = "p_error",
    text: Text = "",
    meaning: Text = "",
    limit: Annotated[int, Field(ge=1)] = 20,
    after: Text = "",
    filters: Text = "",
    mixed: bool = False,
) -> Page:
    """A page of the review queue, by default the captions most likely to be wrong first.

    Args:
        dataset: The dataset's id.
        review: 'unreviewed' (undecided), 'decided', 'disputed' or 'all'.
        order: A number of a pair such as p_error or s_0, or uncertainty, random, position, picture,
            external_id, caption, split, decision, note, tag, or a column of the source, as
            extra:width; with a - before it the other way round.
        text: Only captions that contain these words.
        meaning: Only captions similar in meaning to this text, nearest first.
        limit: Maximum number of pairs, at most 200.
        after: The `next` of the previous page; empty for the first page.
        filters: More filters as in the address of a queue, for example note=blurry&split=val;
            they override the arguments above. Groups: where=(split = val or tag = todo) and not
            p_error >= 0.5.
        mixed: Mix in one pair in ten that is drawn at random, as on the page: from these a
            detector learns the most. Their `sampling` says so. They come again in their own place.
    """
    fields = {**START, "review": review, "order": order, "text": text, "meaning": meaning}
    fields = clean_fields({**fields, **given_fields(filters)})
    filter = caller.workspace.review.filter_of(caller.find(dataset), fields)
    filter = replace(filter, reader=caller.name)
    place = cursor_of(after, filter.order)
    review_queue = caller.workspace.review
    page = review_queue.queue_page(filter, place, max(1, min(limit, MOST)))
    at_random: set[int] = set()
    if mixed:
        before = place.pair_id if place is not None else None
        rows, at_random = review_queue.mix_random(filter, page.rows, before)
        page = replace(page, rows=rows)
    return Page.of(page, lambda pair_id: sampling_of(filter, pair_id, at_random))


def hold_next(caller: Writer, dataset: Id, order: Text = "p_error") -> Pair | None:
    """The next pair to judge, by default the one most likely to be wrong; null if none is left.

    One in ten is drawn at random: from these a detector learns the most. Its `sampling` says so;
    pass it on with the verdict. If login is enabled, it is held for you for ten minutes, or
    until you have judged it.

    Args:
        dataset: The dataset's id.
        order: As for `queue`.
    """
    fields = clean_fields({**START, "order": order})
    filter = replace(from_fields(caller.find(dataset), fields), reader=caller.name)
    review = caller.workspace.review
    is_due = review.counts(filter.dataset_id).reviewed % MIXED_EVERY == MIXED_EVERY - 1
    if is_due and review.is_mixable(filter):
        filter = replace(filter, order="random", descending=False)
    pair_id = (
        caller.workspace.accounts.hold_first(filter, caller.name)
        if caller.name is not None
        else review.first_pair(filter)
    )
    if pair_id is None:
        return None
    return open_pair(caller, pair_id).model_copy(update={"sampling": sampling_of(filter, pair_id)})


def open_pair(caller: Reader, pair: Id, claim: Id | None = None) -> Pair:
    """Everything about one pair: scores, suspect words, trajectory, phrases, suggestions, verdict.

    Args:
        pair: The pair's id, as in the queue.
        claim: Of a caption that has several claims, the `start` of the one whose suspect words and
            trajectory are wanted; by default the most suspicious one.
    """
    return Pair.of(caller.workspace.review.open_pair(pair, claim))


def decide(
    caller: Writer,
    pair: Id,
    etag: Text,
    verdict: Text,
    corrected_caption: Text = "",
    suggestion: Id = 0,
    note: Text = "",
    sampling: Text = "",
) -> Verdict:
    """Give a verdict on a pair. It is saved when this returns.

    If another curator has decided the pair since then, or its caption or picture changed, nothing
    is written and an error is returned.

    Args:
        pair: The pair's id.
        etag: The `etag` of the pair that the verdict is based on.
        verdict: 'correct' (right), 'drop' (removed), 'correction' (corrected), 'wrong', 'abstract'
            (vague) or 'unsure' (not sure).
        corrected_caption: The new caption of a correction.
        suggestion: Alternatively, the id of one of the pair's suggestions or enrichments. With an
            enrichment, *correction* means that the caption was right and now says more.
        note: The reason, or what remains to be done; stored with the verdict and exported.
        sampling: How the pair was chosen, as the queue says: random (drawn at random, not by its
            score), queue or filter. A detector learns the most from random ones.
    """
    version, fingerprint = etag_parts(etag)
    if corrected_caption and verdict != "correction":
        raise SettingsError("A corrected caption needs the verdict 'correction'.")
    act = caller.workspace.review.decide(
        pair, version, verdict, corrected_caption or None, suggestion or None,
        author=caller.author, note=note, fingerprint=fingerprint, sampling=sampling,
    )  # fmt: skip
    _release(caller, pair)
    return _verdict(act, fingerprint)


def _release(caller: Writer, pair: int) -> None:
    """Give a pair back that `hold_next` holds."""
    if caller.name is not None:
        caller.workspace.accounts.release(pair, caller.name)


def judge_claim(
    caller: Writer, pair: Id, claim: Id, etag: Text, judgement: Text, sampling: Text = ""
) -> Verdict:
    """Judge one claim of a caption that has several. It is saved when this returns.

    One wrong claim makes the caption wrong; right ones decide nothing. If the pair was decided,
    changed or divided into other claims since then, nothing is written and an error is returned.

    Args:
        pair: The pair's id.
        claim: The `start` of one of the pair's `claims`.
        etag: The `etag` of the pair that the judgement is based on.
        judgement: right, wrong, undecided (takes that back), or left out (corrects the caption:
            the claim goes with its separator, all else stays as it is).
        sampling: As for `decide`.
    """
    if judgement not in _JUDGEMENTS:
        raise SettingsError(
            f"'{judgement}' is no judgement on a claim; use one of {', '.join(_JUDGEMENTS)}."
        )
    version, fingerprint = etag_parts(etag)
    review = caller.workspace.review
    end = next((c.end for c in review.open_pair(pair).claims if c.start == claim), None)
    if end is None:
        raise PairChanged(f"No claim of the caption starts at {claim}.")
    span = (claim, end)
    if judgement == "left out":
        verdict = review.remove_claim(
            pair, version, span, caller.author, fingerprint=fingerprint, sampling=sampling
        )
        _release(caller, pair)
    else:
        verdict = review.label_claim(
            pair, version, span, _JUDGEMENTS[judgement], caller.author,
            fingerprint=fingerprint, sampling=sampling,
        )  # fmt: skip
    return _verdict(verdict, fingerprint)


#: What can be said of a claim: whether it is right.
_JUDGEMENTS = {"right": True, "wrong": False, "undecided": None, "left out": None}


RequestId = Annotated[str | None, Field(min_length=1, max_length=32)]


def undo(caller: Writer, dataset: Id, request_id: RequestId = None) -> Verdict | None:
    """Undo your latest verdict in a dataset; null if there was nothing to undo.

    Args:
        dataset: The dataset's id.
        request_id: A name that you give this request: sent again, it undoes nothing more.
    """
    review, dataset_id = caller.workspace.review, caller.find(dataset)
    return _moved_verdict(caller, review.undo(dataset_id, caller.author, request_id))


def redo(caller: Writer, dataset: Id, request_id: RequestId = None) -> Verdict | None:
    """Redo the verdict that you undid last; null if there was nothing to redo.

    Args:
        dataset: The dataset's id.
        request_id: A name that you give this request: sent again, it redoes nothing more.
    """
    review, dataset_id = caller.workspace.review, caller.find(dataset)
    return _moved_verdict(caller, review.redo(dataset_id, caller.author, request_id))


def suggest(caller: Writer, pair: Id, claim: Id | None = None) -> list[Suggestion]:
    """Suggested corrections for a pair, best first; computed now if there are none yet.

    Args:
        pair: The pair's id.
        claim: The `start` of the claim to correct, by default the most suspicious one.
    """
    suggestions = caller.workspace.review.suggest(pair, claim)
    return [Suggestion.model_validate(suggestion) for suggestion in suggestions]


def check(caller: Reader, pair: Id, caption: Annotated[Text, Body(embed=True)]) -> CaptionScore:
    """Score another caption for a pair's image, without saving anything."""
    result = caller.workspace.review.check_caption(pair, caption)
    suspects = suspects_of(caption, result.suspects)
    return CaptionScore(s=result.s, p_error=result.p_error, icc=result.icc, suspects=suspects)


def similar(caller: Reader, pair: Id, way: Text = "image") -> list[int]:
    """Pairs similar to this one, nearest first, starting with the pair itself.

    Args:
        pair: The pair's id.
        way: image (similar pictures), caption (similar captions), or another kind of likeness, as
            in a queue's `like`: the answer to a wrong one names them.
    """
    view = caller.workspace.review.open_pair(pair)
    pair_ids = caller.workspace.review.search(view.dataset_id, like=f"{way}:{view.pair_id}")
    return list(pair_ids or ())


class VerdictBody(Options):
    """See `decide` for the fields."""

    verdict: Text
    corrected_caption: Text = ""
    suggestion: Id = 0
    note: Text = ""
    sampling: Text = ""


class ClaimBody(Options):
    """See `judge_claim` for the fields."""

    judgement: Text
    sampling: Text = ""


class TagBody(Options):
    """`pairs`: their ids; `remove`: take the tag from them."""

    name: Text
    pairs: list[Id] = Field(min_length=1, max_length=1000)
    remove: bool = False


class ConstantBody(Options):
    """`text`: of the part; `is_left_out`: whether models do not read it."""

    text: Text
    is_left_out: bool


class TagRenameBody(Options):
    name: Text
    new: Text


#: The options of an operation that is started by its name, which is the `kind`.
_JOBS = tuple(
    create_model(
        f"{name.capitalize()}Job", __base__=operation.options, __doc__=operation.options.__doc__,
        kind=(Literal[name], ...),  # pyrefly: ignore
    )
    for name, operation in OPERATIONS.items()
    if operation.is_started_by_kind
)  # fmt: skip
if TYPE_CHECKING:
    JobBody = Options
else:
    JobBody = Annotated[Union[_JOBS], Field(discriminator="kind")]  # noqa: UP007


def put_verdict(
    caller: Writer,
    pair: Id,
    body: VerdictBody,
    response: Response,
    if_match: Annotated[Text | None, Header(description="The pair's `etag`.")] = None,
) -> Verdict:
    """Give a verdict on the pair named by `If-Match`: 412 if it is not that one any more."""
    verdict = decide(caller, pair, _etag(caller, pair, if_match), **body.model_dump())
    response.headers["ETag"] = f'"{verdict.etag}"'
    return verdict


def put_claim(
    caller: Writer,
    pair: Id,
    claim: Id,
    body: ClaimBody,
    response: Response,
    if_match: Annotated[Text | None, Header(description="The pair's `etag`.")] = None,
) -> Verdict:
    """Judge a claim, by its `start`, of the pair named by `If-Match`: right, wrong, undecided or
    left out; 412 if the pair is not that one any more."""
    etag = _etag(caller, pair, if_match)
    verdict = judge_claim(caller, pair, claim, etag, **body.model_dump())
    response.headers["ETag"] = f'"{verdict.etag}"'
    return verdict


def _etag(caller: Caller, pair: int, if_match: str | None) -> str:
    """The tag that the request is based on. Raises HTTPException if it names none."""
    if if_match is None:
        raise HTTPException(
            HTTPStatus.PRECONDITION_REQUIRED, "Send If-Match with the etag of the pair you judged."
        )
    # `*` and lists, as HTTP has them, need the tag that the pair has now.
    if "*" in if_match or "," in if_match:
        return matched_etag(if_match, open_pair(caller, pair).etag)
    return if_match


def get_pair(caller: Reader, pair: Id, response: Response, claim: Id | None = None) -> Pair:
    """Everything about one pair; its `ETag` is what a verdict is based on. `claim`: the `start` of
    the claim whose trajectory is wanted, by default the most suspicious one."""
    whole = open_pair(caller, pair, claim)
    response.headers["ETag"] = f'"{whole.etag}"'
    return whole


def tags(caller: Reader, dataset: Id) -> dict[str, int]:
    """The tags of a dataset with their numbers of pairs."""
    return caller.workspace.review.tags(caller.find(dataset))


def notice(caller: Reader, dataset: Id, notice: Text) -> dict[str, Any]:
    """What was found in a dataset as a whole, by the name of its page, such as `rows`: captions
    that stand beside the pictures of other rows. 404 for a name that says nothing."""
    return caller.workspace.review.details_of(caller.find(dataset), notice)


def tag(caller: Writer, dataset: Id, body: TagBody) -> list[int]:
    """Tag pairs, or take the tag from them; the pairs that have changed."""
    among = QueueFilter(caller.find(dataset), among=tuple(body.pairs))
    rows = caller.workspace.review.queue_page(among, None, len(body.pairs)).rows
    pair_ids = [row.pair_id for row in rows]
    if others := sorted({*body.pairs} - {*pair_ids}):
        raise SettingsError(f"This dataset has no pair {others[0]}. Nothing was tagged.")
    return caller.workspace.review.tag(pair_ids, body.name, caller.author, body.remove)


def rename_tag(caller: Writer, dataset: Id, body: TagRenameBody) -> dict[str, int]:
    """Rename a tag, or merge it into one that exists; the dataset's tags afterwards."""
    caller.workspace.review.rename_tag(caller.find(dataset), body.name, body.new, caller.author)
    return tags(caller, dataset)


def constants(caller: Reader, dataset: Id) -> list[Constant]:
    """The constant parts of the captions, found or stated when the dataset was scored last."""
    parts = caller.workspace.review.constants(caller.find(dataset))
    return [Constant.model_validate(part) for part in parts]


def put_constant(caller: Writer, dataset: Id, body: ConstantBody) -> list[Constant]:
    """Leave a constant part out, or judge it, from the next scoring on; all of them afterwards."""
    dataset_id = caller.find(dataset)
    caller.workspace.review.switch_constant(dataset_id, body.text, body.is_left_out)
    return constants(caller, dataset_id)


def jobs(caller: Reader, limit: Annotated[int, Query(ge=1, le=MOST)] = 10) -> list[Job]:
    """The newest jobs and all unfinished ones."""
    return [Job.of(job) for job in caller.workspace.jobs.recent(limit)]


def job(caller: Reader, job: Id) -> Job:
    """One job; the files of an export that is done are at /exports/{job}.zip."""
    return Job.of(caller.workspace.jobs.job(job))


def start_job(caller: Writer, dataset: Id, body: JobBody) -> Job:
    """Start a job on a dataset."""
    options = body.model_dump(exclude_unset=True)
    job_id = caller.workspace.jobs.start(options.pop("kind"), caller.find(dataset), **options)
    return job(caller, job_id)


def start_import(caller: Writer, body: ImportOptions) -> Job:
    """Import a dataset, with what its files do not say detected."""
    options = body.model_dump(exclude_unset=True)
    return job(caller, caller.workspace.jobs.start("import", None, **options))


def start_export(caller: Writer, dataset: Id, body: ExportOptions) -> Job:
    """Write an export in the background."""
    options = body.model_dump(exclude_unset=True)
    return job(caller, caller.workspace.jobs.start("export", caller.find(dataset), **options))


def cancel(caller: Writer, job: Id) -> None:
    """Stop a job at its next step; what it has saved is kept."""
    caller.workspace.jobs.cancel(job)


def _moved_verdict(caller: Caller, act: VerdictRow | None) -> Verdict | None:
    """What an undo or a redo has led to."""
    if act is None:
        return None
    return _verdict(act, caller.workspace.review.open_pair(act.pair_id).fingerprint)


def _verdict(act: VerdictRow, fingerprint: str) -> Verdict:
    return Verdict.model_validate(vars(act) | {"etag": etag_of(act.version, fingerprint)})


#: Method, path, function and the status of an answer.
Route = tuple[str, str, Callable[..., Any], HTTPStatus]
#: Ours, in the order of the description.
_ROUTES: tuple[Route, ...] = (
    ("GET", "/datasets", datasets, HTTPStatus.OK),
    ("POST", "/datasets", start_import, HTTPStatus.ACCEPTED),
    ("GET", "/datasets/{dataset}/progress", progress, HTTPStatus.OK),
    ("GET", "/datasets/{dataset}/queue", queue, HTTPStatus.OK),
    ("POST", "/datasets/{dataset}/next", hold_next, HTTPStatus.OK),
    ("POST", "/datasets/{dataset}/undo", undo, HTTPStatus.OK),
    ("POST", "/datasets/{dataset}/redo", redo, HTTPStatus.OK),
    ("GET", "/datasets/{dataset}/tags", tags, HTTPStatus.OK),
    ("POST", "/datasets/{dataset}/tags", tag, HTTPStatus.OK),
    ("POST", "/datasets/{dataset}/tags/rename", rename_tag, HTTPStatus.OK),
    ("GET", "/datasets/{dataset}/constants", constants, HTTPStatus.OK),
    ("PUT", "/datasets/{dataset}/constants", put_constant, HTTPStatus.OK),
    ("POST", "/datasets/{dataset}/jobs", start_job, HTTPStatus.ACCEPTED),
    ("POST", "/datasets/{dataset}/exports", start_export, HTTPStatus.ACCEPTED),
    ("GET", "/pairs/{pair}", get_pair, HTTPStatus.OK),
    ("PUT", "/pairs/{pair}/verdict", put_verdict, HTTPStatus.OK),
    ("PUT", "/pairs/{pair}/claims/{claim}", put_claim, HTTPStatus.OK),
    ("POST", "/pairs/{pair}/suggestions", suggest, HTTPStatus.OK),
    ("POST", "/pairs/{pair}/check", check, HTTPStatus.OK),
    ("GET", "/pairs/{pair}/similar", similar, HTTPStatus.OK),
    ("GET", "/jobs", jobs, HTTPStatus.OK),
    ("GET", "/jobs/{job}", job, HTTPStatus.OK),
    ("DELETE", "/jobs/{job}", cancel, HTTPStatus.NO_CONTENT),
)
#: Behind all others, since its last part may be any word.
_NOTICE: Route = ("GET", "/datasets/{dataset}/{notice}", notice, HTTPStatus.OK)


@dataclass(frozen=True)
class Endpoints:
    """Routes of the API that a feature or a package adds, in the form of ours: functions that take
    a `Reader` or a `Writer` first, with docstrings for those who call them."""

    routes: tuple[Route, ...]


def check_endpoints(added: Endpoints) -> None:
    """Raises ValueError for a route that is there already: it would never be asked."""
    ours = {(method, path) for method, path, *_ in (*_ROUTES, _NOTICE)}
    for method, path, *_ in added.routes:
        if (method, path) in ours:
            raise ValueError(f"The API has {method} {path} already.")


def routes() -> tuple[Route, ...]:
    """All routes, in the order in which a request is compared with them."""
    loaded = plugins.load("endpoints", Endpoints, check_endpoints)
    return (*_ROUTES, *(route for added in loaded for route in added.routes), _NOTICE)


def answer_to(path: str) -> Callable[..., Any] | None:
    """What answers a GET of this path, such as /pairs/{pair}/similar; None where nothing does,
    since the feature is not there."""
    functions = (answer for method, each, answer, _ in routes() if (method, each) == ("GET", path))
    return next(functions, None)


async def _refuse_others(request: fastapi.Request) -> None:
    """Refuse query parameters that do not exist: a misspelled filter would be ignored, and a script
    would decide on pairs that it did not mean."""
    names = [field.alias for field in request.scope["route"].dependant.query_params]
    if others := sorted(set(request.query_params) - {*names}):
        raise SettingsError(
            f"There is no parameter '{trim(others[0])}' here; there are: {', '.join(names)}."
        )


def create_api(workspace: Workspace) -> fastapi.FastAPI:
    """The API, its description at openapi.json, and a page of it at the root."""
    api = fastapi.FastAPI(
        title="TRACED Curator", version=VERSION, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", dependencies=[Depends(_refuse_others)],
    )  # fmt: skip
    api.state.workspace = workspace
    explain_problems(api)
    for method, path, function, status in routes():
        api.add_api_route(path, function, methods=[method], status_code=status)
        if method == "GET":
            api.add_api_route(path, function, methods=["HEAD"], include_in_schema=False)

    @api.get("/", include_in_schema=False)
    def page() -> HTMLResponse:
        return HTMLResponse(render_page("api.html", api=api.openapi()))

    return api
