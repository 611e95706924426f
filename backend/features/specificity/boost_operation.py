"""`boost`: richer captions for pairs whose captions are correct but generic."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from backend.features.specificity.reports import BoostDryRun, BoostReport
from backend.operations.common_options import (
    Device,
    Kind,
    Limits,
    Model,
    Quantise,
    Timeout,
    TrustServer,
    Vlm,
    VlmUrl,
)
from backend.operations.operation import Operation
from backend.options import FOLDER_OR_NAME, CommandLine, Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class BoostOptions(Options):
    """Suggest richer captions for pairs whose captions are correct but generic, for a curator to
    review.

    Details that a model has invented are removed, or the suggestion is rejected, before anyone sees
    it. Pictures are sent only for visual and holistic, and only to the server of the
    vision-language model; --dry-run names it. Stop it at any time: the same command resumes where
    it stopped, and no request is paid for twice.
    """

    queue: str = ""
    """Which pairs, as in a queue's address after the ?: 'specificity_to=-2'. Default: all
    undecided ones. Unless it names an order, those that are neither likely wrong nor vague, the
    most generic first."""
    kinds: str = "blend,visual,holistic"
    """Which kinds, comma-separated: blend (joins the captions of a picture), visual (describes it),
    holistic (the blend, enriched by the visual)."""
    limit: int | None = Field(None, ge=1)
    """Maximum number of pairs."""
    vlm: Vlm = None
    vlm_url: VlmUrl = None
    trust_server: TrustServer = False
    llm: Annotated[str | None, FOLDER_OR_NAME] = None
    """Language model that joins captions; it gets no picture. Default: the --vlm, without the
    picture."""
    llm_url: Annotated[str | None, CommandLine(metavar="URL")] = None
    """OpenAI-compatible server of the language model."""
    quantise: Quantise = None
    timeout: Timeout = None
    limits: Limits = Limits()
    """What the requests may cost."""
    dry_run: bool = False
    """Show what would be sent first, and what all will take: requests, tokens, and money by your
    prices; send nothing."""
    model: Model = None
    scorer: Kind = None
    device: Device = None


def run(
    context: "Context", dataset_id: int, options: BoostOptions, progress: Progress
) -> BoostReport | BoostDryRun:
    from backend.features.specificity import boost_captions
    from backend.review.queue_form import clean_fields, given_fields

    limits = options.limits.read_entries(context.settings.prices)
    fields = clean_fields({"order": "specificity"} | given_fields(options.queue))
    filter = context.review.filter_of(dataset_id, fields)
    context.engines.of_session.spending.limit(*limits)
    kinds = [kind.strip() for kind in options.kinds.split(",")]
    booster = boost_captions.booster(
        context.engines.of_session, kinds, options.llm, options.llm_url
    )
    engine = context.engines.of_dataset(dataset_id)
    models = [model.name for model in (booster.sees, booster.blends) if model is not None]
    warning = context.warning_of(dataset_id, *models)
    if options.dry_run:
        plan = boost_captions.dry_run(
            context.store, engine, filter, booster, limits[0], options.limit,
            check=not options.trust_server,
        )  # fmt: skip
        return replace(plan, warning=warning)
    report = boost_captions.boost(
        context.store,
        engine,
        filter,
        booster,
        options.limit,
        progress,
        check=not options.trust_server,
    )
    return replace(report, warning=warning)


def prepare(context: "Context", dataset_id: int, options: BoostOptions) -> BoostOptions:
    """Refuses a budget that cannot be counted."""
    options.limits.read_entries(context.settings.prices)
    return options


BOOST = Operation(
    "boost",
    "Enriching",
    BoostOptions,
    run,
    prepare=prepare,
    is_started_by_kind=False,
    is_command=True,
)


class EnrichOptions(Options):
    """Ask the session's model for richer captions of one pair, while a curator waits."""

    pair_id: int
    """The pair that the curator looks at."""


def enrich(
    context: "Context", dataset_id: int, options: EnrichOptions, progress: Progress
) -> BoostReport:
    from backend.features.specificity import boost_captions, boosting
    from db.queries.queue_filter import QueueFilter

    engine = context.engines.of_dataset(dataset_id)
    queue = QueueFilter(dataset_id, among=(options.pair_id,))
    booster = boost_captions.booster(context.engines.of_session, boosting.KINDS)
    return boost_captions.boost(context.store, engine, queue, booster, calibrate=False)


ENRICH = Operation("enrich", "Enriching", EnrichOptions, enrich, is_started_by_kind=False)
