"""The caption with its words shaded by suspicion.

Colour is never the only cue: suspect words are also underlined, thicker the more suspect, so that
no one has to distinguish colours. The text is the user's, byte for byte.
"""

from collections.abc import Collection, Mapping, Sequence

from markupsafe import Markup

from backend.engine.captions import Caption
from backend.engine.detection.localisation import VISIBLE
from backend.engine.detection.types import SuspectWord
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
