"""Guided infill: keep the words that are not suspect, let the captioner refill the suspect ones.

The captioner is causal: at a suspect position it is asked for the likeliest words after the text
before it, and the whole caption, with the old words after it, is then judged by its likelihood.
Suspect positions are filled from left to right with a beam:

    "A red dog on the sand"   suspect: red, sand
    -> red:  brown (-0.2) black (-1.9) white (-2.4) …       keep the best beam
    -> sand: "A brown dog on the" -> grass (-0.1) …         "A brown dog on the grass"
"""

import itertools

from backend.captions import Caption
from backend.correction.captioner import Captioner
from backend.correction.suggestion import Case
from backend.english import article_for, match_case

PROPOSER = "guided infill"

#: More suspect words than this are rather a wholly wrong caption: describing anew serves better.
MAXIMUM_POSITIONS = 3
CANDIDATES_PER_POSITION = 24
BEAM = 10


def propose(case: Case, captioner: Captioner, count: int = 12) -> list[str]:
    """Captions with the suspect words refilled, likeliest first (at most `count`).

    The user's text outside the refilled words is kept byte for byte.
    """
    positions = sorted(case.suspect_positions(MAXIMUM_POSITIONS))
    if not positions:
        return []
    memory = captioner.see(case.image)
    beam: list[dict[int, str]] = [{}]
    for position in positions:
        prefixes = [prefix_before(case.caption, position, filled) for filled in beam]
        extended: list[dict[int, str]] = []
        for filled, words in zip(
            beam, captioner.next_words(memory, prefixes, CANDIDATES_PER_POSITION), strict=True
        ):
            old = case.caption.words[position]
            extended += [
                {**filled, position: match_case(word, old)}
                for word, _ in words
                if word.lower() != old.lower()
            ]
            if len(positions) > 1:
                extended.append(filled)  # this suspect may be innocent once the other is refilled
        captions = [case.caption.replace(filled) for filled in extended]
        likelihoods = captioner.log_likelihoods(memory, captions)
        ranked = sorted(zip(likelihoods, extended, strict=True), key=lambda pair: -pair[0])
        beam = [filled for _, filled in ranked[: max(BEAM, count)]]
    captions = [repair_articles(case.caption.replace(filled)) for filled in beam if filled]
    return [
        text
        for text in dict.fromkeys(captions)
        if text != case.caption.text and not _stutters(text)
    ][:count]


def _stutters(text: str) -> bool:
    """Whether a word follows itself ("a brown brown dog")."""
    words = [word.lower() for word in Caption.parse(text).words]
    return any(a == b for a, b in itertools.pairwise(words))


def prefix_before(caption: Caption, position: int, filled: dict[int, str]) -> str:
    """The caption's text up to word `position`, with what was already filled in."""
    pieces = Caption.parse(caption.text[: caption.starts[position]] if position else "")
    return pieces.replace(filled) if len(pieces) else ""


def repair_articles(text: str) -> str:
    """Make "a" and "an" agree with the word that follows.

    >>> repair_articles("A orange cat and an dog")
    'An orange cat and a dog'
    """
    caption = Caption.parse(text)
    repaired: dict[int, str] = {}
    for i, word in enumerate(caption.words[:-1]):
        if word.lower() in ("a", "an"):
            article = article_for(caption.words[i + 1])
            if word.lower() != article:
                repaired[i] = article.capitalize() if word[0].isupper() else article
    return caption.replace(repaired) if repaired else text
