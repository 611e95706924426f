"""Corrections by a vision-language model, local or behind a server.

One question, one repair where its answer cannot be read; what came of it is always told, so that a
long run can say how often the model refused.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from backend.correction import answers, prompting
from backend.correction.answers import Reasoned, Step
from backend.correction.modes import Mode
from backend.correction.prompting import VERSIONS
from backend.correction.suggestion import Case
from backend.errors import Unreadable
from backend.language_models import Answer, ChatModel

Outcome = Literal["corrected", "unchanged", "refused", "unreadable"]
#: How models begin that will not answer; told apart from mere bad form for the report alone.
_REFUSALS = ("i can't", "i cannot", "i can’t", "i'm sorry", "i’m sorry", "sorry", "i am unable",
             "i'm unable", "i won't", "as an ai")  # fmt: skip


@dataclass(frozen=True)
class Corrector:
    """A model and the way in which it is asked."""

    model: ChatModel
    mode: Mode = "words"

    @property
    def proposer(self) -> str:
        """How its suggestions are called, at most 64 characters."""
        name = Path(self.model.name).name or self.model.name
        return f"{name[:40]} · {self.mode} v{VERSIONS[self.mode]}"


@dataclass(frozen=True)
class Proposal:
    """`caption`: None unless the outcome is *corrected*; `told`: why there is none."""

    outcome: Outcome
    caption: str | None = None
    told: str = ""
    steps: tuple[Step, ...] = ()
    repaired: bool = False


def propose(case: Case, corrector: Corrector) -> Proposal:
    """Raises ModelUnavailable if the model cannot be reached, BudgetSpent."""
    asked = prompting.question(case, corrector.mode)
    answer = corrector.model.ask(asked)
    try:
        return _read(case, corrector.mode, answer)
    except Unreadable as problem:
        again = corrector.model.ask(prompting.repaired(asked, answer.text, str(problem)))
    try:
        found = _read(case, corrector.mode, again)
    except Unreadable as problem:
        refused = any(one.text.strip().lower().startswith(_REFUSALS) for one in (answer, again))
        return Proposal("refused" if refused else "unreadable", None, str(problem), (), True)
    return Proposal(found.outcome, found.caption, found.told, found.steps, True)


def _read(case: Case, mode: Mode, answer: Answer) -> Proposal:
    if not answer.finished:
        raise Unreadable("it was cut off before its end.")
    found = answers.read(answer.text, mode, case.caption.text)
    steps = tuple(found.steps) if isinstance(found, Reasoned) else ()
    if found.caption == case.caption.text.strip():
        return Proposal("unchanged", None, "the model finds the caption right", steps)
    return Proposal("corrected", found.caption, "", steps)
