"""A server is tried before it is used: one question about two pictures that nobody confuses."""

import time
from dataclasses import dataclass, replace

from backend.engine.language_models.spending import Budget
from backend.errors import ModelUnavailable
from backend.features.vision_language.endpoint import WITHOUT_KEY, ChatEndpoint
from backend.features.vision_language.server_setup import ChatServer
from backend.features.vision_language.sight import (
    DESCRIPTION,
    UNLIKE,
    about_unlike_pictures,
    names_squares,
)

#: Seconds to wait for an answer, and lost questions that are sent again: somebody waits.
_TIMEOUT, _RETRIES = 60.0, 1
#: The questions whose cost is told.
PRICED = 100


@dataclass(frozen=True)
class Trial:
    """`answers`: to the same question about a square of each colour of `UNLIKE`; `tokens_in`,
    `tokens_out`: of both answers, 0 if the server does not report them; `cost`: of `PRICED`
    questions that are like these two, None if it is not known."""

    model: str
    answers: tuple[str, str]
    tokens_in: int
    tokens_out: int
    seconds: float
    cost: float | None

    @property
    def sees(self) -> bool | None:
        """Whether the model sees, as far as two answers can tell: yes if they name what is shown,
        no if they are the same or one is missing, None if they only differ: answers at random do
        that too."""
        first, second = self.answers
        if not (first and second) or first == second:
            return False
        return names_squares(first, second) or None


def list_models(server: ChatServer) -> list[str]:
    """What the server says it serves. Raises ModelUnavailable if it does not answer, or lists
    nothing."""
    endpoint = _endpoint(server)
    names = [endpoint.without_key(name) for name in endpoint.served_models()]
    if not names:
        raise ModelUnavailable(
            f"The server {server.url} lists no models. Load one there, or type its name."
        )
    return names


def try_server(server: ChatServer) -> Trial:
    """Ask both questions. Raises ModelUnavailable."""
    endpoint = _endpoint(replace(server, budget=Budget()))
    start = time.monotonic()
    answers = [endpoint.ask(question) for question in about_unlike_pictures(DESCRIPTION)]
    seconds = time.monotonic() - start
    tokens_in, tokens_out = sum(a.tokens_in for a in answers), sum(a.tokens_out for a in answers)
    cost = None
    if server.prices is not None and tokens_in:
        cost = server.prices.of(tokens_in, tokens_out) * PRICED / len(UNLIKE)
    first, second = (endpoint.without_key(" ".join(answer.text.split())) for answer in answers)
    return Trial(server.model, (first, second), tokens_in, tokens_out, seconds, cost)


def _endpoint(server: ChatServer) -> ChatEndpoint:
    key = server.key or WITHOUT_KEY
    return ChatEndpoint(server.url, server.model, key, timeout=_TIMEOUT, retries=_RETRIES)
