"""Language models that answer one question at a time, with or without a picture.

question       what is asked and answered, what any model is to the rest of the program
endpoint       a model behind an OpenAI-compatible server (vLLM, Ollama, LM Studio, paid ones)
local          a vision-language model from a directory or the hub, in this process
kept_answers   answers by what was asked: nothing is paid for twice
spending       what was asked and what it cost; the end of a budget
"""

from backend.engine.language_models.endpoint import ChatEndpoint
from backend.engine.language_models.question import Answer, ChatModel, Question
from backend.engine.language_models.spending import Budget, Prices, Spending

__all__ = [
    "Answer",
    "Budget",
    "ChatEndpoint",
    "ChatModel",
    "Prices",
    "Question",
    "Spending",
]
