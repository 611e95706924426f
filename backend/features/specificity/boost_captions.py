"""Enrich the captions of a queue in bulk; the enrichments wait for a curator.

Every pair is one transaction (its enrichments and the attempt), and a
model's answers are cached: the same command resumes, and no request is paid for twice.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backend.counts import count_of
from backend.engine import memory
from backend.engine.correction.suggestion import CorrectionContext, Suggestion
from backend.engine.language_models.asking import reason_to_skip
from backend.engine.language_models.chat_model import ChatModel, Question, average_questions
from backend.engine.language_models.spending import PriceList, forecast
from backend.errors import BudgetSpent, NoLanguageModel, NotScored, SettingsError
from backend.features.specificity import boosting, queries
from backend.features.specificity.boosting import Boost, Booster, GuardedProposal
from backend.features.specificity.measuring import Judge
from backend.features.specificity.picture_doubts import WRONG_FROM, PictureDoubts
from backend.features.specificity.reports import BoostDryRun, BoostReport
from backend.jobs.pair_contexts import PairContexts
from backend.jobs.queue_pages import pages
from backend.jobs.scoring.stored_rows import to_save
from backend.jobs.scoring_reports import DryRunQuestion
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.decisions import RIGHT_NOW
from db.queries import queue_queries, suggestion_queries
from db.queries.pair_queries import PairRow
from db.queries.queue_filter import QueueFilter, QueueRow
from db.queries.suggestion_queries import Attempt

#: Verdicts after which nothing is added to a caption.
_NOT_ENRICHED = ("drop", "wrong")


def boost(
    store: Store,
    engine: Engine,
    filter: QueueFilter,
    booster: Booster,
    limit: int | None = None,
    progress: Progress = no_progress,
    calibrate: bool = True,
    check: bool = False,
) -> BoostReport:
    """Ask for richer captions of every scored pair that matches the filter, in its order.

    `calibrate`: fit the guard's rule to people's captions before the first proposal is judged,
    unless that has been done. `check`: first ask a server whether it sees pictures.
    Stops early, and reports it, if the budget is spent. Raises ModelUnavailable if a model is
    unreachable and NotScored if specificity has not been measured; finished work is kept.
    """
    work = BoostWork(
        store, engine, filter.dataset_id, booster, calibrating=progress if calibrate else None
    )
    outcomes: Counter[str] = Counter()
    done, struck, stop_reason = 0, 0, ""
    total = store.read(queue_queries.count, filter, limit)
    try:
        if check and total and (sees := _model_that_sees(booster)) is not None:
            sees.check_sight()
        for row, context in work.waiting(filter, limit):
            if isinstance(context, str):
                outcomes[context] += 1
            else:
                outcome, taken_out = work.pair(row, context)
                outcomes[outcome] += 1
                struck += taken_out
            done += 1
            progress(done, total, "Enriching")
    except BudgetSpent as problem:
        stop_reason = f"{problem} {count_of(total - done, 'pair')} left."
    return BoostReport(
        filter.dataset_id, done, dict(outcomes), *engine.spending.figures,
        stopped=stop_reason, struck=struck, calibrated_on=work.doubts.rule.phrases,
    )  # fmt: skip


def _model_that_sees(booster: Booster) -> ChatModel | None:
    """The model that gets pictures; None if no kind needs them."""
    return booster.sees if {"visual", "holistic"} & set(booster.kinds) else None


def dry_run(
    store: Store,
    engine: Engine,
    filter: QueueFilter,
    booster: Booster,
    prices: PriceList,
    limit: int | None = None,
    count: int = 3,
    check: bool = False,
) -> BoostDryRun:
    """The exact first requests, without sending them, and what all will take, what `check` sends
    first included. Holistic requests depend on the answers: they are counted like blends, and not
    shown."""
    work = BoostWork(store, engine, filter.dataset_id, booster)
    examples: list[tuple[QueueRow, Question]] = []
    blends: list[Question] = []
    pictures: list[Question] = []
    kinds = set(booster.kinds)
    for row, context in work.waiting(filter, limit):
        if isinstance(context, str) or _looks_wrong(row):
            continue
        captions = boosting.joinable(work.captions(row))
        if len(captions) > 1:
            blends.append(boosting.blend_question(captions))
            examples.append((row, blends[-1]))
        if booster.sees is not None and {"visual", "holistic"} & kinds:
            pictures.append(boosting.visual_question(context.image))
            examples.append((row, pictures[-1]))
        if len(examples) >= count:
            break
    total = store.read(queue_queries.count, filter, limit)
    model = booster.blends or booster.sees
    questions = []
    if pictures and booster.sees is not None:
        checks = booster.sees.count_sight_questions() if check else 0
        questions.append(average_questions(pictures, booster.sees.name, 0, total + checks))
    if examples and model is not None:
        # A picture with a single caption needs no blend.
        of_captions = ("blend" in kinds or "holistic" in kinds) + ("holistic" in kinds)
        questions.append(average_questions(blends or pictures, model.name, 0, of_captions * total))
    return BoostDryRun(
        work.name, total, forecast(questions, prices),
        tuple(
            DryRunQuestion.of(row.pair_id, row.external_id, question)
            for row, question in examples[:count]
        ),
        booster.sees.server if booster.sees and kinds & {"visual", "holistic"} else None,
        model.server if model and kinds & {"blend", "holistic"} else None,
    )  # fmt: skip


@dataclass(frozen=True)
class ProposalOutcome:
    """A proposal and its outcome. `suggestion` None: refused by the guard; `reason`: why a proposal
    that passed the guard is not offered either; `ranks`: (before, after, of) of its picture;
    `pairs`: those whose captions it is based on; `gain`: in specificity; `unsupported`: number of
    its words from no source."""

    boost: Boost
    guarded: GuardedProposal
    pairs: tuple[int, ...] = ()
    gain: float = 0.0
    unsupported: int = 0
    suggestion: Suggestion | None = None
    ranks: tuple[int, ...] = ()
    reason: str = ""


class BoostWork:
    """State shared by all pairs of one command. `calibrating`: the progress of fitting the guard's
    rule, which is done before the first proposal is judged; None: it is not fitted."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        dataset_id: int,
        booster: Booster,
        calibrating: Progress | None = None,
    ) -> None:
        self._calibrating = calibrating
        self.store, self.engine, self.booster = store, engine, booster
        self.dataset_id = dataset_id
        with store.reading() as session:
            if not queries.is_measured(session, dataset_id):
                raise NotScored(
                    "Specificity has not been measured yet.",
                    terminal="Run: python app.py score NAME --specificity",
                    page="Measure it under Add data: “Measure how specific its captions are”.",
                )
        self.contexts = PairContexts(store, engine, dataset_id, reason_to_skip)
        self.judge = Judge(store, engine, dataset_id)
        self.doubts = PictureDoubts(store, engine, self.contexts, dataset_id, self.judge.scale)
        kinds = ",".join(kind[0] for kind in booster.kinds)
        self.name = f"{booster.proposer(booster.kinds[-1])[:50]} ({kinds})"

    def waiting(
        self, filter: QueueFilter, limit: int | None
    ) -> Iterator[tuple[QueueRow, CorrectionContext | str]]:
        """Pairs of the queue, each with its context or with the reason for skipping it."""
        for rows in pages(self.store, filter, limit):
            attempts = self.store.read(
                suggestion_queries.attempted_outcomes,
                [row.pair_id for row in rows],
                self.name,
                self.contexts.run.id,
            )
            standing = [row for row in rows if row.decision not in _NOT_ENRICHED]
            yield from ((row, "judged wrong") for row in rows if row.decision in _NOT_ENRICHED)
            yield from ((row, "asked before") for row in standing if row.pair_id in attempts)
            yield from self.contexts.of([row for row in standing if row.pair_id not in attempts])

    def captions(self, row: QueueRow) -> list[str]:
        """The texts of `sources`."""
        return [text for _, text in self.sources(row)]

    def sources(self, row: QueueRow) -> list[tuple[int, str]]:
        """(pair, caption): the human captions of the pair's picture, its own first: with
        corrections applied, and without those that were dropped or look wrong."""
        others = self.store.read(queries.of_picture, self.dataset_id, row.image_path)
        of_pair = [other for other in others if other.id == row.pair_id]
        rest = [other for other in others if other.id != row.pair_id and _is_trusted(other)]
        return [(other.id, other.corrected_caption or other.caption) for other in (*of_pair, *rest)]

    def pair(self, row: QueueRow, context: CorrectionContext) -> tuple[str, int]:
        """Ask, guard, judge and commit; returns (outcome, phrases removed)."""
        candidates, outcome, why = self.consider(row, context)
        suggestions = [
            (
                proposal.suggestion,
                self._from(proposal)
                | {"icc": self.engine.concreteness([row.caption, proposal.suggestion.caption])},
            )
            for proposal in candidates
            if proposal.suggestion is not None and not proposal.reason
        ]
        struck = sum(len(proposal.guarded.struck) for proposal in candidates)
        with self.store.writing() as session:
            suggestion_queries.save_suggestions(
                session,
                [
                    to_save(row.pair_id, suggestion, self.contexts.run.id, where, kind="boost")
                    for suggestion, where in suggestions
                ],
            )
            suggestion_queries.save_attempt(
                session, Attempt(row.pair_id, self.name, self.contexts.run.id, outcome, why)
            )
        memory.release()
        return outcome, struck

    def consider(
        self, row: QueueRow, context: CorrectionContext
    ) -> tuple[list["ProposalOutcome"], str, str]:
        """Ask, guard and judge without writing: every proposal, the outcome, and its reason."""
        if _looks_wrong(row):
            return [], "looks wrong", ""
        sources = self.sources(row)
        captions = [text for _, text in sources]
        proposals = boosting.make(context.image, captions, self.booster)
        if proposals.made and self._calibrating is not None:
            # Not earlier: it takes a minute, too long to wait before a wrong address is reported.
            self.doubts.calibrate(self.captions, self._calibrating)
            self._calibrating = None
        outcome = proposals.failed[0][1] if proposals.failed else "nothing to blend"
        why = "; ".join(f"{kind}: {message}" for kind, _, message in proposals.failed)
        candidates = []
        for boost in proposals.made:
            guarded = self.guard(context, boost, captions)
            if not guarded.caption:
                outcome, why = "refused by the guard", guarded.refused
                candidates.append(ProposalOutcome(boost, guarded))
                continue
            suggestion, ranks, gain, reason = self.judge_guarded(row, context, boost, guarded)
            if reason:
                outcome, why = "no better", reason
            candidates.append(
                ProposalOutcome(
                    boost, guarded, _pairs_of(boost, sources), gain,
                    boosting.unsupported_words(boost, guarded, captions), suggestion, ranks, reason,
                )
            )  # fmt: skip
        if any(boost.suggestion is not None and not boost.reason for boost in candidates):
            outcome = "offered"
        return candidates, outcome, why

    def guard(
        self, context: CorrectionContext, boost: Boost, captions: Sequence[str]
    ) -> GuardedProposal:
        reader = self.engine.scorer.reader
        with self.engine.lock:
            words_read = reader.words_read(boost.caption)
            return boosting.guard(
                boost, captions, self.doubts.of(context), words_read, self.doubts.rule
            )

    def judge_guarded(
        self, row: QueueRow, context: CorrectionContext, boost: Boost, proposal: GuardedProposal
    ) -> tuple[Suggestion, tuple[int, ...], float, str]:
        """The suggestion, its picture's ranks (before, after, of), the gain in specificity, and why
        it is not offered."""
        suggestions = self.contexts.judge(
            context, {proposal.caption: self.booster.proposer(boost.kind)}
        )
        suggestion = suggestions[0]
        with self.engine.lock:
            ranks = self.judge.ranks_of(row.pair_id, [row.caption, proposal.caption])
        if not ranks:
            return suggestion, (), 0.0, "its picture has no vector"
        (before, rank, of), (after, new_rank, _) = ranks
        gain = after - before
        why = boosting.keeps(context.p_error, suggestion.p_after, gain, rank - new_rank)
        return suggestion, (rank, new_rank, of), gain, why

    def _from(self, proposal: ProposalOutcome) -> dict[str, Any]:
        """The provenance of an enrichment. Rows stored by earlier versions lack `pairs`, `visual`,
        `gain`, `unsupported`, `worth` and `icc`."""
        boost, guarded = proposal.boost, proposal.guarded
        model = self.booster.sees if boost.kind == "visual" else self.booster.blends
        return {
            "model": getattr(model or self.booster.sees, "name", ""),
            "boost": boost.kind,
            "prompt": boosting.VERSIONS[boost.kind],
            "pairs": list(proposal.pairs),
            "sources": list(boost.sources),
            "visual": boost.visual,
            "struck": [[w.start, w.end, w.why] for w in guarded.struck],
            "anchored": round(guarded.anchored, 3),
            "notes": list(guarded.notes),
            "ranks": list(proposal.ranks),
            "gain": round(proposal.gain, 4),
            "unsupported": proposal.unsupported,
            "worth": round(boosting.worth(proposal.gain, proposal.unsupported), 4),
        }


