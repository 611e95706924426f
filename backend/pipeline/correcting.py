"""Correct the pairs of a queue in bulk; suggestions wait for a curator.

Every pair is one transaction: its suggestions and that it was asked about. Stopped at any moment,
the same command goes on behind it; a model's answers are kept besides, so none is paid for twice.

A *rule*, and nothing else, may accept a suggestion without a person. The verdict's author then is
the rule in its own words ("rule: p <= 0.2 and gain >= 0.1"), and neither training nor the figures
of the Progress page take it for somebody's judgement.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image

from backend.correction import judge, prompting
from backend.correction.by_language_model import Corrector, Proposal, propose
from backend.correction.ranking import SMALLEST_GAIN
from backend.correction.suggestion import Case, Suggestion
from backend.datasets.containers import locate
from backend.datasets.images import load_image
from backend.detection.classifier import Classifier
from backend.detection.localisation import suspect_words
from backend.engine import Engine
from backend.errors import BudgetSpent, ImageError, SettingsError, UnsafePath
from backend.pipeline import Progress, no_progress
from backend.pipeline.classifiers import classifier_in_use, judging
from backend.pipeline.neighbours import prepare_neighbours
from backend.pipeline.offers import in_order, to_save
from backend.pipeline.scoring import exploring_of, to_trajectory
from backend.pipeline.training import scored_by_this_model
from backend.store import Store
from backend.views import CorrectionReport, DryRun, DryRunQuestion
from db.authors import RULE
from db.errors import VersionConflict
from db.queries import datasets as dataset_queries
from db.queries import queue as queue_queries
from db.queries import suggestions as suggestion_queries
from db.queries import trajectories as trajectory_queries
from db.queries import verdicts as verdict_queries
from db.queries.queue import QueueFilter, QueueRow
from db.queries.runs import RunRow
from db.queries.suggestions import Attempt

#: Suggestions made without a vision-language model, as their attempts are called.
MODEL_FREE = "model-free v1"
_PAGE = 24
#: A rough count, for a dry run alone: characters of English a token, tokens of a picture.
_CHARACTERS_A_TOKEN, _TOKENS_A_PICTURE = 4, 800


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
            raise SettingsError("A gain of 0 or less accepts what does not improve the caption.")

    @property
    def author(self) -> str:
        return f"{RULE}p <= {self.p:g} and gain >= {self.gain:g}"

    def accepts(self, offer: suggestion_queries.SuggestionRow) -> bool:
        return (
            offer.p_after is not None
            and offer.p_after <= self.p
            and offer.s_after - offer.s_before >= self.gain
        )


def correct(
    store: Store,
    engine: Engine,
    filter: QueueFilter,
    corrector: Corrector | None = None,
    rule: Rule | None = None,
    limit: int | None = None,
    at_once: int = 1,
    progress: Progress = no_progress,
) -> CorrectionReport:
    """Ask for a correction of every scored pair that the filter lets through, in its order.

    `corrector` None: those that need no vision-language model. `limit`: pairs looked at, at most.
    `at_once`: questions in flight; more than one only for models behind a server. Ends early, and
    says so, where the budget is spent; raises ModelUnavailable where the model is gone: what was
    done until then is kept.
    """
    work = Workbench(store, engine, filter.dataset_id, corrector)
    counts: Counter[str] = Counter()
    accepted = done = 0
    stopped = ""
    with store.reading() as session:
        total = queue_queries.count(session, filter)
    total = min(total, limit) if limit is not None else total
    for rows in _pages(store, filter, limit):
        try:
            for row, outcome in work.page(rows, at_once):
                counts[outcome] += 1
                done += 1
                if rule is not None and row.decision is None:
                    accepted += _accept(store, row, work.run, rule)
                progress(done, total, "Correcting")
        except BudgetSpent as problem:
            stopped = str(problem)
            break
    spending = corrector.model.spending if corrector is not None else None
    return CorrectionReport(
        dataset_id=filter.dataset_id,
        proposer=work.proposer,
        looked_at=done,
        outcomes=dict(counts),
        accepted=accepted,
        rule=rule.author if rule is not None else None,
        requests=spending.requests if spending else 0,
        answers_kept=spending.kept if spending else 0,
        tokens_in=spending.tokens_in if spending else 0,
        tokens_out=spending.tokens_out if spending else 0,
        cost=spending.cost if spending else 0.0,
        stopped=stopped,
    )


def dry_run(
    store: Store, engine: Engine, filter: QueueFilter, corrector: Corrector, shown: int = 3
) -> DryRun:
    """What would be sent, to the letter, for the first pairs; nothing is sent."""
    work = Workbench(store, engine, filter.dataset_id, corrector)
    cases = (
        (row, case)
        for rows in _pages(store, filter, None)
        for row, case in work.cases(work.not_yet(rows))
        if isinstance(case, Case)
    )
    asked = [(row, prompting.question(case, corrector.mode)) for row, case in islice(cases, shown)]
    with store.reading() as session:
        total = queue_queries.count(session, filter)
    characters = sum(len(one.system) + len(one.user) for _, one in asked)
    each = characters / max(1, len(asked)) / _CHARACTERS_A_TOKEN + _TOKENS_A_PICTURE
    questions = tuple(
        DryRunQuestion(row.pair_id, row.external_id, one.system, one.user, len(one.image or b""))
        for row, one in asked
    )
    return DryRun(corrector.proposer, total, round(each), questions)


# --------------------------------------------------------------------------------------- the work


class Workbench:
    """What all pairs of one command have in common."""

    def __init__(
        self, store: Store, engine: Engine, dataset_id: int, corrector: Corrector | None
    ) -> None:
        self.store, self.engine, self.corrector = store, engine, corrector
        self.run: RunRow = scored_by_this_model(store, engine, dataset_id)
        prepare_neighbours(store, engine, dataset_id, no_progress)
        self.classifier: Classifier | None = classifier_in_use(store, dataset_id)
        with store.reading() as session:
            self.root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        self.proposer = corrector.proposer if corrector is not None else MODEL_FREE

    def page(self, rows: Sequence[QueueRow], at_once: int) -> Iterator[tuple[QueueRow, str]]:
        """(pair, outcome) of a page, each as soon as it is committed."""
        waiting = self.not_yet(rows)
        asked = {row.pair_id for row in waiting}
        yield from ((row, "asked before") for row in rows if row.pair_id not in asked)
        opened = list(self.cases(waiting))
        yield from ((row, case) for row, case in opened if isinstance(case, str))
        cases = [(row, case) for row, case in opened if isinstance(case, Case)]
        if self.corrector is None:
            for row, case in cases:
                yield row, self._offer(row, case, None)
            return
        for row, case, found in _asked(cases, self.corrector, at_once):
            yield row, self._offer(row, case, found)

    def not_yet(self, rows: Sequence[QueueRow]) -> list[QueueRow]:
        """The pairs that this proposer was not asked about under this run."""
        with self.store.reading() as session:
            known = suggestion_queries.attempted(
                session, [row.pair_id for row in rows], self.proposer, self.run.id
            )
        return [row for row in rows if row.pair_id not in known]

    def cases(self, rows: Sequence[QueueRow]) -> Iterator[tuple[QueueRow, Case | str]]:
        """Each pair with all that is known about it, or with why it cannot be asked about."""
        with self.store.reading() as session:
            stored = trajectory_queries.trajectories_of(
                session, self.run.id, [row.pair_id for row in rows]
            )
        for row in rows:
            if row.pair_id not in stored:
                yield row, "not scored"
                continue
            image = self._image(row)
            if image is None:
                yield row, "image unreadable"
                continue
            trajectory = to_trajectory(row.caption, stored[row.pair_id])
            with self.engine.lock:
                state = self.engine.scorer.of_pair(self.engine.encode([image])[0], row.pair_id)
            suspects = suspect_words(trajectory, row.p_error)
            yield row, Case(image, state, trajectory, suspects, row.p_error)

    def _image(self, row: QueueRow) -> Image.Image | None:
        try:
            return load_image(locate(self.root, row.image_path))
        except (ImageError, UnsafePath, OSError):
            return None

    def _offer(self, row: QueueRow, case: Case, found: Proposal | None) -> str:
        """Judge what was proposed and commit it; the outcome."""
        if found is None:
            with self.engine.lock:
                proposals = judge.model_free(case, self.engine.captioner)
                offers = self._judged(case, proposals, keep=False)
            outcome = "offered" if offers else "no better"
        elif found.caption is None:
            offers, outcome = [], found.outcome
        else:
            with self.engine.lock:
                offers = self._judged(case, {found.caption: self.proposer}, keep=True)
            better = bool(offers) and offers[0].s_after > offers[0].s_before + SMALLEST_GAIN
            outcome = "offered" if better else "no better"
        told = found.told if found is not None else ""
        with self.store.writing() as session:
            suggestion_queries.save_suggestions(
                session, [to_save(row.pair_id, o, self.run.id, self._from(found)) for o in offers]
            )
            suggestion_queries.save_attempt(
                session, Attempt(row.pair_id, self.proposer, self.run.id, outcome, told)
            )
        return outcome

    def _judged(self, case: Case, proposals: dict[str, str], keep: bool) -> list[Suggestion]:
        return judge.judge(
            self.engine.scorer, case, proposals, judging(self.classifier),
            exploring=exploring_of(self.run), keep=keep,
        )  # fmt: skip

    def _from(self, found: Proposal | None) -> dict[str, Any] | None:
        if found is None or self.corrector is None:
            return None
        return {
            "model": self.corrector.model.name,
            "mode": self.corrector.mode,
            "prompt": prompting.VERSIONS[self.corrector.mode],
            "repaired": found.repaired,
            "steps": [[step.word, step.seen, step.wrong] for step in found.steps],
        }


def _asked(
    cases: Sequence[tuple[QueueRow, Case]], corrector: Corrector, at_once: int
) -> Iterator[tuple[QueueRow, Case, Proposal]]:
    """Answers in the order of the pairs, up to the budget's end."""
    with ThreadPoolExecutor(max(1, at_once)) as pool:
        futures = [pool.submit(propose, case, corrector) for _, case in cases]
        try:
            for (row, case), future in zip(cases, futures, strict=True):
                yield row, case, future.result()
        finally:
            for future in futures:
                future.cancel()


def _pages(store: Store, filter: QueueFilter, limit: int | None) -> Iterator[Sequence[QueueRow]]:
    after, seen = None, 0
    while limit is None or seen < limit:
        size = _PAGE if limit is None else min(_PAGE, limit - seen)
        with store.reading() as session:
            page = queue_queries.page(session, filter, after, size)
        if page.rows:
            yield page.rows
        seen += len(page.rows)
        if page.next_cursor is None:
            return
        after = page.next_cursor


def _accept(store: Store, row: QueueRow, run: RunRow, rule: Rule) -> int:
    """1 if the best suggestion satisfies the rule and nobody has decided the pair meanwhile."""
    with store.reading() as session:
        offers = suggestion_queries.list_suggestions(session, row.pair_id, run.id)
    chosen = next((one for one in in_order(row.caption, offers) if rule.accepts(one)), None)
    if chosen is None or chosen.caption == row.caption:
        return 0
    try:
        with store.writing() as session:
            verdict_queries.add_verdict(
                session, row.pair_id, row.verdict_version, "correction", chosen.caption, chosen.id,
                author=rule.author,
            )  # fmt: skip
    except VersionConflict:
        return 0
    return 1
