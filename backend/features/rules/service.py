"""Rules over the API: their preview, and giving one."""

from http import HTTPStatus

from fastapi.responses import Response
from pydantic import Field

from backend.features.rules import giving
from backend.jobs.job_view import JobView
from backend.options import Options
from traced_ui.api import Endpoints, Id, Reader, Text, Writer
from traced_ui.api_records import Job, QueueRow, Record


class RulePreview(Record):
    number: int = Field(description="Pairs of the queue that would get the verdict.")
    claimed: int = Field(description="On the screens of others; left alone.")
    decided: int = Field(description="With a verdict, which stays.")
    sample: list[QueueRow] = Field(description="Some of them, drawn at random.")


class RuleReport(Record):
    decision: str
    given: int = Field(description="Pairs that have got the verdict.")
    claimed: int = Field(description="On the screens of others; left alone.")
    left_alone: int = Field(description="Had a verdict, or were changed meanwhile.")


class RuleBody(Options):
    """`queue`: as in its address; `number`: what the preview said; `replaces`: see there."""

    verdict: Text
    number: Id
    queue: Text = ""
    replaces: bool = False


def preview_rule(
    caller: Reader, dataset: Id, queue: Text = "", replaces: bool = False
) -> RulePreview:
    """What one verdict for all pairs of a queue, as in its address, would reach. `replaces`: also
    pairs that have another verdict."""
    plan = giving.preview_rule(
        caller.workspace, caller.find(dataset), queue, caller.author, replaces
    )
    sample = [QueueRow.of(row) for row in plan.sample]
    return RulePreview.model_validate({**vars(plan), "sample": sample})


def give_rule(caller: Writer, dataset: Id, body: RuleBody, response: Response) -> RuleReport | Job:
    """One verdict for all pairs of a queue, by a rule: nobody's opinion, undone by one `undo`. A
    long one answers with its job. 412 if more pairs match than the preview's number."""
    outcome = giving.give_rule(
        caller.workspace, caller.find(dataset), body.queue, body.verdict, body.number,
        caller.author, body.replaces,
    )  # fmt: skip
    if isinstance(outcome, JobView):
        response.status_code = HTTPStatus.ACCEPTED
        return Job.of(outcome)
    return RuleReport.model_validate(outcome)


ENDPOINTS = Endpoints(
    (
        ("GET", "/datasets/{dataset}/rule", preview_rule, HTTPStatus.OK),
        ("POST", "/datasets/{dataset}/rule", give_rule, HTTPStatus.OK),
    )
)
