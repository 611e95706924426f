"""`bags`, `boost`: do captions single out their pictures?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backend.cli import options
from backend.cli.output import emit, open_dataset, open_workspace, progress, reported
from backend.datasets.regular_files import typed_path
from backend.jobs.reports import count_of
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.jobs.reports import BoostDryRun, BoostReport

#: Sizes of bags, as published.
SIZES = [3, 5, 7]


def bags(
    dataset: Annotated[str, typer.Argument(help="Name in the database, or a path to import.")],
    out: Annotated[Path, typer.Option(help="Output folder; created if it does not exist.")],
    size: Annotated[
        list[int] | None,
        typer.Option(help="Pictures per bag; may be given several times. Default: 3, 5, 7."),
    ] = None,
    strike: Annotated[
        Path | None,
        typer.Option(
            help="File of bags to leave out, one per line, each by the id of its first picture; "
            "bags.html creates it."
        ),
    ] = None,
    db: options.DATABASE = None,
    model: options.MODEL = None,
    scorer: options.KIND = None,
    device: options.DEVICE = None,
    as_json: options.AS_JSON = False,
) -> None:
    """Group similar pictures into bags whose captions must tell them apart, as TrueMatch does, for
    any dataset.

    Writes bags-SIZE.json in the published format, bags.csv with alpha (the similarity of the
    pictures in each bag), and bags.html for viewing. The dataset must be scored; images are opened
    for bags.html only.
    """
    with reported(as_json):
        settings = load_settings({"database": db, "model": model, "kind": scorer, "device": device})
        workspace = open_workspace(settings)
        dataset_id = workspace.find_or_import(dataset)
        with progress("Making bags") as update:
            report = workspace.bags(dataset_id, size or SIZES, typed_path(out), strike, update)
        counted = ", ".join(f"{count} of {size}" for size, count in report.bags.items())
        text = (
            f"Bags of {count_of(report.pictures, 'picture')}: {counted}. Written to {report.out}."
        )
        if report.struck:
            text += f" {report.struck} were struck."
        emit(report, as_json, text + f" Contact sheet: {report.out / 'bags.html'}")


def boost(
    dataset: Annotated[str, typer.Argument(help="Name in the database, scored.")],
    queue: Annotated[
        str, typer.Option("--queue", help="Which pairs, as in a queue's address after the ?: "
                          "'specificity_to=-2'. Default: all unreviewed ones. Unless it names an "
                          "order, those that are neither likely wrong nor abstract, the most "
                          "generic first."),
    ] = "",
    kinds: Annotated[
        str, typer.Option(help="Which kinds, comma-separated: blend (joins the captions of a "
                          "picture), visual (describes it), holistic (the blend, enriched by the "
                          "visual).")
    ] = "blend,visual,holistic",
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of pairs.")] = None,
    vlm: options.VLM = None,
    vlm_url: options.VLM_URL = None,
    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="NAME_OR_DIR", help="Language model that joins captions; it "
                     "gets no picture. Default: the --vlm, without the picture."),
    ] = None,
    llm_url: Annotated[
        str | None, typer.Option("--llm-url", metavar="URL", help="OpenAI-compatible server of the "
                                                                  "language model.")
    ] = None,
    quantise: options.QUANTISE = None,
    timeout: options.TIMEOUT = None,
    price_in: options.PRICE_IN = 0.0,
    price_out: options.PRICE_OUT = 0.0,
    budget: options.BUDGET = None,
    budget_tokens: options.BUDGET_TOKENS = None,
    budget_requests: options.BUDGET_REQUESTS = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent first; send nothing.")
    ] = False,
    db: options.DATABASE = None,
    model: options.MODEL = None,
    scorer: options.KIND = None,
    device: options.DEVICE = None,
    as_json: options.AS_JSON = False,
) -> None:  # fmt: skip
    """Suggest richer captions for pairs whose captions are correct but generic, for a curator to
    review.

    Details that a model has invented are removed, or the suggestion is rejected, before anyone sees
    it. Pictures are sent only for visual and holistic, and only to the server of the
    vision-language model; --dry-run names it. Stop it at any time: the same command resumes where
    it stopped, and no request is paid for twice.
    """
    with reported(as_json):
        from backend.cli.correct import dry_run_summary, requests_summary
        from backend.jobs import boost_captions
        from backend.review.queue_form import generic_first

        limits = options.spending_limits(
            price_in, price_out, budget, budget_tokens, budget_requests
        )
        workspace, dataset_id = open_dataset(
            dataset, database=db, model=model, kind=scorer, device=device, corrector=vlm,
            corrector_url=vlm_url, quantise=quantise, corrector_timeout=timeout,
        )  # fmt: skip
        filter = workspace.review.filter_of(dataset_id, generic_first(queue))
        workspace.engine.spending.limit(*limits)
        wanted = [kind.strip() for kind in kinds.split(",")]
        booster = boost_captions.booster(workspace.engine, wanted, llm, llm_url)
        of_dataset = workspace.engines.of_dataset(dataset_id)
        if dry_run:
            preview = boost_captions.dry_run(workspace.store, of_dataset, filter, booster)
            emit(preview, as_json, f"{dry_run_summary(preview)}\n{_sent(preview)}")
            return
        with progress("Enriching") as update:
            report = boost_captions.boost(
                workspace.store, of_dataset, filter, booster, limit, update
            )
        counted = ", ".join(f"{count} {name}" for name, count in sorted(report.outcomes.items()))
        emit(
            report, as_json,
            f"{count_of(report.looked_at, 'pair')}: {counted or 'none'}. "
            f"{count_of(report.struck, 'invented phrase')} removed. "
            f"{requests_summary(report)} {_calibration(report)} {report.stopped}".rstrip(),
        )  # fmt: skip


def _calibration(report: "BoostReport") -> str:
    """The basis of the guard's rule, in a sentence; "" if it judged nothing."""
    if not {"offered", "no better", "refused by the guard"}.intersection(report.outcomes):
        return ""
    if report.calibrated_on:
        return (
            f"The guard was calibrated on {report.calibrated_on} phrases of the dataset's captions."
        )
    return "Too few captions to calibrate the guard on: it used its default rule."


def _sent(preview: "BoostDryRun") -> str:
    """A list of what is sent to which server."""
    pictures, captions = (
        f"{what}s go to {server}." if server else f"No {what.lower()} leaves this machine."
        for what, server in (("Picture", preview.pictures_to), ("Caption", preview.captions_to))
    )
    return f"{pictures} {captions}"
