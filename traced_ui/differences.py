"""Two captions as one text with what was taken out and what was put in."""

import difflib

from backend.captions import Caption
from traced_ui.markup import safe


def difference(before: str, after: str) -> str:
    """Inline HTML: deleted words in <del>, new ones in <ins>, all else as in `after`.

    Without the parts in <del> the text is `after`, byte for byte.
    """
    old, new = _pieces(before), _pieces(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    found: list[str] = []
    for kind, i0, i1, j0, j1 in matcher.get_opcodes():
        if kind == "equal":
            found.append(safe("".join(new[j0:j1])))
            continue
        if gone := "".join(old[i0:i1]):
            gap = "" if gone[-1:].isspace() else " "
            found.append(f"<del>{safe(gone)}</del>{gap if j1 > j0 else ''}")
        if added := "".join(new[j0:j1]):
            found.append(f"<ins>{safe(added)}</ins>")
    return "".join(found)


def _pieces(text: str) -> list[str]:
    """Words and what is between them; joined they are the text."""
    found: list[str] = []
    position = 0
    for start, end in Caption.parse(text).spans:
        if start > position:
            found.append(text[position:start])
        found.append(text[start:end])
        position = end
    if position < len(text):
        found.append(text[position:])
    return found
