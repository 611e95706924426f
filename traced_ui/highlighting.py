"""The caption with its words shaded by suspicion.

Shade is never alone: suspect words are also underlined, thicker the more suspect, so that nobody
needs to tell colours apart. The text is the user's, byte for byte.
"""

from collections.abc import Collection, Mapping, Sequence

from backend.captions import Caption
from backend.detection.localisation import VISIBLE
from backend.detection.types import SuspectWord
from traced_ui.markup import safe


def highlighted_caption(
    caption: str,
    suspects: Sequence[SuspectWord],
    removed: Collection[int] = (),
    words_read: int | None = None,
    gains: Sequence[float] = (),
    removal: Mapping[int, int] | None = None,
    wrong: Collection[tuple[int, int]] | None = None,
) -> str:
    """A paragraph; words carry their suspicion, and on hover the number.

    `removed`: words struck out (those gone at a step). `words_read`: words behind are marked as
    not read by the model. `gains`: what deleting the word alone adds to s, `removal`: the step at
    which a word was removed, both told on hover. `wrong`: characters of the words that a curator
    called wrong; with None words cannot be called that here.
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
                (removal or {}).get(index),
                None if wrong is None else (start, end) in wrong,
            )
        )
        position = end
    pieces.append(safe(caption[position:]))
    return f'<p class="traced-caption" dir="auto">{"".join(pieces)}</p>'


def _word(
    text: str,
    index: int,
    suspicion: float,
    removed: bool,
    unread: bool,
    gain: float | None,
    step: int | None,
    wrong: bool | None,
) -> str:
    classes = ["word"]
    told = f"suspicion {suspicion:.2f}"
    if gain is not None:
        told += f" · without this word alone s changes by {gain:+.3f}"
    if step is not None:
        told += f" · removed at step {step}"
    if suspicion >= VISIBLE:
        classes.append("suspect")
    if removed:
        classes.append("removed")
    if unread:
        classes.append("unread")
        told = "the model does not read this far"
    tag = "del" if removed else "span"
    marking = ""
    if wrong is not None:
        told += " · click: this word is wrong" if not wrong else " · called wrong; click: it is not"
        classes += ["wrong"] if wrong else []
        marking = f'role="button" tabindex="-1" aria-pressed="{"true" if wrong else "false"}" '
    return (
        f'<{tag} class="{" ".join(classes)}" data-word="{index}" {marking}'
        f'style="--suspicion:{suspicion:.2f}" title="{safe(told)}">{safe(text)}</{tag}>'
    )
