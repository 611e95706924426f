"""`correct`: better captions for many pairs."""

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from pydantic import Field, model_validator

from backend.errors import SettingsError
from backend.features.corrections.report import CorrectionReport
from backend.jobs.scoring_reports import DryRun
from backend.operations.common_options import (
    Captioner,
    Device,
    Kind,
    Limits,
    Model,
    Precision,
    Quantise,
    Timeout,
    TrustServer,
    Vlm,
    VlmMode,
    VlmUrl,
)
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class CorrectOptions(Options):
    """Suggest corrections for a whole queue, for a curator to review.

    Without --vlm, and without a model on the page Language model, only methods that need no
    vision-language model are used. Stop it at any time:
    the same command resumes where it stopped, and no request is paid for twice.
    """

    queue: str = ""
    """Which pairs, as in a queue's address after the ?: 'p_error_from=0.5&split=train'. Default:
    all undecided pairs, most likely wrong first."""
    view: str | None = None
    """Which pairs: a saved view, by name."""
    limit: int | None = Field(None, ge=1)
    """Maximum number of pairs."""
    vlm: Vlm = None
    vlm_url: VlmUrl = None
    vlm_mode: VlmMode = None
    trust_server: TrustServer = False
    quantise: Quantise = None
    at_once: int = Field(4, ge=1, le=64)
    """Questions in flight at a server."""
    timeout: Timeout = None
    limits: Limits = Limits()
    """What the requests may cost."""
    accept_p: float | None = Field(None, ge=0, le=1)
    """With --accept-gain: accept without review suggestions whose chance of error is at most
    this. The verdict's author is the rule."""
    accept_gain: float | None = None
    """With --accept-p: minimum rise of s."""
    dry_run: bool = False
    """Show what would be sent for the first pairs, and what all will take: requests, tokens, and
    money by your prices; send nothing."""
    model: Model = None
    scorer: Kind = None
    captioner: Captioner = None
    device: Device = None
    precision: Precision = None

    @model_validator(mode="after")
    def _has_a_whole_rule(self) -> Self:
        if (self.accept_p is None) != (self.accept_gain is None):
            raise SettingsError(
                "A rule needs both a chance of error and a gain.",
                terminal="Options: --accept-p, --accept-gain.",
            )
        return self


def run(
    context: "Context", dataset_id: int, options: CorrectOptions, progress: Progress
) -> CorrectionReport | DryRun:
    from backend.features.corrections import correct_queue
    from backend.review.queue_form import START

    rule = None
    if options.accept_p is not None and options.accept_gain is not None:
        rule = correct_queue.Rule(options.accept_p, options.accept_gain)
    limits = options.limits.read_entries(context.settings.prices)
    fields = context.review.queue_fields(dataset_id, options.queue, options.view) or START
    filter = context.review.filter_of(dataset_id, fields)
    context.engines.of_session.spending.limit(*limits)
    engine = context.engines.of_dataset(dataset_id)
    model = engine.chat_model_name or engine.settings.captioner_model
    warning = context.warning_of(dataset_id, model)
    if options.dry_run:
        plan = correct_queue.dry_run(
            context.store, engine, filter, limits[0], options.limit, check=not options.trust_server
        )
        return replace(plan, warning=warning)
    at_once = options.at_once if options.vlm_url else 1
    report = correct_queue.correct(
        context.store,
        engine,
        filter,
        rule,
        options.limit,
        at_once,
        progress,
        check=not options.trust_server,
    )
    return replace(report, warning=warning)


def prepare(context: "Context", dataset_id: int, options: CorrectOptions) -> CorrectOptions:
    """Refuses a budget that cannot be counted."""
    options.limits.read_entries(context.settings.prices)
    return options


CORRECT = Operation(
    "correct",
    "Correcting",
    CorrectOptions,
    run,
    prepare=prepare,
    is_started_by_kind=False,
    is_command=True,
)
