"""`score --second-opinion URL`."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator
from rich.markup import escape

from backend.cli.commands import Continuation, EarlyReport, ScoreStep
from backend.cli.output import console, progress
from backend.errors import SettingsError
from backend.operations.common_options import Limits, Timeout
from backend.options import CommandLine, Options, parse_share
from backend.progress import duration

if TYPE_CHECKING:
    from backend.features.vision_language.reports import SecondOpinionPlan
    from backend.workspace import Workspace


class _Options(Options):
    """A model behind a server is asked about the most suspicious pairs."""

    second_opinion: Annotated[str | None, CommandLine(metavar="URL")] = None
    """Then ask a vision-language model behind an OpenAI-compatible server, such as
    http://localhost:8000/v1, or a reranker behind /v1/rerank, whether the pictures of the most
    suspicious pairs show their captions.
    Pictures and captions are sent to it. Its key: OPENAI_API_KEY."""
    top: Annotated[str | None, CommandLine(metavar="SHARE")] = None
    """With --second-opinion: about which share of the pairs, such as 20%, the most suspicious
    first. Default: 20%."""
    second_model: Annotated[str | None, CommandLine(metavar="NAME")] = None
    """With --second-opinion: the model's name on the server. Default: the only one that it serves.
    """
    trust_server: bool = False
    """With --second-opinion: use the answers even of a server that does not seem to see the
    pictures."""
    ask_again: bool = False
    """With --second-opinion: discard the answers that this model at this server has given about the
    dataset, such as those from before it was repaired, and ask anew."""
    at_once: int = Field(4, ge=1, le=64)
    """With --second-opinion: questions in flight."""
    timeout: Timeout = None
    limits: Limits = Limits()
    dry_run: bool = False
    """With --second-opinion: show the first question, and what all will take: requests, tokens, and
    money by your prices; send nothing, and do not score."""

    @model_validator(mode="after")
    def _has_a_server(self) -> Self:
        if self.second_opinion is None and self.top is not None:
            raise SettingsError(
                "--top is the share of pairs for --second-opinion URL. (gcd's replacements per "
                "position: --replacements.)"
            )
        if self.second_opinion is None and self.dry_run:
            raise SettingsError(
                "A dry run shows what --second-opinion URL would send; --estimate tells what "
                "scoring takes."
            )
        parse_share(self.top or "20%")
        return self


def _begin(
    workspace: "Workspace", dataset_id: int, options: _Options
) -> Continuation | EarlyReport | None:
    """Ask about one pair, and say what the rest will take."""
    if options.second_opinion is None:
        return None
    from backend.features.vision_language.model_check import (
        ask,
        discard,
        dry_run,
        open_server,
        plan,
    )
    from backend.features.vision_language.sight_check import check_sight

    share = parse_share(options.top or "20%")
    prices, budget = options.limits.read_entries(workspace.settings.prices)
    if options.dry_run:
        report = dry_run(
            workspace.store, dataset_id, options.second_model, options.second_opinion, share,
            prices,
        )  # fmt: skip
        return EarlyReport(replace(report, warning=_warning(workspace, dataset_id, report.model)))
    server = open_server(options.second_opinion, options.second_model, options.timeout)
    server.spending.limit(prices, budget)
    watch = None
    with progress("Asking the server"):
        if options.ask_again and not options.trust_server:
            watch = check_sight(workspace.store, dataset_id, server, options.at_once)
        if options.ask_again:
            discard(workspace.store, dataset_id, server)
        first = plan(workspace.store, dataset_id, server, share, not options.trust_server)
        if first.pairs and not options.trust_server and watch is None:
            watch = check_sight(workspace.store, dataset_id, server, options.at_once)
    outlook = f"{_outlook(first, options.at_once)} {_warning(workspace, dataset_id, first.model)}"
    console.print(f"[yellow]Note:[/] {escape(outlook.rstrip())}")
    return partial(
        ask, workspace.store, dataset_id, server, share, options.at_once,
        check=not options.trust_server, watch=watch,
    )  # fmt: skip


def _warning(workspace: "Workspace", dataset_id: int, model: str) -> str:
    return workspace.jobs.warning_of(dataset_id, model)


def _outlook(plan: "SecondOpinionPlan", at_once: int) -> str:
    """What the second opinion will take, at least and at most."""
    seconds = [count * plan.seconds_each / at_once for count in plan.forecast.requests]
    return (
        f"'{plan.model}' at {plan.server} will be asked about {plan.pairs:,} of {plan.total:,} "
        f"pairs: {plan.forecast.in_words()}, {duration(seconds[0])} to {duration(seconds[1])}. "
        "Pictures and captions are sent there."
    )


SECOND_OPINION = ScoreStep("second_opinion", "Second opinion", _Options, _begin)
