"""Ask a second model, behind a server, about the pairs that are most likely wrong.

Every pair's answer is one transaction: whatever ends the job, the same command resumes, and no
answer is paid for twice. The answers take effect together when all are there: as a sign that moves
the pairs' probabilities, in the disagreement between models, and in the suspect words. Until then
no number changes.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import numpy as np
from PIL import Image

from backend.counts import count_of
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.engine.claims.claim import Claim
from backend.engine.claims.finding import find_claims
from backend.engine.claims.scored_caption import says_something
from backend.engine.constants.part import ConstantPart
from backend.engine.detection.opinion_signs import with_opinions
from backend.engine.language_models.chat_model import Question, average_questions
from backend.engine.language_models.spending import PriceList, Questions, forecast
from backend.errors import (
    BudgetSpent,
    ImageError,
    ModelMismatch,
    NotScored,
    PictureUnseen,
    QuestionRefused,
    SettingsError,
    TracedError,
)
from backend.features.vision_language import queries
from backend.features.vision_language.caption_question import read_prompt
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.features.vision_language.opinions import WORDS, p_yes, signs_of, without_suspects
from backend.features.vision_language.reports import (
    SecondOpinionDryRun,
    SecondOpinionPlan,
    SecondOpinionReport,
)
from backend.features.vision_language.server_question import question_about, without_constants
from backend.features.vision_language.sight_check import (
    FEWEST,
    FEWEST_AGAIN,
    LEAST_ANSWERS,
    MOST,
    MOST_AGAIN,
    check_course,
)
from backend.features.vision_language.sight_proof import SightWatch
from backend.jobs.scoring.classifiers import classifier_in_use
from backend.jobs.scoring.dataset_constants import constants_in
from backend.jobs.scoring.detect import measure_disagreement, renew_suspects
from backend.jobs.scoring.image_batches import open_picture
from backend.jobs.scoring.replace_ranking import use_ranking
from backend.jobs.scoring.stored_rows import to_claim
from backend.jobs.scoring_reports import DryRunQuestion
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.version import VERSION
from db.queries import (
    claim_queries,
    classifier_queries,
    dataset_queries,
    detection_queries,
    pair_queries,
    run_queries,
)
from db.queries.pair_queries import PairCaption, PairRow
from db.queries.run_queries import RunRow
from db.queries.signal_queries import ModelAnswerRow

KIND = "second opinion"
#: Pairs asked about in one round; a server that refuses so many in a row refuses all.
_AT_ONCE, _REFUSED_IN_A_ROW = 64, 5
#: Pairs whose picture is tried for the first question.
_TRIED = 20
#: Pairs read from the store together.
_PAGE = 5000


def open_server(url: str, model: str | None, timeout: float | None = None) -> ChatEndpoint:
    """The model behind an OpenAI-compatible server; None: the only one that it serves. Raises
    SettingsError, ModelUnavailable."""
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise SettingsError(
            "The server's address holds a password, which would be stored. Give it without, and a "
            "key in OPENAI_API_KEY."
        )
    seconds = timeout or 60.0
    if model is None:
        names = ChatEndpoint(url, "", timeout=seconds).served_models()
        if len(names) != 1:
            names_shown = ", ".join(sorted(names)[:10]) or "none"
            raise SettingsError(
                f"The server {url} serves {len(names)} models ({names_shown}).",
                terminal="Choose one: --second-model NAME.",
            )
        model = names[0]
    return ChatEndpoint(url, model, timeout=seconds)


def dry_run(
    store: Store, dataset_id: int, model: str | None, server: str, share: float, prices: PriceList
) -> SecondOpinionDryRun:
    """What a second opinion will take, with what checks the server first, without asking it
    anything. Raises ImageError."""
    pair, question = _first_question(store, dataset_id)
    total, pairs, _, most = _extent(store, dataset_id, share, 0)
    fewest_looks, most_looks = _looks(pairs)
    fewest = 1 + FEWEST + fewest_looks + pairs  # a server may take claims together
    most += 1 + MOST + most_looks
    return SecondOpinionDryRun(
        model or "", server, pairs, total,
        forecast([average_questions([question], model or "", fewest, most)], prices),
        DryRunQuestion.of(pair.id, pair.external_id, question),
    )  # fmt: skip


def plan(
    store: Store, dataset_id: int, endpoint: ChatEndpoint, share: float, watched: bool = True
) -> SecondOpinionPlan:
    """Ask about one pair, and say what the rest will take; `watched`: with looks during it. The
    answer is not kept: it tells, before anything is computed, whether the server can be used.

    Raises ModelUnavailable with advice for one that is down, slow or reports no log-probabilities,
    ModelMismatch for a model that answers something else, ImageError."""
    _, question = _first_question(store, dataset_id)
    began = time.monotonic()
    answer = endpoint.ask(question)
    seconds = time.monotonic() - began
    if p_yes(answer.likeliest) is None:
        raise ModelMismatch(
            f"'{endpoint.name}' at {endpoint.server} answers {answer.likeliest[0][0]!r} when "
            "asked for yes or no. Choose a vision-language model that follows instructions and "
            "answers at once, without reasoning first."
        )
    run = _run(store, dataset_id, endpoint)
    answer_count = len(store.read(queries.opinions_of_run, run.id))
    total, pairs, fewest, most = _extent(store, dataset_id, share, answer_count)
    if endpoint.answers_together:  # those about a pair; a server may take only one each
        fewest = pairs
    if watched:
        fewest, most = (sum(each) for each in zip((fewest, most), _looks(pairs), strict=True))
    if answer.tokens_in:
        questions = Questions(
            endpoint.name, fewest, most, answer.tokens_in, answer.tokens_out, True
        )
    else:
        questions = average_questions([question], endpoint.name, fewest, most)
    return SecondOpinionPlan(
        endpoint.name, endpoint.server, pairs, total,
        forecast([questions], endpoint.spending.prices), seconds,
    )  # fmt: skip


def _first_question(store: Store, dataset_id: int) -> tuple[PairRow, Question]:
    """About the first pair whose picture can be read. Raises ImageError."""
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        first = pair_queries.pairs_after(session, dataset_id, 0, _TRIED)
    for pair in first:
        image = open_picture(Path(dataset.root), pair.image_path)
        if not isinstance(image, str):
            text = without_constants(pair.caption, constants_in(dataset.models))
            return pair, question_about(image, text)
    raise ImageError("None of the first pictures can be read, so the server was not asked.")


def _looks(pairs: int) -> tuple[int, int]:
    """The questions, at least and at most, by which it is watched whether a server still sees: none
    in so short a work that the check before it will do."""
    rounds = math.ceil(pairs / _AT_ONCE) if pairs >= LEAST_ANSWERS else 0
    return rounds * FEWEST_AGAIN, rounds * MOST_AGAIN


def _extent(
    store: Store, dataset_id: int, share: float, answered_count: int
) -> tuple[int, int, int, int]:
    """Pairs of the dataset, those still to be asked about, and the questions, at least and at
    most: one about each claim, and one without each of the most suspect words of a doubtful one."""
    with store.reading() as session:
        total = pair_queries.counts(session, dataset_id).total
        counts = claim_queries.count_claims(session, dataset_id)
    pairs = max(0, math.ceil(share * total) - answered_count)
    fewest = round(pairs * max(1.0, counts.claims / max(1, total)))
    return total, pairs, fewest, fewest + WORDS * pairs


def ask(
    store: Store,
    dataset_id: int,
    endpoint: ChatEndpoint,
    share: float,
    at_once: int = 4,
    progress: Progress = no_progress,
    check: bool = True,
    watch: SightWatch | None = None,
) -> SecondOpinionReport:
    """Ask about this share of the pairs, those most likely wrong first; pairs that were asked about
    before count. `at_once`: requests in flight. `check`: stop if the answers look as if nobody had
    looked at the pictures; `watch`: or if the server no longer sees them, without the answers since
    it was last seen to.

    If the budget is spent, the answers so far take effect. Raises NotScored, and ModelUnavailable
    if the server fails, PictureUnseen by both: then no number has changed, and the same call
    resumes.
    """
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        score_run = run_queries.latest_run(session, dataset_id, "score")
        total = pair_queries.counts(session, dataset_id).total
    if score_run is None:
        raise NotScored(f"'{dataset.name}' is not scored yet. Score it first.")
    run = _run(store, dataset_id, endpoint)
    with store.reading() as session:
        earlier = len(queries.opinions_of_run(session, run.id))
        waiting = queries.unasked_pairs(
            session, dataset_id, run.id, math.ceil(share * total) - earlier
        )
    asking = _Asking(store, endpoint, Path(dataset.root), run.id, constants_in(dataset.models))
    watch = watch if any(_looks(len(waiting))) else None
    with DaemonPool(max(1, at_once)) as pool:
        for first in range(0, len(waiting), _AT_ONCE):
            if check:
                check_course(store, run.id, endpoint)
            pairs = waiting[first : first + _AT_ONCE]
            for answer in pool.map_in_order(asking.answer, pairs):
                asking.keep(answer)
                progress(asking.answers, len(waiting), "Second opinion")
            if watch is not None and not asking.ended.is_set():
                asking.look_again(watch, pairs)
            if asking.ended.is_set():
                break
    if asking.error is not None and not isinstance(asking.error, BudgetSpent):
        raise asking.error
    if check:
        check_course(store, run.id, endpoint)
    left = len(waiting) - asking.answers - asking.left_out
    stopped = f"{asking.error} {count_of(left, 'pair')} left." if asking.error else ""
    opinions = _take_effect(store, dataset_id, run, score_run)
    store.write(run_queries.finish_run, run.id)
    answers = [row.p_yes for row in opinions.values() if row.p_yes is not None]
    agrees = sum(p >= 0.5 for p in answers)
    spending = endpoint.spending
    return SecondOpinionReport(
        dataset_id, run.id, endpoint.name, endpoint.server, asking.answers, earlier, agrees,
        len(answers) - agrees, len(opinions) - len(answers), asking.left_out, spending.requests,
        spending.tokens_in, spending.tokens_out, spending.cost, asking.problem,
        stopped,
    )  # fmt: skip


def discard(store: Store, dataset_id: int, endpoint: ChatEndpoint) -> None:
    """Discard the stored answers of this model at this server, and what followed from them."""
    run = _run(store, dataset_id, endpoint)
    score_run = store.read(run_queries.latest_run, dataset_id, "score")
    store.write(queries.delete_opinions, run.id)
    if score_run is not None:
        _take_effect(store, dataset_id, run, score_run)


@dataclass
class _Asking:
    """The questions of one job, none of which has one of the `constants`. `answer` runs in many
    threads, `keep` in one. `trusted_answers`: how many there were when the server was last seen to
    see. `error`: the first that ended the job; the questions that are in flight then are answered
    and kept."""

    store: Store
    endpoint: ChatEndpoint
    root: Path
    run_id: int
    constants: Sequence[ConstantPart] = ()
    answers: int = 0
    left_out: int = 0
    trusted_answers: int = 0
    refused_in_a_row: int = 0
    problem: str = ""
    error: TracedError | None = None

    def __post_init__(self) -> None:
        self.ended = Event()

    def answer(self, pair: PairCaption) -> ModelAnswerRow | TracedError | None:
        """None if the job has ended meanwhile."""
        if self.ended.is_set():
            return None
        try:
            return self._opinion(pair)
        except TracedError as problem:
            if not isinstance(problem, QuestionRefused | ImageError):
                self.ended.set()
            return problem

    def keep(self, answer: ModelAnswerRow | TracedError | None) -> None:
        if isinstance(answer, ModelAnswerRow):
            self.store.write(queries.save_opinion, self.run_id, answer)
            self.answers, self.refused_in_a_row = self.answers + 1, 0
        elif isinstance(answer, QuestionRefused | ImageError):
            self.left_out, self.problem = self.left_out + 1, str(answer)
            self.refused_in_a_row += isinstance(answer, QuestionRefused)
            if self.refused_in_a_row >= _REFUSED_IN_A_ROW:
                self.ended.set()
                self.error = self.error or answer
        elif answer is not None:
            self.error = self.error or answer

    def look_again(self, watch: SightWatch, pairs: Sequence[PairCaption]) -> None:
        """End the job if the server sees no longer, without the answers about these pairs."""
        try:
            if watch.still_sees():
                self.trusted_answers = self.answers
                return
        except TracedError as problem:
            self.error = problem
        else:
            ids = [pair.pair_id for pair in pairs]
            self.store.write(queries.delete_opinions, self.run_id, ids)
            discarded = self.answers - self.trusted_answers
            self.error = PictureUnseen(
                f"{self.endpoint.where} no longer tells the picture that a text describes from "
                f"another, which it did before. The last {count_of(discarded, 'answer')}, given "
                "since, will be asked for again; no number has changed.",
                sight="lost",
            )
        self.ended.set()

    def _opinion(self, pair: PairCaption) -> ModelAnswerRow:
        image = open_picture(self.root, pair.image_path)
        if isinstance(image, str):
            raise ImageError(image)
        claims = self._claims(pair)
        texts = [claim.question(pair.caption) for claim in claims]
        both = zip(self._p_yes(image, texts), claims, strict=True)
        answers = [(p, claim) for p, claim in both if p is not None]
        opinion, claim = min(answers, key=lambda answer: answer[0], default=(None, None))
        if opinion is None or claim is None or opinion >= 0.5:  # a deletion explains doubts only
            return ModelAnswerRow(pair.pair_id, opinion)
        detection = self.store.read(detection_queries.get_detection, pair.pair_id)
        suspects = [
            (*place, score)
            for start, end, score in (detection.suspects if detection else ())
            if (place := claim.in_question(pair.caption, start, end)) is not None
        ]
        rests = list(without_suspects(claim.question(pair.caption), suspects))
        deletions = [
            (*claim.in_caption(pair.caption, start, end), without)
            for (start, end, _), without in zip(
                rests, self._p_yes(image, [text for *_, text in rests]), strict=True
            )
            if without is not None
        ]
        return ModelAnswerRow(pair.pair_id, opinion, tuple(deletions))

    def _claims(self, pair: PairCaption) -> Sequence[Claim]:
        """The claims that are asked about, each by its own words: a caption is as doubtful as the
        most doubtful of them."""
        rows = self.store.read(claim_queries.claims_of, [pair.pair_id]).get(pair.pair_id, [])
        claims = [claim for row in rows if says_something(claim := to_claim(row), row.icc)]
        return claims or find_claims(pair.caption, "whole", constants=self.constants)

    def _p_yes(self, image: Image.Image, texts: Sequence[str]) -> list[float | None]:
        questions = [question_about(image, text) for text in texts]
        return [p_yes(answer.likeliest) for answer in self.endpoint.ask_all(questions)]


def _run(store: Store, dataset_id: int, endpoint: ChatEndpoint) -> RunRow:
    """The run of this model on this dataset: an earlier one, or a new one."""
    with store.writing() as session:
        return run_queries.find_or_start(
            session, kind=KIND, dataset_id=dataset_id, scorer_kind="server", model=endpoint.name,
            revision="", explorer="none", code_version=VERSION,
            parameters={"url": endpoint.server, "prompt": read_prompt().text},
        )  # fmt: skip


def _take_effect(
    store: Store, dataset_id: int, run: RunRow, scoring_run: RunRow
) -> dict[int, ModelAnswerRow]:
    """Use the run's answers instead of those of an earlier one; returns them."""
    ids, p_errors, before = list[int](), list[float](), dict[int, float]()
    with store.reading() as session:
        opinions = queries.opinions_of_run(session, run.id)
        active = classifier_queries.active(session, dataset_id)
        after_id = 0
        while page := pair_queries.pairs_after(
            session, dataset_id, after_id, _PAGE, with_hidden=True
        ):
            after_id = page[-1].id
            ids += [pair.id for pair in page]
            p_errors += [math.nan if pair.p_error is None else pair.p_error for pair in page]
            before |= {
                p.id: sign for p in page if (sign := p.numbers["second_opinion"]) is not None
            }
    signs = signs_of({id: row.p_yes for id, row in opinions.items() if row.p_yes is not None})
    classifier = classifier_in_use(store, dataset_id)
    if signs != before and classifier is not None:
        change = np.array([signs.get(id, 0.0) - before.get(id, 0.0) for id in ids])
        after = with_opinions(np.array(p_errors), change, classifier.opinion_weight)
        use_ranking(
            store, dataset_id, np.array(ids, np.int64), after,
            lambda session: queries.save_signs(session, dataset_id, signs),
        )  # fmt: skip
    if active is not None:
        renew_suspects(store, scoring_run, active.id, sorted(opinions))
    measure_disagreement(store, dataset_id)
    return opinions
