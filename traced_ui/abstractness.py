"""The caption with what each word does to its concreteness.

As with suspicion, shade is never alone: words that make the caption more abstract are underlined
with waves, those that make it more concrete with a line, and the number is told on hover.
"""

from backend.views import Abstractness
from traced_ui.markup import safe

#: Contributions smaller than this are told on hover alone.
SHOWN = 0.02
#: A contribution of this size has the full shade.
_FULL = 0.2


def explained_abstractness(found: Abstractness) -> str:
    """A paragraph, and the words that matter most in a sentence."""
    pieces: list[str] = []
    position = 0
    for start, end, gain in found.words:
        pieces.append(safe(found.caption[position:start]))
        kind = "abstract" if gain <= -SHOWN else "concrete" if gain >= SHOWN else ""
        shade = min(1.0, abs(gain) / _FULL)
        pieces.append(
            f'<span class="word {kind}" style="--share:{shade:.2f}" '
            f'title="without this word ICC changes by {-gain:+.2f}">'
            f"{safe(found.caption[start:end])}</span>"
        )
        position = end
    pieces.append(safe(found.caption[position:]))
    return (
        f'<div class="abstractness"><p class="traced-words" dir="auto">{"".join(pieces)}</p>'
        f"<small>ICC {found.icc:.2f}. {_told(found)}</small></div>"
    )


def _told(found: Abstractness) -> str:
    down = sorted((word for word in found.words if word[2] <= -SHOWN), key=lambda word: word[2])
    up = sorted((word for word in found.words if word[2] >= SHOWN), key=lambda word: -word[2])

    def named(words: list[tuple[int, int, float]]) -> str:
        return ", ".join(
            f"“{safe(found.caption[start:end])}” {gain:+.2f}" for start, end, gain in words[:3]
        )

    parts = []
    if down:
        parts.append(f"More abstract through {named(down)}.")
    if up:
        parts.append(f"More concrete through {named(up)}.")
    return " ".join(parts) or "No single word decides it."
