"""A chat model behind an OpenAI-compatible server.

Requests are sent only to the given address: a redirect is reported, not followed. Servers differ in
the options that they support (`_Form`); a rejected option is omitted from then on. Servers reject
requests before generating an answer, so no question is paid for twice.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from backend.engine.language_models.chat_model import (
    Answer,
    AnswerCache,
    ChatModel,
    Question,
)
from backend.engine.language_models.spending import Spending
from backend.errors import ModelUnavailable, QuestionRefused, SettingsError, missing_extra
from backend.features.vision_language.completion import Completion, NoCompletion, read_completion
from backend.features.vision_language.decision_servers import (
    MOST,
    Decisions,
    Reranking,
    decisions_of,
    picture_part,
)
from backend.features.vision_language.sight import MOST_OF_DESCRIPTION, check_descriptions

_T = TypeVar("_T")
#: Environment variable with the API key, if none is given. The key is never written to any file.
KEY = "OPENAI_API_KEY"
#: What is sent as a key to a server that needs none.
WITHOUT_KEY = "none"
#: What to do about a server that reports no log-probabilities.
_WITHOUT_LOGPROBS = (
    "so P(yes) cannot be read. vLLM, SGLang, llama.cpp's server and OpenAI report `logprobs` with "
    "`top_logprobs`, `transformers serve` from 5.24 on decides: serve the model by one of them."
)
#: The most alternatives that some servers report.
_FEW = 5
#: Statuses by which a server refuses one question, such as one whose picture it does not like.
_REFUSALS = (400, 413, 422)


def check_scheme(address: str) -> None:
    """Raises SettingsError for what is no address of a server."""
    if not address.startswith(("http://", "https://")):
        what = f"'{address}' is not the address of a server" if address else "No address is given"
        raise SettingsError(f"{what}; one looks like http://localhost:8000/v1.")


class ChatEndpoint(ChatModel):
    """A `ChatModel` behind a server; `spending` counts requests and tokens."""

    server: str

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
        """`base_url`: as documented by the server, usually ending in /v1, or in /rerank for a model
        that ranks texts by a picture. `key`: None reads it from
        the environment, or sends a placeholder to servers that need none. `timeout`: seconds.
        `retries`: after lost connections, time-outs, 429 and 5xx, with exponential backoff that
        respects Retry-After. Raises SettingsError for an invalid address."""
        try:
            import openai
        except ImportError as problem:
            raise missing_extra("A language model's server", "vlm") from problem
        check_scheme(base_url)
        self.server, self.name = base_url, model
        self.spending = spending or Spending()
        self.kept = AnswerCache(cache, {"url": base_url, "model": model})
        self._openai = openai
        self._key = key or os.environ.get(KEY) or WITHOUT_KEY
        self._client = openai.OpenAI(
            base_url=base_url.rstrip("/").removesuffix(Reranking.path),
            api_key=self._key,
            timeout=timeout,
            max_retries=retries,
            http_client=openai.DefaultHttpxClient(follow_redirects=False, timeout=timeout),
        )
        self._form = _Form()
        self._has_answered = False
        #: Questions in a request.
        self.most_together = MOST

    def check_sight(self, questions: Sequence[Question] = ()) -> None:
        check_descriptions(self, questions, self.where)

    def count_sight_questions(self, questions: Sequence[Question] = ()) -> int:
        return MOST_OF_DESCRIPTION * (len(questions) + 1)

    def served_models(self) -> list[str]:
        """The names of the models behind the server. Raises ModelUnavailable."""
        names = self._explain_errors(lambda: [model.id for model in self._client.models.list()])
        return [str(name) for name in names]

    def ask_all(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers to several questions about one picture, in as few requests as the server
        allows: a request that it refuses is divided, and later ones have no more questions than it
        took then. Raises as `ask` does."""
        if not all(each.alternatives for each in questions) or self._decisions is None:
            return [self.ask(question) for question in questions]
        answers = {n: kept for n, each in enumerate(questions) if (kept := self.kept.read(each))}
        self.spending.kept += len(answers)
        missing = [n for n in range(len(questions)) if n not in answers]
        most, largest = self.most_together, 0
        parts = [missing[first : first + most] for first in range(0, len(missing), most)]
        is_divided = False
        while parts:
            part = parts.pop(0)
            try:
                with self.spending.sending(self.name):
                    completions = self._decide(self._decisions, [questions[n] for n in part])
                    self.spending.add(self.name, sum(each.tokens_in for each in completions), 0)
            except QuestionRefused:
                if len(part) == 1:
                    raise
                half = len(part) // 2
                parts[:0] = [part[:half], part[half:]]
                is_divided = True
                continue
            largest = max(largest, len(part))
            for number, completion in zip(part, completions, strict=True):
                answers[number] = self._as_answer(questions[number], completion)
                self.kept.write(questions[number], answers[number])
        if is_divided:
            self.most_together = min(self.most_together, largest)
        return [answers[number] for number in range(len(questions))]

    def ask_beside(self, question: Question, other: Question) -> Answer:
        """The answer to a question that is sent as several are: with another about its picture, if
        the server takes them together."""
        return self.ask_all([other, question] if self.answers_together else [question])[-1]

    @property
    def answers_together(self) -> bool:
        """Whether several questions about a picture are one request."""
        return self._decisions is not None

    def _answer(self, question: Question) -> Answer:
        if question.alternatives and self._decisions is not None:
            (completion,) = self._decide(self._decisions, [question])
        else:
            completion = self._read(lambda: self._send(question), read_completion)
        return self._as_answer(question, completion)

    def _as_answer(self, question: Question, completion: Completion) -> Answer:
        if question.alternatives and not completion.likeliest:
            raise ModelUnavailable(
                f"{self.where} answers without log-probabilities, {_WITHOUT_LOGPROBS}"
            )
        self._has_answered = True
        return Answer(
            completion.text, completion.finished, completion.tokens_in, completion.tokens_out,
            likeliest=completion.likeliest if question.alternatives else (),
        )  # fmt: skip

    def _read(self, send: Callable[[], str], parse: Callable[[str], _T]) -> _T:
        """What is sent back, read. Raises QuestionRefused or ModelUnavailable."""
        body = self._explain_errors(send)
        try:
            return parse(body)
        except NoCompletion as problem:
            self.spending.add(self.name, 0, 0)  # what it cost, it does not say
            text = self._not_a_completion(str(problem))
            if self._has_answered:  # one bad answer says nothing about the next question
                raise QuestionRefused(text) from problem
            raise ModelUnavailable(text) from problem

    @cached_property
    def _decisions(self) -> Decisions | None:
        """How the server decides; None: it generates."""
        if self.server.rstrip("/").endswith(Reranking.path):
            return Reranking()
        return decisions_of(self._has)

    def _has(self, path: str) -> bool:
        """Whether the server refuses to be asked there only by the method."""
        try:
            self._client.get(path, cast_to=object, options={"max_retries": 0})
        except self._openai.APIStatusError as problem:
            return bool(problem.status_code == HTTPStatus.METHOD_NOT_ALLOWED)
        except (self._openai.OpenAIError, ValueError, RecursionError):
            pass  # the question itself will say so
        return False

    def _decide(self, way: Decisions, questions: Sequence[Question]) -> list[Completion]:
        """The answers to questions that are answered by yes or no, in one request."""
        import httpx2  # the client of openai

        def send() -> str:
            *forms, last = way.bodies(self.name, questions)
            for body in forms:
                try:
                    response = self._client.post(way.path, cast_to=httpx2.Response, body=body)
                except (self._openai.BadRequestError, self._openai.UnprocessableEntityError):
                    continue
                return str(response.text)
            return str(self._client.post(way.path, cast_to=httpx2.Response, body=last).text)

        return self._read(send, lambda body: way.read(body, questions))

    def _send(self, question: Question) -> str:
        """The body of the server's response to the first form of the request that it accepts."""
        form: _Form | None = self._form
        refused: list[_Form] = []
        first: Exception | None = None
        while form is not None and form not in refused:
            try:
                response = self._client.chat.completions.with_raw_response.create(
                    model=self.name,
                    messages=_messages(question),
                    **form.options(question),
                )
            except (self._openai.BadRequestError, self._openai.UnprocessableEntityError) as problem:
                first = first or problem
                refused.append(form)
                form = form.without(f"{problem.message} {problem.body}", question, refused)
            else:
                self._form = form
                return response.http_response.text
        assert first is not None
        raise first

    @property
    def where(self) -> str:
        """The model and its server, at the beginning of a sentence."""
        return f"'{self.name}' at {self.server}" if self.name else f"The server {self.server}"

    def without_key(self, text: str) -> str:
        """What a server says, which may repeat the key that it was sent."""
        return text.replace(self._key, "[key]") if self._key != WITHOUT_KEY else text

    def _not_a_completion(self, begin: str) -> str:
        """The message for a response with status 200 that is not a chat completion."""
        where = self.where
        begin = self.without_key(begin)
        if begin[:1] == "<":
            return (
                f"{where} answered with a web page ('{begin[:60]}') instead of a chat completion. "
                "Check the address: it usually ends in /v1."
            )
        return f"{where} sent an empty answer{f': {begin}' if begin else '.'}"

    def _explain_errors(self, send: Callable[[], Any]) -> Any:
        where = self.where
        try:
            return send()
        except self._openai.AuthenticationError as problem:
            raise ModelUnavailable(
                f"{where} refused the key.",
                terminal=f"Set {KEY} to a valid one.",
                page="Give a valid one where the server was set up.",
            ) from problem
        except self._openai.NotFoundError as problem:
            raise ModelUnavailable(
                f"There is no {where}. Check the model's name and the address, which usually ends "
                "in /v1."
            ) from problem
        except self._openai.RateLimitError as problem:
            raise ModelUnavailable(
                f"{where} still refuses after several tries: too many requests, or no credit. "
                "Try again later."
            ) from problem
        except self._openai.APIConnectionError as problem:  # includes time-outs
            reason = self.without_key(str(problem))
            raise ModelUnavailable(
                f"{where} does not answer ({reason}). Is the server running? Answers so far are "
                "kept."
            ) from problem
        except self._openai.APIStatusError as problem:
            if 300 <= problem.status_code < 400:
                target = self.without_key(problem.response.headers.get("location", "nowhere"))
                raise ModelUnavailable(
                    f"{where} redirects to {target[:200]}. Redirects are not followed: pictures "
                    "and captions go only to the address that you give. If you trust the new "
                    "address, use it instead."
                ) from problem
            reason = self.without_key(problem.message)
            text = f"{where} answered with status {problem.status_code}: {reason}"
            if problem.status_code not in _REFUSALS:
                raise ModelUnavailable(text) from problem
            if "logprobs" in problem.message:
                raise ModelUnavailable(f"{text}, {_WITHOUT_LOGPROBS}") from problem
            raise QuestionRefused(text) from problem
        except (self._openai.OpenAIError, ValueError, RecursionError) as problem:
            # A body that is not JSON, or not in the form that the client library expects.
            raise ModelUnavailable(
                f"{where} sent an answer that is not a chat completion ({type(problem).__name__}: "
                f"{self.without_key(str(problem))[:160]}). Check the address."
            ) from problem


