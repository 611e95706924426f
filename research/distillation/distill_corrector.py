"""Distill a corrector: train a small model on accepted corrections, on a teacher's, or on both.

A share of the pictures is held out. The student is evaluated on their accepted corrections before
and after training, and so is the teacher; where people have accepted too few, the student is
compared with the teacher's corrections instead, as in the paper, which has no others.
"""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.engine.correction.modes import Mode
from backend.engine.correction.suggestion import CorrectionContext, words_changed
from backend.engine.language_models.asking import reason_to_skip
from backend.engine.language_models.chat_model import ChatModel, average_questions
from backend.engine.language_models.spending import PriceList, forecast
from backend.errors import SettingsError, TrainingError
from backend.features.corrections import prompting
from backend.features.corrections.corrector import Corrector, propose
from backend.features.vision_language.local import LocalVisionLanguageModel
from backend.jobs.pair_contexts import PairContexts
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.authors import is_rule
from db.queries import pair_queries, queue_queries
from db.queries.queue_filter import QueueFilter, QueueRow
from research.distillation.fine_tuning import (
    Example,
    Recipe,
    answer_of,
    fine_tune,
    write_instructions,
)
from research.request_forecast import RequestForecast

FEWEST = 20
#: Maximum number of captions judged correct, to be left unchanged, per correction.
RIGHT_FOR_EACH = 0.5
_PAGE = 100


@dataclass(frozen=True)
class CorrectorFigures:
    """Results on corrected captions: shares with a readable answer, with a
    caption, and with exactly the correction wanted; mean rise of s and number of words changed
    (None without a caption)."""

    model: str
    readable: float
    corrected: float
    same: float
    rise_of_s: float | None
    words_changed: float | None


@dataclass(frozen=True)
class DistillationReport:
    """`examples`: trained on, of which `from_teacher` are the teacher's answers; `held_out`:
    corrections that the untrained student, the student and the teacher were evaluated on;
    `by_teacher`: whether these are the teacher's, which then is not evaluated itself."""

    dataset_id: int
    examples: int
    from_teacher: int
    held_out: int
    by_teacher: bool
    losses: tuple[float, ...]
    untrained: CorrectorFigures
    student: CorrectorFigures
    teacher: CorrectorFigures | None
    model: Path


@dataclass(frozen=True)
class _Lesson:
    context: CorrectionContext
    wanted: str
    held_out: bool


def distill(
    store: Store,
    engine: Engine,
    dataset_id: int,
    student: LocalVisionLanguageModel,
    out: Path,
    teacher: ChatModel | None = None,
    mode: Mode = "words",
    taught: int = 0,
    held_out: float = 0.2,
    recipe: Recipe = Recipe(),  # noqa: B008  (frozen)
    progress: Progress = no_progress,
) -> DistillationReport:
    """Train `student` and write the model and its training data to `out`.

    `taught`: number of undecided pairs, most likely wrong first, that the teacher corrects for
    training. `held_out`: share of the pictures. Raises TrainingError if there are fewer than FEWEST
    corrections, by people or by the teacher, SettingsError for incompatible options.
    """
    if mode == "reasoning":
        raise SettingsError(
            "The student is trained on answers without reasoning: use another mode."
        )
    if taught and teacher is None:
        raise SettingsError("Set the teacher model: --teacher NAME.")
    bench = PairContexts(store, engine, dataset_id, reason_to_skip)
    accepted_lessons = list(_accepted_lessons(bench, dataset_id, held_out))
    enough = _are_enough(accepted_lessons)
    if not enough and not taught:
        raise TrainingError(
            f"{len(_corrections(accepted_lessons))} corrections were accepted by people; at least "
            f"{FEWEST} are needed, of which some are held out. A teacher needs none: "
            "--teacher NAME --taught N."
        )
    taught_lessons = []
    if teacher is not None and taught:
        corrector = Corrector(teacher, mode)
        taught_lessons = list(_taught_lessons(bench, dataset_id, corrector, taught, held_out))
    if not enough and not _are_enough(taught_lessons):
        raise TrainingError(
            f"The teacher corrected {len(_corrections(taught_lessons))} captions; at least "
            f"{FEWEST} are needed, of which some are held out: raise --taught."
        )
    from_teacher = sum(not lesson.held_out for lesson in taught_lessons)
    training_examples = [
        Example(prompting.question(lesson.context, mode), answer_of(lesson.wanted))
        for lesson in (*accepted_lessons, *taught_lessons)
        if not lesson.held_out
    ]
    out.mkdir(parents=True, exist_ok=True)
    write_instructions(training_examples, out)
    exam = [
        lesson
        for lesson in _corrections(accepted_lessons if enough else taught_lessons)
        if lesson.held_out
    ]
    before = _examine(bench, exam, Corrector(student, mode))
    losses = fine_tune(student, training_examples, out, recipe, progress)
    # Cached answers of the untrained student must not be used for the trained one.
    cache = dataclasses.replace(student.kept, folder=None)
    trained_student = LocalVisionLanguageModel(
        str(out / "model"), student.model, student.processor, cache, student.spending
    )
    after = _examine(bench, exam, Corrector(trained_student, mode))
    return DistillationReport(
        dataset_id=dataset_id,
        examples=len(training_examples),
        from_teacher=from_teacher,
        held_out=len(exam),
        by_teacher=not enough,
        losses=tuple(losses),
        untrained=before,
        student=after,
        teacher=(
            _examine(bench, exam, Corrector(teacher, mode))
            if teacher is not None and enough
            else None
        ),
        model=out / "model",
    )


