"""Correct the pairs of a queue in bulk; suggestions wait for a curator.

Every pair is one transaction: its suggestions and the attempt. If interrupted, the same command
resumes; a model's answers are cached, so none is paid for twice.

Only a *rule* may accept a suggestion without a person. The author of the verdict is then the rule
itself ("rule: p <= 0.2 and gain >= 0.1"), and neither training nor the Progress page counts it as a
human verdict.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from backend.counts import count_of
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.engine.correction import judge
from backend.engine.correction.suggestion import SMALLEST_GAIN, CorrectionContext
from backend.engine.language_models.asking import reason_to_skip
from backend.engine.language_models.chat_model import average_questions
from backend.engine.language_models.spending import PriceList, Spending, forecast
from backend.errors import BudgetSpent, ModelUnavailable, SettingsError
from backend.features.corrections import prompting
from backend.features.corrections.corrector import Corrector, Proposal, corrector_of, propose
from backend.features.corrections.report import CorrectionReport
from backend.jobs.pair_contexts import PairContexts
from backend.jobs.queue_pages import pages
from backend.jobs.scoring.classifiers import judge_suggestions, unjudged_suggestions
from backend.jobs.scoring.stored_rows import Part, RankedSuggestion, in_order, to_save
from backend.jobs.scoring_reports import DryRun, DryRunQuestion
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.authors import RULE
from db.errors import VersionConflict
from db.queries import (
    dataset_queries,
    pair_queries,
    queue_queries,
    suggestion_queries,
    verdict_queries,
)
from db.queries.queue_filter import QueueFilter, QueueRow
from db.queries.run_queries import RunRow
from db.queries.suggestion_queries import Attempt

#: Name of attempts without a vision-language model.
MODEL_FREE = "model-free v1"
#: Asked about a picture that shows it and one that does not.
_CHECK = prompting.plain_question("A red square.")
#: A server that refuses so many questions in a row refuses all.
_REFUSED_IN_A_ROW = 5


@dataclass(frozen=True)
class Rule:
    """Accept a suggestion whose probability of error is at most `p` and whose s has risen by at
    least `gain`."""

    p: float
    gain: float

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise SettingsError(f"A probability is between 0 and 1, not {self.p:g}.")
        if self.gain <= 0:
            raise SettingsError("A gain of 0 or less would accept captions that are no better.")

    @property
    def author(self) -> str:
        return f"{RULE}p <= {self.p:g} and gain >= {self.gain:g}"

    def accepts(self, suggestion: RankedSuggestion) -> bool:
        """Whether the correction may be taken without a person."""
        row, (chance, _) = suggestion
        return chance is not None and chance <= self.p and row.s_after - row.s_before >= self.gain


def correct(
    store: Store,
    engine: Engine,
    filter: QueueFilter,
    rule: Rule | None = None,
    limit: int | None = None,
    at_once: int = 1,
    progress: Progress = no_progress,
    check: bool = False,
) -> CorrectionReport:
    """Ask for a correction of every scored pair that matches the filter, in its order.

    Without a corrector, the engine's proposers that need no vision-language model are used.
    `limit`: maximum number of pairs. `at_once`: concurrent requests; more than one only for models
    behind a server. `check`: first ask a server whether it sees pictures. Stops early, and reports
    it, if the budget is spent. Raises ModelUnavailable if the model is unreachable, PictureUnseen
    if its answers do not depend on pictures, SettingsError for a rule where the chances of error
    are no figures; finished work is kept.
    """
    dataset = store.read(dataset_queries.get_dataset, filter.dataset_id)
    if rule is not None and dataset.is_unfamiliar:
        raise SettingsError(
            f"No rule accepts corrections in '{dataset.name}': the model that scored it does not "
            "know such pictures, and its chances of error are no figures. Score it with another "
            "model first, or review the corrections."
        )
    corrector = corrector_of(engine)
    work = _QueueCorrector(store, engine, filter.dataset_id, corrector)
    counts: Counter[str] = Counter()
    accepted_count = done = 0
    reason = ""
    total = store.read(queue_queries.count, filter, limit)
    try:
        if check and total and corrector is not None:
            corrector.model.check_sight([_CHECK])
        for rows in pages(store, filter, limit):
            for row, outcome in work.page(rows, at_once):
                counts[outcome] += 1
                done += 1
                if rule is not None and row.decision is None:
                    work.judge_rest(row)
                    accepted_count += _accept(store, row, work.run, rule)
                progress(done, total, "Correcting")
    except BudgetSpent as problem:
        reason = f"{problem} {count_of(total - done, 'pair')} left."
    spending = corrector.model.spending if corrector is not None else Spending()
    return CorrectionReport(
        filter.dataset_id, done, dict(counts), *spending.figures,
        stopped=reason, proposer=work.proposer, accepted=accepted_count,
        rule=rule.author if rule is not None else None,
    )  # fmt: skip


def dry_run(
    store: Store,
    engine: Engine,
    filter: QueueFilter,
    prices: PriceList,
    limit: int | None = None,
    count: int = 3,
    check: bool = False,
) -> DryRun:
    """The exact requests for the first pairs, without sending them, and what all will take. Raises
    SettingsError without a corrector."""
    corrector = corrector_of(engine)
    if corrector is None:
        raise SettingsError(
            "A dry run shows requests to a vision-language model, and none is set up.",
            terminal="Set one: --vlm NAME.",
            page="The server's administrator can add one.",
        )
    work = _QueueCorrector(store, engine, filter.dataset_id, corrector)
    contexts = (
        (row, context)
        for rows in pages(store, filter, limit)
        for row, context in work.contexts.of(work.not_yet(rows))
        if isinstance(context, CorrectionContext)
    )
    questions = [
        (row, prompting.question(context, corrector.mode))
        for row, context in islice(contexts, count)
    ]
    total = store.read(queue_queries.count, filter, limit)
    # Pairs that were asked about before are asked no more, and an unreadable answer once more.
    most = total if questions else 0
    if check and most:
        most += corrector.model.count_sight_questions([_CHECK])
    estimate = average_questions(
        [question for _, question in questions], corrector.model.name, 0, most
    )
    return DryRun(
        corrector.proposer, total, forecast([estimate], prices),
        tuple(
            DryRunQuestion.of(row.pair_id, row.external_id, question)
            for row, question in questions
        ),
    )  # fmt: skip


# --------------------------------------------------------------------------------------- the work


class _QueueCorrector:
    """State shared by all pairs of one command."""

    def __init__(
        self, store: Store, engine: Engine, dataset_id: int, corrector: Corrector | None
    ) -> None:
        self.store, self.engine, self.corrector = store, engine, corrector
        # A prompt has to hold the caption.
        left_out = {"reason_to_skip": reason_to_skip} if corrector is not None else {}
        self.contexts = PairContexts(store, engine, dataset_id, **left_out)
        self.run: RunRow = self.contexts.run
        self.proposer = corrector.proposer if corrector is not None else MODEL_FREE
        self.refused_in_a_row = 0

    def page(self, rows: Sequence[QueueRow], at_once: int) -> Iterator[tuple[QueueRow, str]]:
        """(pair, outcome) of a page, each as soon as it is committed."""
        waiting = self.not_yet(rows)
        waiting_ids = {row.pair_id for row in waiting}
        yield from ((row, "asked before") for row in rows if row.pair_id not in waiting_ids)
        outcomes = list(self.contexts.of(waiting))
        yield from ((row, context) for row, context in outcomes if isinstance(context, str))
        contexts = [
            (row, context) for row, context in outcomes if isinstance(context, CorrectionContext)
        ]
        if self.corrector is None:
            for row, context in contexts:
                yield row, self._suggest(row, context, None)
            return
        for row, context, proposal in _proposals(contexts, self.corrector, at_once):
            yield row, self._suggest(row, context, proposal)

    def not_yet(self, rows: Sequence[QueueRow]) -> list[QueueRow]:
        """The pairs that this proposer has not yet attempted under this run."""
        outcomes = self.store.read(
            suggestion_queries.attempted_outcomes,
            [row.pair_id for row in rows],
            self.proposer,
            self.run.id,
        )
        return [row for row in rows if row.pair_id not in outcomes]

    def judge_rest(self, row: QueueRow) -> None:
        """Compute the probabilities of corrections that were prepared without, for a rule."""
        waiting = unjudged_suggestions(self.store, self.run, row.pair_id)
        image = self.contexts.open_picture(row) if waiting else ""
        if isinstance(image, str):
            return
        pair = self.store.read(pair_queries.get_pair, row.pair_id)
        with self.engine.lock:
            state = self.engine.scorer.of_pair(self.engine.encode([image])[0], row.pair_id)
        judge_suggestions(self.store, self.engine, self.run, pair, image, state, waiting)

    def _suggest(self, row: QueueRow, context: CorrectionContext, proposal: Proposal | None) -> str:
        """Judge and commit the proposals; returns the outcome."""
        part = Part(row.caption, context.claim) if context.claim else None
        if proposal is None:
            with self.engine.lock:
                proposals = judge.proposals_of([context], self.engine.captioner)[0]
                suggestions = self.contexts.judge(context, proposals, keep=False)
            outcome = "offered" if suggestions else "no better"
        elif proposal.caption is None:
            suggestions, outcome = [], proposal.outcome
            if outcome == "refused by the server":
                self.refused_in_a_row += 1
        else:
            suggestions = self.contexts.judge(context, {proposal.caption: self.proposer})
            better = (
                bool(suggestions)
                and suggestions[0].s_after > suggestions[0].s_before + SMALLEST_GAIN
            )
            outcome = "offered" if better else "no better"
        detail = proposal.reason if proposal is not None else ""
        suggestions = [each for each in suggestions if part is None or part.takes(each)]
        if outcome != "refused by the server":
            self.refused_in_a_row = 0
        if not suggestions and outcome == "offered":
            outcome = "no better"
        with self.store.writing() as session:
            suggestion_queries.save_suggestions(
                session,
                [
                    to_save(
                        row.pair_id,
                        suggestion,
                        self.run.id,
                        self._from(proposal),
                        part=part,
                    )
                    for suggestion in suggestions
                ],
            )
            suggestion_queries.save_attempt(
                session, Attempt(row.pair_id, self.proposer, self.run.id, outcome, detail)
            )
        if self.refused_in_a_row >= _REFUSED_IN_A_ROW:
            raise ModelUnavailable(detail)
        return outcome

    def _from(self, proposal: Proposal | None) -> dict[str, Any] | None:
        if proposal is None or self.corrector is None:
            return None
        return {
            "model": self.corrector.model.name,
            "mode": self.corrector.mode,
            "prompt": prompting.VERSIONS[self.corrector.mode],
            "repaired": proposal.repaired,
            "steps": [[step.word, step.seen, step.wrong] for step in proposal.steps],
        }


def _proposals(
    contexts: Sequence[tuple[QueueRow, CorrectionContext]], corrector: Corrector, at_once: int
) -> Iterator[tuple[QueueRow, CorrectionContext, Proposal]]:
    """Answers in the order of the pairs, up to the budget's end."""
    if corrector.model.server is None:
        # A model in this process: a leftover thread would use it at the same time as the next job.
        yield from ((row, context, propose(context, corrector)) for row, context in contexts)
        return
    with DaemonPool(max(1, at_once)) as pool:
        answers = pool.map_in_order(lambda pair: propose(pair[1], corrector), contexts)
        for (row, context), proposal in zip(contexts, answers, strict=True):
            yield row, context, proposal


def _accept(store: Store, row: QueueRow, run: RunRow, rule: Rule) -> int:
    """1 if the best suggestion satisfies the rule and the pair is still undecided."""
    suggestions = store.read(suggestion_queries.list_suggestions, row.pair_id, run.id)
    ordered = in_order(row.caption, suggestions)
    best = next((each.row for each in ordered if rule.accepts(each)), None)
    if best is None or best.caption == row.caption:
        return 0
    try:
        with store.writing() as session:
            verdict_queries.add_verdict(
                session, row.pair_id, row.verdict_version, "correction", best.caption, best.id,
                author=rule.author,
            )  # fmt: skip
    except VersionConflict:
        return 0
    return 1
