"""The caption with its words shaded by suspicion, or with the effect of each on its concreteness.

Colour is never the only cue. Suspect words are also underlined, thicker the more suspect; words
that make the caption more abstract have a wavy underline, those that make it more concrete a
straight one. The text is the user's, byte for byte.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from markupsafe import Markup

from backend.engine.captions import Caption
from backend.engine.claims.claim import Claim, Kind
from backend.engine.detection.localisation import VISIBLE
from backend.engine.detection.types import SuspectWord
from backend.review.views import Abstractness, ClaimView
from traced_ui.templates import render


def highlighted_caption(
    caption: str,
    suspects: Sequence[SuspectWord],
    words_read: int | None = None,
    gains: Sequence[float] = (),
    removal: Mapping[int, int] | None = None,
    wrong: Collection[tuple[int, int]] | None = None,
    expected: Sequence[str] = (),
    named: Collection[SuspectWord] | None = None,
    claims: Sequence[ClaimView] = (),
    selected: int | None = None,
) -> Markup:
    """The caption as a paragraph; words are shaded by suspicion, and hovering shows the number.

    `words_read`: words beyond this number are marked as not read by the model. `gains`: what
    deleting the word alone adds to s, shown on hover, as is `removal`: the step at which a word was
    removed, from which on the page strikes it out. `wrong`: character ranges of the
    words that a curator marked as wrong; None disables marking. `expected`: what a captioner
    expected in place of each word ("cat 0.61, dog 0.20"), shown on hover. `named`: the words to
    shade; None: all that are suspect enough. `claims`: of a caption that has several; `gains`,
    `removal` and `expected` are those of the words of the `selected` one.
    """
    score = {(suspect.start, suspect.end): suspect.score for suspect in suspects}
    shaded = {(word.start, word.end) for word in (suspects if named is None else named)}
    every = Caption.parse(caption).spans
    pieces = []
    for first, last, place in _pieces(caption, claims):
        claim = claims[place] if place is not None else None
        spans = (
            [(a, b) for a, b in every if first <= a < last]
            if claim is None
            else _words(caption, claim)
        )
        has_numbers = not claims or (place is not None and place == selected)
        limit = words_read if claim is None else claim.words_read
        words = []
        position = first
        for index, (start, end) in enumerate(spans):
            suspicion = score.get((start, end), 0.0)
            words.append({
                "before": caption[position:start],
                "text": caption[start:end],
                # Of the caption: a tag such as long_hair is one word of it, and two to a model.
                "number": bisect_right(every, start, key=lambda span: span[0]) - 1,
                "start": start,
                "is_read": limit is None or index < limit or (bool(claims) and claim is None),
                "wrong": None if wrong is None else any(a <= start < b for a, b in wrong),
                "suspicion": suspicion,
                "is_shaded": suspicion >= VISIBLE and (start, end) in shaded,
                "gain": gains[index] if has_numbers and index < len(gains) else None,
                "gone": (removal or {}).get(index) if has_numbers else None,
                "expected": expected[index] if has_numbers and index < len(expected) else "",
            })  # fmt: skip
            position = end
        pieces.append(
            {"claim": claim, "place": place, "words": words, "rest": caption[position:last]}
        )
    return render("caption.html", pieces=pieces, selected=selected, number_of_claims=len(claims))


def _pieces(caption: str, claims: Sequence[ClaimView]) -> Iterator[tuple[int, int, int | None]]:
    """(start, end, index of the claim, None between claims) of the pieces of a caption."""
    position = 0
    for index, claim in enumerate(claims):
        if position < claim.start:
            yield position, claim.start, None
        yield claim.start, claim.end, index
        position = claim.end
    if position < len(caption) or not claims:
        yield position, len(caption), None


def _words(caption: str, claim: ClaimView) -> list[tuple[int, int]]:
    """The words of a claim as models read it, in characters of the caption."""
    question = Claim(claim.start, claim.end, cast(Kind, claim.kind)).question(caption)
    return [(claim.start + a, claim.start + b) for a, b in Caption.parse(question).spans]


def excerpt(caption: str, span: tuple[int, int] | None, longest: int) -> tuple[str, int]:
    """What a list shows of a caption, and how many characters stand before that: the claim at
    `span` with an ellipsis for what is left out, or the beginning of one that is one claim (None).

    >>> excerpt("A dog. A cat. It rains.", (7, 13), 80)
    ('… A cat. …', 5)
    >>> excerpt("A dog runs.", None, 5)
    ('A dog …', 0)
    """
    start, end = span or (0, len(caption))
    before = "… " if start else ""
    text = caption[start : min(end, start + longest)]
    after = " …" if start + len(text) < len(caption.rstrip()) else ""
    return f"{before}{text}{after}", start - len(before)


#: Contributions smaller than this are shown only on hover.
SHOWN = 0.02
#: A contribution of this size has the full shade.
_FULL = 0.2
#: Maximum number of words named in the sentence for each direction.
_NAMED = 3


def explained_abstractness(abstractness: Abstractness) -> Markup:
    """The caption as a paragraph, and a sentence naming the words that matter most."""
    pieces: list[dict[str, Any]] = []
    position = 0
    for start, end, gain in abstractness.words:
        pieces.append({"text": abstractness.caption[position:start], "gain": None})
        kind = "abstract" if gain <= -SHOWN else "concrete" if gain >= SHOWN else ""
        shade = min(1.0, abs(gain) / _FULL)
        pieces.append(
            {"text": abstractness.caption[start:end], "gain": gain, "kind": kind, "shade": shade}
        )
        position = end
    pieces.append({"text": abstractness.caption[position:], "gain": None})
    words = [(abstractness.caption[start:end], gain) for start, end, gain in abstractness.words]
    down = sorted((word for word in words if word[1] <= -SHOWN), key=lambda word: word[1])
    up = sorted((word for word in words if word[1] >= SHOWN), key=lambda word: -word[1])
    return render(
        "abstractness.html",
        pieces=pieces,
        icc=abstractness.icc,
        down=down[:_NAMED],
        up=up[:_NAMED],
    )
