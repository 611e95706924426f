"""Chat models behind OpenAI-compatible servers (vLLM, Ollama, LM Studio, paid ones).

endpoint    one question, one answer; retries, time-outs, answers kept by their content
"""

from backend.language_models.endpoint import Answer, ChatEndpoint, Question

__all__ = ["Answer", "ChatEndpoint", "Question"]
