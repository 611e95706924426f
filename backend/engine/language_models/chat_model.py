"""Anything that answers questions, each of them once."""

from abc import ABC, abstractmethod

from backend.engine.language_models.answer_cache import AnswerCache
from backend.engine.language_models.question import Answer, Question
from backend.engine.language_models.spending import Spending


class ChatModel(ABC):
    """`name`: for display and provenance; `spending` counts requests and tokens."""

    name: str
    spending: Spending
    kept: AnswerCache

    def ask(self, question: Question) -> Answer:
        """The answer, from the cache if possible. Raises ModelUnavailable or ModelMismatch if there
        is none, and BudgetSpent before the first question that the budget does not allow."""
        cached_answer = self.kept.read(question)
        if cached_answer is not None:
            self.spending.kept += 1
            return cached_answer
        self.spending.check()
        answer = self._answer(question)
        self.spending.add(answer.tokens_in, answer.tokens_out)
        self.kept.write(question, answer)
        return answer

    @abstractmethod
    def _answer(self, question: Question) -> Answer:
        """Ask the model itself."""