def anticipate(
    store: Store,
    engine: Engine,
    dataset_id: int,
    teacher: Corrector,
    taught: int,
    held_out: float,
    prices: PriceList,
) -> RequestForecast:
    """What the requests to the teacher will take; none is sent."""
    bench = PairContexts(store, engine, dataset_id, reason_to_skip)
    lessons = list(_accepted_lessons(bench, dataset_id, held_out))
    enough = _are_enough(lessons)
    exam = [each.context for each in _corrections(lessons) if each.held_out and enough]
    contexts = [*exam, *(context for _, context in _undecided_pairs(bench, dataset_id, taught))]
    questions = [prompting.question(context, teacher.mode) for context in contexts]
    # Stored answers are not asked for again.
    estimate = average_questions(questions, teacher.model.name, 0, len(questions))
    return RequestForecast(teacher.model.name, len(questions), forecast([estimate], prices))


def _corrections(lessons: Sequence[_Lesson]) -> list[_Lesson]:
    return [lesson for lesson in lessons if lesson.wanted != lesson.context.caption.text]


def _are_enough(lessons: Sequence[_Lesson]) -> bool:
    """Whether there are FEWEST corrections, some held out and some to train on."""
    corrections = _corrections(lessons)
    return len(corrections) >= FEWEST and len({lesson.held_out for lesson in corrections}) == 2


def _accepted_lessons(bench: PairContexts, dataset_id: int, held_out: float) -> Iterator[_Lesson]:
    """Corrections accepted by people, then captions that they judged correct."""
    corrections = 0
    for row in _decided_rows(bench.store, dataset_id, "correction"):
        for _, context in bench.of([row]):
            if isinstance(context, CorrectionContext) and row.corrected_caption:
                corrections += 1
                yield _Lesson(context, row.corrected_caption, _is_held_out(row, held_out))
    for number, row in enumerate(_decided_rows(bench.store, dataset_id, "correct")):
        if number >= RIGHT_FOR_EACH * corrections:
            return
        for _, context in bench.of([row]):
            if isinstance(context, CorrectionContext):
                yield _Lesson(context, row.caption, _is_held_out(row, held_out))


def _decided_rows(store: Store, dataset_id: int, decision: str) -> Iterator[QueueRow]:
    filter = QueueFilter(dataset_id, decision=decision, order="position", descending=False)
    after = None
    while True:
        with store.reading() as session:
            page = queue_queries.page(session, filter, after, _PAGE)
            pairs = pair_queries.pairs_of(session, [row.pair_id for row in page.rows])
        # Decisions of rules are not human judgements, and an enrichment corrects nothing.
        left_out = {p.id for p in pairs if is_rule(p.decided_by) or p.judgement != decision}
        yield from (row for row in page.rows if row.pair_id not in left_out)
        if page.next_cursor is None:
            return
        after = page.next_cursor


def _is_held_out(row: QueueRow, share: float) -> bool:
    """Deterministic by picture, so that no picture is in both training and test data."""
    digest = int.from_bytes(hashlib.blake2b(row.image_path.encode(), digest_size=4).digest(), "big")
    return digest < share * 2**32


def _taught_lessons(
    bench: PairContexts, dataset_id: int, teacher: Corrector, limit: int, held_out: float
) -> Iterator[_Lesson]:
    """The teacher's answers for undecided pairs, where it gave a readable one."""
    for row, context in _undecided_pairs(bench, dataset_id, limit):
        proposal = propose(context, teacher)
        if proposal.outcome in ("corrected", "unchanged"):
            caption = proposal.caption or context.caption.text
            yield _Lesson(context, caption, _is_held_out(row, held_out))


def _undecided_pairs(
    bench: PairContexts, dataset_id: int, limit: int
) -> Iterator[tuple[QueueRow, CorrectionContext]]:
    """The pairs that a teacher corrects, most likely wrong first."""
    filter = QueueFilter(dataset_id, review="unreviewed", order="p_error")
    with bench.store.reading() as session:
        rows = queue_queries.page(session, filter, None, limit).rows if limit else ()
    for row, context in bench.of(rows):
        if isinstance(context, CorrectionContext):
            yield row, context


def _examine(
    bench: PairContexts, lessons: Sequence[_Lesson], corrector: Corrector
) -> CorrectorFigures:
    readable = same = 0
    gains: list[float] = []
    changes: list[int] = []
    for lesson in lessons:
        proposal = propose(lesson.context, corrector)
        readable += proposal.outcome in ("corrected", "unchanged")
        if proposal.caption is None:
            continue
        same += " ".join(proposal.caption.lower().split()) == " ".join(
            lesson.wanted.lower().split()
        )
        with bench.engine.lock:
            (scores,) = bench.engine.scorer.score([(lesson.context.state, [proposal.caption])])
        gains.append(float(scores[0]) - float(lesson.context.trajectory.scores[0]))
        changes.append(words_changed(lesson.context.caption, proposal.caption))
    count = max(1, len(lessons))
    return CorrectorFigures(
        corrector.model.name,
        readable / count,
        len(gains) / count,
        same / count,
        float(np.mean(gains)) if gains else None,
        float(np.mean(changes)) if changes else None,
    )
