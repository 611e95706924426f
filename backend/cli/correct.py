"""`correct`: better captions for many pairs."""

from typing import Annotated

from pydantic import Field

from backend.cli.output import emit, open_dataset, progress
from backend.errors import SettingsError
from backend.operations.common_options import (
    Captioner,
    Common,
    Device,
    Kind,
    Limits,
    Model,
    Precision,
    Quantise,
    Timeout,
    Vlm,
    VlmMode,
    VlmUrl,
)
from backend.options import ARGUMENT, Options


class CorrectCommand(Options):
    """Suggest corrections for a whole queue, for a curator to review.

    Without --vlm, only methods that need no vision-language model are used. Stop it at any time:
    the same command resumes where it stopped, and no request is paid for twice.
    """

    dataset: Annotated[str, ARGUMENT] = Field(
        description="Name in the database, scored.",
    )
    queue: str = Field(
        "",
        description="Which pairs, as in a queue's address after the ?: "
        "'p_error_from=0.5&split=train'. Default: all unreviewed pairs, most likely wrong "
        "first.",
    )
    view: str | None = Field(
        None,
        description="Which pairs: a saved view, by name.",
    )
    limit: int | None = Field(
        None,
        ge=1,
        description="Maximum number of pairs.",
    )
    vlm: Vlm = None
    vlm_url: VlmUrl = None
    vlm_mode: VlmMode = None
    quantise: Quantise = None
    at_once: int = Field(
        4,
        ge=1,
        le=64,
        description="Questions in flight at a server.",
    )
    timeout: Timeout = None
    limits: Limits = Limits()
    accept_p: float | None = Field(
        None,
        ge=0,
        le=1,
        description="With --accept-gain: accept without review suggestions whose probability of "
        "error is at most this. The verdict's author is the rule.",
    )
    accept_gain: float | None = Field(
        None,
        description="With --accept-p: minimum rise of s.",
    )
    dry_run: bool = Field(
        False,
        description="Show what would be sent for the first pairs; send nothing.",
    )
    model: Model = None
    scorer: Kind = None
    captioner: Captioner = None
    device: Device = None
    precision: Precision = None


def correct(options: CorrectCommand, common: Common) -> None:
    from backend.jobs import correct_queue
    from backend.review.queue_form import START

    rule = None
    if options.accept_p is not None and options.accept_gain is not None:
        rule = correct_queue.Rule(options.accept_p, options.accept_gain)
    elif options.accept_p is not None or options.accept_gain is not None:
        raise SettingsError("A rule needs both --accept-p and --accept-gain.")
    limits = options.limits.stated()
    workspace, dataset_id = open_dataset(options.dataset, **common.settings(), **options.settings())
    fields = workspace.review.queue_fields(dataset_id, options.queue, options.view) or START
    filter = workspace.review.filter_of(dataset_id, fields)
    workspace.engine.spending.limit(*limits)
    of_dataset = workspace.engines.of_dataset(dataset_id)
    if options.dry_run:
        preview = correct_queue.dry_run(workspace.store, of_dataset, filter)
        emit(preview, common.as_json, preview.in_words())
        return
    at_once = options.at_once if options.vlm_url else 1
    with progress("Correcting") as update:
        report = correct_queue.correct(
            workspace.store, of_dataset, filter, rule, options.limit, at_once, update
        )
    emit(report, common.as_json, report.in_words())
