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
from backend.engine.detection.localisation import has_content, most_suspect
from backend.engine.detection.types import SuspectWord
from backend.engine.languages.identification import language_in
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
    claims: Sequence[ClaimView] = (),
    selected_claim: int | None = None,
    is_unfamiliar: bool = False,
    is_reachable: bool = False,
    constants: Sequence[tuple[int, int, str]] = (),
) -> Markup:
    """The caption as a paragraph; the most suspect words are shaded (of each claim, if there are
    several), and hovering shows the suspicion of any.

    `words_read`: words beyond this number are marked as not read by the model. `gains`: what
    deleting the word alone adds to s, shown on hover, as is `removal`: the step at which a word was
    removed, from which on the page strikes it out. `wrong`: character ranges of the
    words that a curator marked as wrong; None disables marking. `expected`: what a captioner
    expected in place of each word ("cat 0.61, dog 0.20"), shown on hover. `claims`: of a caption
    that has several; `gains`, `removal` and `expected` are those of the words of the
    `selected_claim`. `is_unfamiliar`: the model does not know such pictures, and its chances are
    no figures. `is_reachable`: the keyboard reaches the shaded words, which are no buttons.
    `constants`: (start, end, in how many captions) of parts that models did not read.
    """
    score: dict[tuple[int, int], float] = {}
    for suspect in suspects:  # several words of a question may stand for one pronoun
        span = suspect.start, suspect.end
        score[span] = max(suspect.score, score.get(span, 0.0))
    every = Caption.parse(caption).spans
    pieces = []
    for first, last, place in _pieces(caption, claims):
        claim = claims[place] if place is not None else None
        if claim is None:
            # Markup such as "<b>A" is one word, part of which may belong to the next claim.
            inside = [(start, min(end, last)) for start, end in every if first <= start < last]
            spans = [(*span, [index]) for index, span in enumerate(inside)]
        else:
            spans = words_of(caption, claim)
        shaded_spans = {
            (word.start, word.end)
            for word in most_suspect(caption, [w for w in suspects if first <= w.start < last])
        }
        has_numbers = not claims or (place is not None and place == selected_claim)
        limit = words_read if claim is None else claim.words_read
        words = []
        position = first
        for start, end, indices in spans:
            index = indices[-1]  # of a pronoun's words the noun
            suspicion = score.get((start, end), 0.0)
            words.append({
                "before": caption[position:start],
                "text": caption[start:end],
                # Of the caption: a tag such as long_hair is one word of it, and two to a model.
                "number": bisect_right(every, start, key=lambda span: span[0]) - 1,
                "start": start,
                "constant": next((c for a, b, c in constants if a <= start < b), ""),
                "is_read": limit is None or indices[0] < limit or (bool(claims) and claim is None),
                "wrong": None if wrong is None else any(a <= start < b for a, b in wrong),
                "suspicion": suspicion,
                "is_shaded": (start, end) in shaded_spans,
                "gain": gains[index] if has_numbers and index < len(gains) else None,
                "gone": _step_without(removal or {}, indices) if has_numbers else None,
                "expected": expected[index] if has_numbers and index < len(expected) else "",
            })  # fmt: skip
            position = end
        pieces.append(
            {"claim": claim, "place": place, "words": words, "rest": caption[position:last]}
        )
    return render(
        "caption.html", pieces=pieces, selected=selected_claim, number_of_claims=len(claims),
        is_unfamiliar=is_unfamiliar, is_reachable=is_reachable,
    )  # fmt: skip


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


def _step_without(removal: Mapping[int, int], indices: Sequence[int]) -> int | None:
    """The step from which on none of these words is left; None: they stay."""
    steps = [removal.get(index) for index in indices]
    return None if None in steps else max(step or 0 for step in steps)


def words_of(caption: str, claim: ClaimView) -> list[tuple[int, int, list[int]]]:
    """The words of a claim, in characters of the caption, with the indices of the words that models
    read there: several for a pronoun."""
    asked_claim = Claim(claim.start, claim.end, cast(Kind, claim.kind), subject=claim.subject)
    words: list[tuple[int, int, list[int]]] = []
    for index, (a, b) in enumerate(Caption.parse(asked_claim.question(caption)).spans):
        start, end = asked_claim.in_caption(caption, a, b)
        if words and words[-1][:2] == (start, end):
            words[-1][2].append(index)
        else:
            words.append((start, end, [index]))
    return words


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
    language = language_in(abstractness.caption)
    words = [
        (text, gain)
        for start, end, gain in abstractness.words
        if has_content([text := abstractness.caption[start:end].strip(".,;:!?")], language)
    ]
    down = sorted((word for word in words if word[1] <= -SHOWN), key=lambda word: word[1])
    up = sorted((word for word in words if word[1] >= SHOWN), key=lambda word: -word[1])
    return render(
        "abstractness.html",
        pieces=pieces,
        icc=abstractness.icc,
        down=down[:_NAMED],
        up=up[:_NAMED],
    )
