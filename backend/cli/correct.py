"""`correct`: better captions for many pairs."""

from typing import TYPE_CHECKING, Annotated

import typer

from backend.cli import options
from backend.cli.output import emit, open_dataset, progress, reported
from backend.errors import SettingsError
from backend.jobs.reports import count_of

if TYPE_CHECKING:
    from backend.jobs.reports import BoostReport, CorrectionReport, DryRun


def correct(
    dataset: Annotated[str, typer.Argument(help="Name in the database, scored.")],
    queue: Annotated[
        str, typer.Option("--queue", help="Which pairs, as in a queue's address after the ?: "
                          "'p_error_from=0.5&split=train'. Default: all unreviewed pairs, most "
                          "likely wrong first."),
    ] = "",
    view: Annotated[str | None, typer.Option(help="Which pairs: a saved view, by name.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of pairs.")] = None,
    vlm: options.VLM = None,
    vlm_url: options.VLM_URL = None,
    vlm_mode: options.VLM_MODE = None,
    quantise: options.QUANTISE = None,
    at_once: Annotated[
        int, typer.Option(min=1, max=64, help="Questions in flight at a server.")
    ] = 4,
    timeout: options.TIMEOUT = None,
    price_in: options.PRICE_IN = 0.0,
    price_out: options.PRICE_OUT = 0.0,
    budget: options.BUDGET = None,
    budget_tokens: options.BUDGET_TOKENS = None,
    budget_requests: options.BUDGET_REQUESTS = None,
    accept_p: Annotated[
        float | None, typer.Option(min=0, max=1, help="With --accept-gain: accept without review "
                                                      "suggestions whose probability of error is "
                                                      "at most this. The verdict's author is the "
                                                      "rule.")
    ] = None,
    accept_gain: Annotated[
        float | None, typer.Option(help="With --accept-p: minimum rise of s.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent for the first pairs; send "
                           "nothing.")
    ] = False,
    db: options.DATABASE = None,
    model: options.MODEL = None,
    scorer: options.KIND = None,
    captioner: options.CAPTIONER = None,
    device: options.DEVICE = None,
    precision: options.PRECISION = None,
    as_json: options.AS_JSON = False,
) -> None:  # fmt: skip
    """Suggest corrections for a whole queue, for a curator to review.

    Without --vlm, only methods that need no vision-language model are used. Stop it at any time:
    the same command resumes where it stopped, and no request is paid for twice.
    """
    with reported(as_json):
        from backend.jobs import correct_queue
        from backend.review.queue_form import START

        rule = None
        if accept_p is not None and accept_gain is not None:
            rule = correct_queue.Rule(accept_p, accept_gain)
        elif accept_p is not None or accept_gain is not None:
            raise SettingsError("A rule needs both --accept-p and --accept-gain.")
        options.one_queue(queue, view)
        limits = options.spending_limits(
            price_in, price_out, budget, budget_tokens, budget_requests
        )
        workspace, dataset_id = open_dataset(
            dataset, database=db, model=model, kind=scorer, captioner=captioner, device=device,
            precision=precision, corrector=vlm, corrector_url=vlm_url, corrector_mode=vlm_mode,
            quantise=quantise, corrector_timeout=timeout,
        )  # fmt: skip
        fields = workspace.review.queue_fields(dataset_id, queue, view) or START
        filter = workspace.review.filter_of(dataset_id, fields)
        workspace.engine.spending.limit(*limits)
        of_dataset = workspace.engines.of_dataset(dataset_id)
        if dry_run:
            preview = correct_queue.dry_run(workspace.store, of_dataset, filter)
            emit(preview, as_json, dry_run_summary(preview))
            return
        with progress("Correcting") as update:
            report = correct_queue.correct(
                workspace.store, of_dataset, filter, rule, limit, at_once if vlm_url else 1, update
            )
        emit(report, as_json, correction_summary(report))


def requests_summary(report: "CorrectionReport | BoostReport") -> str:
    """Requests, tokens and cost, in a sentence."""
    cost = f"; cost {report.cost:.4f}" if report.cost else ""
    return (
        f"{count_of(report.requests, 'request')} sent, {report.answers_kept} answered from the "
        f"cache; {report.tokens_in} tokens in, {report.tokens_out} out{cost}."
    )


def correction_summary(report: "CorrectionReport") -> str:
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(report.outcomes.items()))
    lines = [f"{report.proposer}: {count_of(report.looked_at, 'pair')}; {outcomes or 'none left'}."]
    if report.requests or report.answers_kept:
        lines.append(requests_summary(report))
    if report.rule is not None:
        lines.append(f"{report.accepted} accepted by the {report.rule}.")
    return "\n".join([*lines, *([report.stopped] if report.stopped else [])])


def dry_run_summary(preview: "DryRun") -> str:
    parts = [
        f"--- pair {question.external_id}: a JPEG of {question.image_bytes} bytes, and\n[system]\n"
        f"{question.system}\n[user]\n{question.user}\n"
        for question in preview.questions
    ]
    return "\n".join(
        [*parts, f"{preview.proposer}: {preview.pairs} pairs in this queue, roughly "
         f"{preview.tokens_each} tokens a question. Nothing was sent."]
    )  # fmt: skip
