"""The caption with its words shaded by suspicion, or with the effect of each on its concreteness.

Colour is never the only cue. Suspect words are also underlined, thicker the more suspect; words
that make the caption more abstract have a wavy underline, those that make it more concrete a
straight one. The text is the user's, byte for byte.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from backend.engine.captions import Caption
from backend.engine.detection.localisation import VISIBLE
from backend.engine.detection.types import SuspectWord
from backend.review.views import Abstractness
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
) -> Markup:
    """The caption as a paragraph; words are shaded by suspicion, and hovering shows the number.

    `words_read`: words beyond this number are marked as not read by the model. `gains`: what
    deleting the word alone adds to s, shown on hover, as is `removal`: the step at which a word was
    removed, from which on the page strikes it out. `wrong`: character ranges of the
    words that a curator marked as wrong; None disables marking. `expected`: what a captioner
    expected in place of each word ("cat 0.61, dog 0.20"), shown on hover. `named`: the words to
    shade; None: all that are suspect enough.
    """
    score = {(suspect.start, suspect.end): suspect.score for suspect in suspects}
    shaded = {(word.start, word.end) for word in (suspects if named is None else named)}
    words = []
    position = 0
    for index, (start, end) in enumerate(Caption.parse(caption).spans):
        suspicion = score.get((start, end), 0.0)
        words.append({
            "before": caption[position:start],
            "text": caption[start:end],
            "start": start,
            "is_read": words_read is None or index < words_read,
            "wrong": None if wrong is None else (start, end) in wrong,
            "suspicion": suspicion,
            "is_shaded": suspicion >= VISIBLE and (start, end) in shaded,
            "gain": gains[index] if index < len(gains) else None,
            "gone": (removal or {}).get(index),
            "expected": expected[index] if index < len(expected) else "",
        })  # fmt: skip
        position = end
    return render("caption.html", words=words, rest=caption[position:])


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
