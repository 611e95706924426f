"""A chat model behind an OpenAI-compatible server.

Nothing is sent anywhere but to the address that was given.
"""

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backend.errors import ModelUnavailable, SettingsError
from backend.language_models.kept_answers import KeptAnswers
from backend.language_models.question import Answer, Question
from backend.language_models.spending import Spending

#: Environment variable with the key, unless another is named. Never written into any file.
KEY = "OPENAI_API_KEY"


class ChatEndpoint:
    """`ask` it; `spending` counts what that took."""

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        cache: Path | None = None,
        timeout: float = 60.0,
        retries: int = 4,
        spending: Spending | None = None,
    ) -> None:
        """`base_url` as the server documents it, mostly ending in /v1. `key` None: from the
        environment; servers that want none get a placeholder. `retries`: of lost connections,
        time-outs, 429 and 5xx, with growing pauses, as the server asks."""
        import openai

        if not base_url.startswith(("http://", "https://")):
            raise SettingsError(
                f"'{base_url}' is no address of a server; give one like http://localhost:8000/v1."
            )
        self.base_url, self.model = base_url, model
        self.spending = spending or Spending()
        self._kept = KeptAnswers(cache, {"url": base_url, "model": model})
        self._openai = openai
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=key or os.environ.get(KEY) or "none",
            timeout=timeout,
            max_retries=retries,
        )

    @property
    def name(self) -> str:
        return self.model

    def ask(self, question: Question) -> Answer:
        """Raises ModelUnavailable, naming server and model, if there is no answer to be had;
        BudgetSpent."""
        kept = self._kept.read(question)
        if kept is not None:
            self.spending.kept += 1
            return kept
        self.spending.check()
        answer = self._answer(question)
        self.spending.add(answer.tokens_in, answer.tokens_out)
        self._kept.write(question, answer)
        return answer

    def _answer(self, question: Question) -> Answer:
        def send() -> Any:
            return self._client.chat.completions.create(
                model=self.model,
                messages=[
                    {"role": "system", "content": question.system},
                    {"role": "user", "content": _content(question)},
                ],
                temperature=question.temperature,
                seed=question.seed,
                max_tokens=question.longest_answer,
            )

        found = self._reported(send)
        if not found.choices:
            raise ModelUnavailable(f"'{self.model}' at {self.base_url} sent an empty answer.")
        choice, usage = found.choices[0], found.usage
        return Answer(
            choice.message.content or "",
            choice.finish_reason != "length",
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
        )

    def _reported(self, send: Callable[[], Any]) -> Any:
        where = f"'{self.model}' at {self.base_url}"
        try:
            return send()
        except self._openai.AuthenticationError as problem:
            raise ModelUnavailable(
                f"{where} refused the key. Set {KEY} to a valid one."
            ) from problem
        except self._openai.NotFoundError as problem:
            raise ModelUnavailable(
                f"There is no {where}. Check the model's name and that the address ends as the "
                "server documents it, mostly in /v1."
            ) from problem
        except self._openai.RateLimitError as problem:
            raise ModelUnavailable(
                f"{where} still refuses after several tries: too many requests, or no credit. "
                "Answers so far are kept; run again later."
            ) from problem
        except self._openai.APIConnectionError as problem:  # time-outs are of this kind
            raise ModelUnavailable(
                f"{where} does not answer ({problem}). Is the server running? Answers so far are "
                "kept."
            ) from problem
        except self._openai.APIStatusError as problem:
            raise ModelUnavailable(
                f"{where} answered with status {problem.status_code}: {problem.message}"
            ) from problem


def _content(question: Question) -> Any:
    """Text alone, or the picture before it as the protocol's data address."""
    if question.image is None:
        return question.user
    kind = "png" if question.image.startswith(b"\x89PNG") else "jpeg"
    address = f"data:image/{kind};base64,{base64.b64encode(question.image).decode()}"
    return [
        {"type": "image_url", "image_url": {"url": address}},
        {"type": "text", "text": question.user},
    ]
