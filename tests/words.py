"""The words that people read for a verdict, a measure or a state: one each.

`backend/verdict_texts.py` and `db/measures.py` define them; `INSTEAD` lists the other words for the
same. Those are names in the code, the API, files and options, and no text has them but as a name.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

#: Patterns of such names, and the word to use instead.
INSTEAD = {
    r"drop(s|ped|ping)?": "remove", r"unsure": "not sure", r"abstract": "vague",
    r"probability of error": "chance of error", r"unreviewed": "undecided",
    r"unlabel(l)?ed": "undecided", r"p_error": "chance of error", r"s_0": "match",
}  # fmt: skip
#: Columns of files, which command line, API and documentation name.
COLUMNS = ("p_error", "s_0")
#: In texts outside the pages: code, names in quotation marks, columns and links.
_NAMES = re.compile(
    rf"```.*?```|`[^`]*`|<!--.*?-->|\]\([^)]*\)|'[\w=&.:-]+'|\b({'|'.join(COLUMNS)})\b", re.DOTALL
)


#: The papers' own words, which stand beside ours where these are explained.
_OF_PAPERS = re.compile(
    r"abstract \(low ICC\)|vague \(abstract\)|TRACED probability of error", re.IGNORECASE
)


def other_words(text: str) -> list[str]:
    """
    >>> other_words("12 were dropped, 3 unsure"), other_words("Abstraction")
    (["'dropped': say 'remove'", "'unsure': say 'not sure'"], [])
    """
    return [
        f"{match[0]!r}: say {word!r}"
        for other, word in INSTEAD.items()
        for match in re.finditer(
            rf"(?<![-\w]){other}(?![-\w])", _OF_PAPERS.sub("", text), flags=re.IGNORECASE
        )
    ]


def without_names(text: str) -> str:
    """
    >>> without_names("Pairs decided 'drop', by `p_error`")
    'Pairs decided , by '
    """
    return _NAMES.sub("", text)


def texts_in(path: Path) -> Iterator[str]:
    """The strings of a module that are sentences or titles; neither names nor documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {
        ast.get_docstring(node, clean=False)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    }
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            is_text = " " in text.strip() or text.istitle() or (" " in text and id(node) in parts)
            if is_text and text not in documented and "\n" not in text:
                yield text