def _pairs_of(boost: Boost, sources: Sequence[tuple[int, str]]) -> tuple[int, ...]:
    """The pairs whose captions were sent; of equal captions the first."""
    pair_of = {text: pair_id for pair_id, text in reversed(sources)}
    return tuple(dict.fromkeys(pair_of[text] for text in boost.sources if text in pair_of))


def _looks_wrong(row: QueueRow) -> bool:
    """Whether an undecided caption is more likely wrong than right."""
    return row.p_error is not None and row.p_error > WRONG_FROM and row.decision is None


def _is_trusted(pair: PairRow) -> bool:
    if pair.decision in _NOT_ENRICHED:
        return False
    decided = pair.decision in RIGHT_NOW
    return decided or pair.p_error is None or pair.p_error <= WRONG_FROM


def booster(
    engine: Engine, kinds: Sequence[str], llm: str | None = None, llm_url: str | None = None
) -> Booster:
    """The models that write richer captions: the session's vision-language model, and a language
    model (default: the same). Raises SettingsError, ModelUnavailable."""
    unknown = [kind for kind in kinds if kind not in boosting.KINDS]
    if unknown or not kinds:
        raise SettingsError(
            f"There is no kind '{''.join(unknown[:1])}'; there are {', '.join(boosting.KINDS)}."
        )
    sees = blends = engine.chat_model
    if llm is not None:
        settings = replace(engine.settings, corrector=llm, corrector_url=llm_url)
        blends = Engine(settings, spending=engine.spending).chat_model
    if (sees is None and set(kinds) != {"blend"}) or blends is None:
        raise NoLanguageModel(
            "No vision-language model is configured.",
            terminal="Name one: --vlm NAME. Blends alone need only a language model: --llm.",
            page="The server's administrator can add one.",
        )
    return Booster(sees, blends, tuple(kinds))  # checked above  # pyrefly: ignore[bad-argument-type]
