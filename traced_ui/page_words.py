"""Rewrite messages for web pages: what to click instead of command-line options.

The same error from engine or jobs reaches terminals, API clients and pages. For pages, its advice
is replaced here; sentences without an equivalent on the page are left out.
"""

import re

from traced_ui.import_form import HIDE, INSIDE, LABELS, NO_IDS, PER_LINE, TAKE, TICKS

#: Options of an import, and the labels of their fields under Add data.
_FIELDS = {
    **{name.replace("_", "-"): f"“{label}”" for name, label in LABELS.items() if name != "name"},
    "no-id-column": f"“{TICKS[NO_IDS]}”",
    "caption-from metadata": f"“{TICKS[INSIDE]}”",
    "caption-from": f"“{TICKS[INSIDE]}”",
    "captions-per-line": f"“{TICKS[PER_LINE]}”",
}
_ROOT = _FIELDS["image-root"]
#: What the command line advises, and what a page says instead.
_ADVICE = (
    (
        r"(Score it first|Run): python app\.py score .*? --specificity",
        "Measure it under Add data: “Measure how specific its captions are”.",
    ),
    (
        r"Score it first: python app\.py score .*? --support",
        "Score it under Add data, then click “Measure the support of its phrases” there.",
    ),
    (r"Score it first: python app\.py score \S.*", "Score it under Add data first."),
    (
        r"Start with --model .*?, or score it again\.",
        "Score it again under Add data, or ask the server's administrator for that model.",
    ),
    (
        r"For photographs choose another with --model, for example --model \S+",
        "For photographs, the server's administrator can choose another.",
    ),
    (
        r"The administrator can allow more folders with --\S+, or use the command line\.",
        "The server's administrator can allow more folders.",
    ),
    (r"import again with --update take\.", f"tick “{TICKS[TAKE]}” and import again."),
    (r"import again with --gone hide\.", f"tick “{TICKS[HIDE]}” and import again."),
    (r"import with --captions-per-line\.", f"tick “{TICKS[PER_LINE]}” and import again."),
    (r"give one with --name\.", "enter one under “Name in this app”."),
    (r"Choose another name with --name\.", "Enter another one under “Name in this app”."),
    (
        r"(name (?:its|the) encoding) with --encoding, such as --encoding (\S+?)\.",
        rf"\1 under {_FIELDS['encoding']}, such as \2.",
    ),
    (r"with --image-root naming (the folder of [^)]*)", rf"with \1 under {_ROOT}"),
    (r"give (\S+) and --image-root FOLDER", rf"give \1, and that folder under {_ROOT}"),
    (
        r"with --image-root if its images lie here",
        rf"with this folder under {_ROOT} if its images "
        "lie here",
    ),
    (r"read with --caption-from metadata", f"read if {_FIELDS['caption-from']} is ticked"),
    (
        r"To use them anyway: --id-column (\S+?)\.",
        rf"To use them anyway: enter \1 under {_FIELDS['id-column']}.",
    ),
    *((rf"\(--{option}\)", f"({field})") for option, field in _FIELDS.items()),
    *((rf"\bwith --{option}(?![\w-])", f"under {field}") for option, field in _FIELDS.items()),
    (
        r"Name a vision-language model: --vlm NAME\.",
        "No vision-language model is set up; the server's administrator can add one.",
    ),
)
_OF_THE_TERMINAL = re.compile(r"(?:^|[^\w-])--[a-z][a-z-]+|python app\.py")
#: A command to be run on another machine, where there is no page.
_ELSEWHERE = re.compile(r"'hf download [^']*'")
_SENTENCES = re.compile(r"(?<=[.!?])\s+")


def _is_of_the_terminal(sentence: str) -> bool:
    return bool(_OF_THE_TERMINAL.search(_ELSEWHERE.sub("", sentence)))


def for_page(message: str) -> str:
    """The message without command-line advice; empty only if `message` is.

    >>> for_page("There is no room. Choose another folder with --keep.")
    'There is no room.'
    """
    for pattern, words in _ADVICE:
        message = re.sub(pattern, words, message)
    kept = [part for part in _SENTENCES.split(message) if not _is_of_the_terminal(part)]
    if len(kept) == len(_SENTENCES.split(message)):
        return message
    return " ".join(kept) or "Only the server's administrator can do this."
