"""Corrections by a vision-language model, local or behind a server.

One question, and one repair prompt if the answer cannot be read. The outcome is always returned, so
that a long run can report how often the model refused.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from backend.engine.correction.modes import Mode, mode_named
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.language_models.asking import ask_again
from backend.engine.language_models.chat_model import Answer, ChatModel, harmless
from backend.errors import QuestionRefused, Unreadable
from backend.features.corrections import answers, prompting
from backend.features.corrections.answers import ReasonedAnswer, Step
from backend.features.corrections.prompting import VERSIONS
from backend.loaded_models import Engine

Outcome = Literal["corrected", "unchanged", "refused", "refused by the server", "unreadable"]
#: How refusals begin; they are distinguished from malformed answers only for the report.
_REFUSALS = ("i can't", "i cannot", "i can’t", "i'm sorry", "i’m sorry", "sorry", "i am unable",
             "i'm unable", "i won't", "as an ai")  # fmt: skip


@dataclass(frozen=True)
class Corrector:
    """A model and the mode in which it is prompted."""

    model: ChatModel
    mode: Mode = "words"

    @property
    def proposer(self) -> str:
        """Proposer name stored with its suggestions, at most 64 characters."""
        name = Path(self.model.name).name or self.model.name
        return f"{name[:40]} · {self.mode} v{VERSIONS[self.mode]}"


def corrector_of(engine: Engine) -> Corrector | None:
    """The session's language model and its mode; None if no model is named. Raises
    ModelUnavailable."""
    model = engine.chat_model
    return Corrector(model, mode_named(engine.settings.corrector_mode)) if model else None


@dataclass(frozen=True)
class Proposal:
    """`caption`: None unless the outcome is *corrected*; `reason`: why there is none."""

    outcome: Outcome
    caption: str | None = None
    reason: str = ""
    steps: tuple[Step, ...] = ()
    repaired: bool = False


def propose(context: CorrectionContext, corrector: Corrector) -> Proposal:
    """Ask for a correction of one caption. Raises ModelUnavailable if the model cannot be reached
    or has refused the first question, and BudgetSpent."""
    try:
        return _propose(context, corrector)
    except QuestionRefused as problem:
        if not corrector.model.spending.requests:
            raise
        return Proposal("refused by the server", None, str(problem))


def _propose(context: CorrectionContext, corrector: Corrector) -> Proposal:
    question = prompting.question(context, corrector.mode)
    answer = corrector.model.ask(question)
    try:
        return _read(context, corrector.mode, answer)
    except Unreadable as problem:
        again = corrector.model.ask(ask_again(question, answer.text, str(problem)))
    try:
        proposal = _read(context, corrector.mode, again)
    except Unreadable as problem:
        refused = any(reply.text.strip().lower().startswith(_REFUSALS) for reply in (answer, again))
        return Proposal("refused" if refused else "unreadable", None, str(problem), (), True)
    return Proposal(proposal.outcome, proposal.caption, proposal.reason, proposal.steps, True)


def _read(context: CorrectionContext, mode: Mode, answer: Answer) -> Proposal:
    if not answer.finished:
        raise Unreadable("it was cut off before its end.")
    correction = answers.read(answer.text, mode, context.caption.text)
    steps = tuple(correction.steps) if isinstance(correction, ReasonedAnswer) else ()
    if harmless(correction.caption) == harmless(context.caption.text):
        return Proposal("unchanged", None, "the model considers the caption right", steps)
    return Proposal("corrected", correction.caption, "", steps)
