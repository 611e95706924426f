"""Run proposers for many pairs at once, answering all of their requests in batches.

A proposer is a generator, like an explorer of trajectories: it yields requests to the captioner
(`decoding`), is sent the answers, and returns captions. It never accesses a model, so one round
answers the requests of all pairs in one call.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from backend.engine.correction.decoding import (
    AskLikeliest,
    AskLikelihoods,
    AskNextWords,
    Decoding,
)


@dataclass(frozen=True)
class AskDescription:
    """Request for a caption generated from the image alone."""


Request = AskNextWords | AskLikelihoods | AskLikeliest | AskDescription
#: Yields requests about its image, returns captions, preferred ones first.
Proposing = Generator[Request, Any, list[str]]


def propose_all(
    decoding: Decoding | None, proposers: Sequence[tuple[int, Proposing]]
) -> list[list[str]]:
    """The captions of each proposer, in order. `proposers`: (image, proposer), each image by its
    index in `decoding`, which may be None if no proposer makes a request."""
    captions: list[list[str]] = [[] for _ in proposers]
    pending: list[tuple[int, Request]] = []

    def advance(number: int, answer: Any) -> None:
        try:
            pending.append((number, proposers[number][1].send(answer)))
        except StopIteration as finished:
            captions[number] = finished.value

    for number in range(len(proposers)):
        advance(number, None)
    while pending:
        assert decoding is not None
        requests, pending = pending, []
        answers = _answers(
            decoding, [(proposers[number][0], request) for number, request in requests]
        )
        for (number, _), answer in zip(requests, answers, strict=True):
            advance(number, answer)
    return captions


def _answers(decoding: Decoding, requests: Sequence[tuple[int, Request]]) -> list[Any]:
    """The answer to each (image, request): one call per kind of request."""
    kinds: dict[type, Callable[[Any], Sequence[Any]]] = {
        AskNextWords: decoding.next_words,
        AskLikelihoods: decoding.log_likelihoods,
        AskLikeliest: decoding.likeliest,
        AskDescription: lambda of_kind: decoding.describe([image for image, _ in of_kind]),
    }
    answers: list[Any] = [None] * len(requests)
    for kind, answer in kinds.items():
        places = [place for place, (_, request) in enumerate(requests) if isinstance(request, kind)]
        if places:
            of_kind = answer([requests[place] for place in places])
            for place, value in zip(places, of_kind, strict=True):
                answers[place] = value
    return answers
