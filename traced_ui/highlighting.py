"""The caption with its words shaded by suspicion.

Shade is never alone: suspect words are also underlined, thicker the more suspect, so that nobody
needs to tell colours apart. The text is the user's, byte for byte.
"""

from collections.abc import Collection, Sequence

from backend.captions import Caption
from backend.detection.types import SuspectWord
from traced_ui.markup import safe

#: Below this a word is shown plain: a page full of faint shades helps nobody.
VISIBLE = 0.15


def highlighted_caption(
    caption: str,
    suspects: Sequence[SuspectWord],
    removed: Collection[int] = (),
    words_read: int | None = None,
    gains: Sequence[float] = (),
) -> str:
    """A paragraph; words carry their suspicion, and on hover the number.

    `removed`: words struck out (those gone at a step). `words_read`: words behind are marked as
    not read by the model. `gains`: what deleting the word alone adds to s, told on hover.
    """
    parsed = Caption.parse(caption)
    score = {(suspect.start, suspect.end): suspect.score for suspect in suspects}
    pieces: list[str] = []
    position = 0
    for index, (start, end) in enumerate(parsed.spans):
        pieces.append(safe(caption[position:start]))
        suspicion = score.get((start, end), 0.0)
        unread = words_read is not None and index >= words_read
        pieces.append(
            _word(
                caption[start:end],
                index,
                suspicion,
                index in removed,
                unread,
                gains[index] if index < len(gains) else None,
            )
        )
        position = end
    pieces.append(safe(caption[position:]))
    return f'<p class="traced-caption" dir="auto">{"".join(pieces)}</p>'


def _word(
    text: str, index: int, suspicion: float, removed: bool, unread: bool, gain: float | None
) -> str:
    classes = ["word"]
    told = f"suspicion {suspicion:.2f}"
    if gain is not None:
        told += f" · without this word alone s changes by {gain:+.3f}"
    if suspicion >= VISIBLE:
        classes.append("suspect")
    if removed:
        classes.append("removed")
    if unread:
        classes.append("unread")
        told = "the model does not read this far"
    tag = "del" if removed else "span"
    return (
        f'<{tag} class="{" ".join(classes)}" data-word="{index}" '
        f'style="--suspicion:{suspicion:.2f}" title="{safe(told)}">{safe(text)}</{tag}>'
    )
