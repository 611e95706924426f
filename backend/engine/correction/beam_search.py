"""Beam search for many images at once, step by step.

The same result as `generate(num_beams=…, do_sample=False)` of transformers with its default
`early_stopping` (`_beam_search` in generation/utils.py), for each image as if processed alone:

* at each step the 2 * beams likeliest continuations of all beams are considered;
* those that end and are among the first `beams` are finished; their score is log p divided by their
  length, without the prompt;
* the likeliest `beams` others are continued;
* the search ends when `beams` are finished and the worst of them scores at least what the likeliest
  running one would if it ended now, or at the maximum length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

#: Number of beams when describing an image.
BEAMS = 3
#: Log-probabilities of the token after each (image, tokens), float32 [requests, vocabulary].
NextLogP = Callable[[Sequence[tuple[int, Sequence[int]]]], torch.Tensor]


@dataclass
class _Beams:
    """One image's beams: tokens and log-likelihoods of running ones, likeliest first, and
    (score, tokens) of finished ones, best first."""

    running: list[list[int]]
    log_p: list[float]
    finished: list[tuple[float, list[int]]] = field(default_factory=list)


def beam_search(
    images: Sequence[int],
    prompt: Sequence[int],
    end: int,
    longest: int,
    beams: int,
    next_log_p: NextLogP,
) -> list[list[int]]:
    """The tokens of the best continuation of `prompt` for each image, at most `longest` in
    total, including the prompt, and with `end` if it ended before."""
    searches = [_Beams([list(prompt)], [0.0]) for _ in images]
    live = list(range(len(images)))
    for length in range(len(prompt) + 1, longest + 1):
        prefixes = [(images[i], tokens) for i in live for tokens in searches[i].running]
        if not prefixes:
            break
        log_p = next_log_p(prefixes)
        so_far = torch.tensor([searches[i].log_p for i in live], device=log_p.device)
        vocabulary = log_p.shape[1]
        total = (log_p.view(*so_far.shape, vocabulary) + so_far[:, :, None]).flatten(1)
        likeliest = total.topk(min(2 * beams, total.shape[1]))
        for i, values, places in zip(
            live, likeliest.values.tolist(), likeliest.indices.tolist(), strict=True
        ):
            _advance(searches[i], values, places, vocabulary, end, length == longest, beams,
                     length - len(prompt))  # fmt: skip
        live = [i for i in live if not _is_done(searches[i], beams, length - len(prompt))]
    return [of_image.finished[0][1] if of_image.finished else of_image.running[0]
            for of_image in searches]  # fmt: skip


def _advance(
    of_image: _Beams,
    values: Sequence[float],
    places: Sequence[int],
    vocabulary: int,
    end: int,
    is_last: bool,
    beams: int,
    length: int,
) -> None:
    running, log_p, finished = [], [], list(of_image.finished)
    for rank, (value, place) in enumerate(zip(values, places, strict=True)):
        beam, token = divmod(place, vocabulary)
        tokens = [*of_image.running[beam], token]
        if token != end and not is_last:
            running.append(tokens)
            log_p.append(value)
        elif rank < beams:
            finished.append((value / length, tokens))
    of_image.running, of_image.log_p = running[:beams], log_p[:beams]
    of_image.finished = sorted(finished, key=lambda item: -item[0])[:beams]


def _is_done(of_image: _Beams, beams: int, length: int) -> bool:
    if not of_image.running:
        return True
    if len(of_image.finished) < beams:
        return False
    return of_image.log_p[0] / length <= of_image.finished[-1][0]
