"""The caption with the effect of each word on its concreteness.

As with suspicion, colour is never the only cue: words that make the caption more abstract have a
wavy underline, those that make it more concrete a straight one, and hovering shows the number.
"""

from typing import Any

from markupsafe import Markup

from backend.review.views import Abstractness
from traced_ui.templates import render

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