@dataclass(frozen=True)
class _Form:
    """The options of a request that the server supports.

    `length`: name of the length limit, None if the server supports neither name. `schema`:
    json_schema, json_object or None. `alternatives`: the most that may be requested.
    """

    length: str | None = "max_tokens"
    schema: str | None = "json_schema"
    temperature: bool = True
    seed: bool = True
    alternatives: int = 20

    def options(self, question: Question) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.length is not None:
            options[self.length] = question.longest_answer
        if self.temperature:
            options["temperature"] = question.temperature
        if self.seed:
            options["seed"] = question.seed
        if question.alternatives:
            options["logprobs"] = True
            options["top_logprobs"] = min(question.alternatives, self.alternatives)
        if question.schema is not None and self.schema == "json_schema":
            json_schema = {"name": "answer", "schema": question.schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        elif question.schema is not None and self.schema == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options

    def without(self, refusal: str, question: Question, forms: Sequence["_Form"]) -> "_Form | None":
        """The form to try next, without the option named in a server's error message; if it names
        none, without the schema, the newest part of the protocol. None if nothing is left to
        try. `forms`: those tried for this question."""
        if self.length is not None and self.length in refusal:
            lengths = {form.length for form in forms}
            names = ("max_completion_tokens", "max_tokens")
            return replace(self, length=next((name for name in names if name not in lengths), None))
        if "temperature" in refusal and self.temperature:
            return replace(self, temperature=False)
        if "seed" in refusal and self.seed:
            return replace(self, seed=False)
        if question.alternatives and "logprobs" in refusal:
            return replace(self, alternatives=_FEW) if self.alternatives > _FEW else None
        if question.schema is None or self.schema is None:
            return None
        return replace(self, schema="json_object" if self.schema == "json_schema" else None)


def _messages(question: Question) -> list[Any]:
    system = [{"role": "system", "content": question.system}] if question.system else []
    return [*system, {"role": "user", "content": _content(question)}]


def _content(question: Question) -> Any:
    """The text alone, or the picture as a data URL followed by the text."""
    if question.image is None:
        return question.user
    return [picture_part(question.image), {"type": "text", "text": question.user}]
