"""Guided infill: keep the words that are not suspect, let the captioner refill the suspect ones.

The captioner is causal: at a suspect position it predicts the likeliest words from the text to the
left, and the whole caption, with the old words to the right, is then ranked by its likelihood.
Suspect positions are filled from left to right with a beam:

    "A red dog on the sand"   suspect: red, sand
    -> red:  brown (-0.2) black (-1.9) white (-2.4) …       keep the best beam
    -> sand: "A brown dog on the" -> grass (-0.1) …         "A brown dog on the grass"
"""

import itertools

from backend.engine.captions import Caption
from backend.engine.correction.decoding import (
    AskLikeliest,
    AskLikelihoods,
    AskNextWords,
    Beginning,
)
from backend.engine.correction.proposing import Proposing
from backend.engine.correction.suggestion import CorrectionContext, Proposer
from backend.engine.english.articles import match_case, repair_articles

#: With more suspect words the whole caption is probably wrong, and a new one works better.
MAXIMUM_POSITIONS = 3
CANDIDATES_PER_POSITION = 24
BEAM = 10


def propose(context: CorrectionContext, count: int = 12) -> Proposing:
    """Captions with the suspect words refilled, likeliest first (at most `count`).

    The user's text outside the refilled words is kept byte for byte, apart from "a" and "an" before
    them.
    """
    caption = context.caption
    positions = sorted(context.suspect_positions(MAXIMUM_POSITIONS))
    if not positions:
        return []
    width = max(BEAM, count)
    # The replacements so far, and the log-likelihood of the caption with them.
    beam: list[tuple[dict[int, str], float]] = [({}, 0.0)]
    if len(positions) > 1:  # only then does it compete
        (likelihood,) = yield AskLikelihoods([caption.text])
        beam = [({}, likelihood)]
    for position in positions:
        old = caption.words[position]
        prefixes = [prefix_before(caption, position, replacements) for replacements, _ in beam]
        extensions: list[dict[int, str]] = []
        beginnings: list[Beginning] = []
        next_words = yield AskNextWords(prefixes, CANDIDATES_PER_POSITION)
        for (replacements, _), words in zip(beam, next_words, strict=True):
            for next_word in words:
                if next_word.word.lower() != old.lower():
                    extensions.append({**replacements, position: match_case(next_word.word, old)})
                    beginnings.append(next_word.beginning)
        captions = [caption.replace(replacements) for replacements in extensions]
        likeliest = yield AskLikeliest(captions, beginnings, width)
        refills = [(extensions[i], value) for i, value in likeliest]
        # This word may be correct after all once another one is refilled.
        innocent = beam if len(positions) > 1 else []
        beam = sorted([*innocent, *refills], key=lambda entry: -entry[1])[:width]
    captions = [
        repair_articles(caption.replace(replacements), caption.text)
        for replacements, _ in beam
        if replacements
    ]
    return [
        text
        for text in dict.fromkeys(captions)
        if text != caption.text and not _repeats_a_word(text)
    ][:count]


def _repeats_a_word(text: str) -> bool:
    """Whether a word is repeated ("a brown brown dog")."""
    words = [word.lower() for word in Caption.parse(text).words]
    return any(a == b for a, b in itertools.pairwise(words))


def prefix_before(caption: Caption, position: int, replacements: dict[int, str]) -> str:
    """The caption's text before word `position`, with the replacements so far."""
    pieces = Caption.parse(caption.text[: caption.starts[position]] if position else "")
    return pieces.replace(replacements) if len(pieces) else ""


#: Refilled captions are more informative than shortened or new ones, so several are offered.
PROPOSER = Proposer("guided infill", propose, all_compete=True)
