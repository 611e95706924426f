"""`bags`, `boost`: do captions single out their pictures?"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.cli.output import emit, open_dataset, open_workspace, progress
from backend.datasets.regular_files import typed_path
from backend.operations.common_options import (
    Common,
    Device,
    Kind,
    Limits,
    Model,
    Quantise,
    Timeout,
    Vlm,
    VlmUrl,
)
from backend.options import ARGUMENT, CommandLine, Options
from backend.settings import load_settings

#: Sizes of bags, as published.
SIZES = [3, 5, 7]


class BagsCommand(Options):
    """Group similar pictures into bags whose captions must tell them apart, as TrueMatch does, for
    any dataset.

    Writes bags-SIZE.json in the published format, bags.csv with alpha (the similarity of the
    pictures in each bag), and bags.html for viewing. The dataset must be scored; images are opened
    for bags.html only.
    """

    dataset: Annotated[str, ARGUMENT] = Field(
        description="Name in the database, or a path to import.",
    )
    out: Path = Field(
        description="Output folder; created if it does not exist.",
    )
    size: list[int] | None = Field(
        None,
        description="Pictures per bag; may be given several times. Default: 3, 5, 7.",
    )
    strike: Path | None = Field(
        None,
        description="File of bags to leave out, one per line, each by the id of its first "
        "picture; bags.html creates it.",
    )
    model: Model = None
    scorer: Kind = None
    device: Device = None


def bags(options: BagsCommand, common: Common) -> None:
    workspace = open_workspace(load_settings({**common.settings(), **options.settings()}))
    dataset_id = workspace.find_or_import(options.dataset)
    with progress("Making bags") as update:
        report = workspace.bags(
            dataset_id, options.size or SIZES, typed_path(options.out), options.strike, update
        )
    emit(report, common.as_json, report.in_words())


class BoostCommand(Options):
    """Suggest richer captions for pairs whose captions are correct but generic, for a curator to
    review.

    Details that a model has invented are removed, or the suggestion is rejected, before anyone sees
    it. Pictures are sent only for visual and holistic, and only to the server of the
    vision-language model; --dry-run names it. Stop it at any time: the same command resumes where
    it stopped, and no request is paid for twice.
    """

    dataset: Annotated[str, ARGUMENT] = Field(
        description="Name in the database, scored.",
    )
    queue: str = Field(
        "",
        description="Which pairs, as in a queue's address after the ?: 'specificity_to=-2'. "
        "Default: all unreviewed ones. Unless it names an order, those that are neither "
        "likely wrong nor abstract, the most generic first.",
    )
    kinds: str = Field(
        "blend,visual,holistic",
        description="Which kinds, comma-separated: blend (joins the captions of a picture), "
        "visual (describes it), holistic (the blend, enriched by the visual).",
    )
    limit: int | None = Field(
        None,
        ge=1,
        description="Maximum number of pairs.",
    )
    vlm: Vlm = None
    vlm_url: VlmUrl = None
    llm: Annotated[str | None, CommandLine(metavar="NAME_OR_DIR")] = Field(
        None,
        description="Language model that joins captions; it gets no picture. Default: the --vlm, "
        "without the picture.",
    )
    llm_url: Annotated[str | None, CommandLine(metavar="URL")] = Field(
        None,
        description="OpenAI-compatible server of the language model.",
    )
    quantise: Quantise = None
    timeout: Timeout = None
    limits: Limits = Limits()
    dry_run: bool = Field(
        False,
        description="Show what would be sent first; send nothing.",
    )
    model: Model = None
    scorer: Kind = None
    device: Device = None


def boost(options: BoostCommand, common: Common) -> None:
    from backend.jobs import boost_captions
    from backend.review.queue_form import generic_first

    limits = options.limits.stated()
    workspace, dataset_id = open_dataset(options.dataset, **common.settings(), **options.settings())
    filter = workspace.review.filter_of(dataset_id, generic_first(options.queue))
    workspace.engine.spending.limit(*limits)
    wanted = [kind.strip() for kind in options.kinds.split(",")]
    booster = boost_captions.booster(workspace.engine, wanted, options.llm, options.llm_url)
    of_dataset = workspace.engines.of_dataset(dataset_id)
    if options.dry_run:
        preview = boost_captions.dry_run(workspace.store, of_dataset, filter, booster)
        emit(preview, common.as_json, preview.in_words())
        return
    with progress("Enriching") as update:
        report = boost_captions.boost(
            workspace.store, of_dataset, filter, booster, options.limit, update
        )
    emit(report, common.as_json, report.in_words())
