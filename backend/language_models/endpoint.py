"""One question to a chat model, one answer; every answer is kept by what was asked.

The same question to the same model is not paid for twice: answers lie in a folder, a file each,
named by a hash of all that was asked. Nothing is sent anywhere but to the address that was given.
"""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backend.errors import ModelUnavailable, SettingsError

#: Environment variable with the key, unless another is named. Never written into any file.
KEY = "OPENAI_API_KEY"


@dataclass(frozen=True)
class Question:
    """`seed` tells repetitions of one question apart, and goes to servers that know seeds."""

    system: str
    user: str
    temperature: float = 1.0
    seed: int = 0
    longest_answer: int = 2000


@dataclass(frozen=True)
class Answer:
    """`finished`: False where the server cut the answer off; tokens 0 where it did not say."""

    text: str
    finished: bool
    tokens_in: int
    tokens_out: int
    kept: bool = False


class ChatEndpoint:
    """`ask` it; `tokens_in`, `tokens_out`, `requests` and `from_cache` count what that took."""

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        cache: Path | None = None,
        timeout: float = 60.0,
        retries: int = 4,
    ) -> None:
        """`base_url` as the server documents it, mostly ending in /v1. `key` None: from the
        environment; servers that want none get a placeholder. `retries`: of lost connections,
        time-outs, 429 and 5xx, with growing pauses, as the server asks."""
        import openai

        if not base_url.startswith(("http://", "https://")):
            raise SettingsError(
                f"'{base_url}' is no address of a server; give one like http://localhost:8000/v1."
            )
        self.base_url, self.model, self.cache = base_url, model, cache
        self.requests = self.from_cache = self.tokens_in = self.tokens_out = 0
        self._openai = openai
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=key or os.environ.get(KEY) or "none",
            timeout=timeout,
            max_retries=retries,
        )

    def ask(self, question: Question) -> Answer:
        """Raises ModelUnavailable, naming server and model, if there is no answer to be had."""
        kept = self._read(question)
        if kept is not None:
            self.from_cache += 1
            return kept
        answer = self._answer(question)
        self.requests += 1
        self.tokens_in += answer.tokens_in
        self.tokens_out += answer.tokens_out
        self._write(question, answer)
        return answer

    def _answer(self, question: Question) -> Answer:
        def send() -> Any:
            return self._client.chat.completions.create(
                model=self.model,
                messages=[
                    {"role": "system", "content": question.system},
                    {"role": "user", "content": question.user},
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

    def _path(self, question: Question) -> Path | None:
        if self.cache is None:
            return None
        asked = {"url": self.base_url, "model": self.model, **asdict(question)}
        key = json.dumps(asked, sort_keys=True, ensure_ascii=True)
        return self.cache / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _read(self, question: Question) -> Answer | None:
        path = self._path(question)
        try:
            value = json.loads(path.read_text("utf-8")) if path is not None else None
            return None if value is None else Answer(**{**value, "kept": True})
        except (OSError, ValueError, TypeError):
            return None  # not there, or not ours: ask again

    def _write(self, question: Question, answer: Answer) -> None:
        path = self._path(question)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".part-{os.getpid()}")
        beside.write_text(json.dumps(asdict(answer), ensure_ascii=False), "utf-8")
        beside.replace(path)
