"""One edit applied to many captions: find and replace, a prefix, a suffix. Pure functions.

Patterns use the `regex` package because it supports timeouts: catastrophic backtracking, as with
(a+)+$, is aborted after `SECONDS` with an error message.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import regex

from backend.errors import SettingsError

#: Timeout per caption. Any sensible expression takes microseconds.
SECONDS = 1.0
LONGEST_FIND = 1_000
#: An edit that would make a caption longer than this is rejected, before it exhausts memory.
LONGEST_RESULT = 20_000
_NO_SENSE = (regex.error, IndexError, RecursionError, OverflowError)


@dataclass(frozen=True)
class BulkEdit:
    """The edit of each caption: first, all matches of `find` are replaced, then `prefix` and
    `suffix` are added unless already present. `is_regex`: `find` is a regular expression, and
    `replace` may refer to its groups (\\1, \\g<name>)."""

    find: str = ""
    replace: str = ""
    is_regex: bool = False
    ignore_case: bool = False
    prefix: str = ""
    suffix: str = ""


def editor(edit: BulkEdit) -> Callable[[str], str]:
    """The edit as a function of a caption.

    Raises SettingsError for an edit that does nothing or an invalid expression. The returned
    function raises it if a caption takes too long to edit or would become too long.

    >>> editor(BulkEdit(find="colour", replace="color", prefix="A photo: "))("a colour")
    'A photo: a color'
    """
    _check(edit)
    pattern = _compiled(edit) if edit.find else None

    def edited(caption: str) -> str:
        text = caption if pattern is None else _replaced(pattern, edit, caption)
        if edit.prefix and not text.startswith(edit.prefix):
            text = edit.prefix + text
        if edit.suffix and not text.endswith(edit.suffix):
            text += edit.suffix
        if len(text) > LONGEST_RESULT and text != caption:
            raise _too_long(caption)
        return text

    return edited


def _check(edit: BulkEdit) -> None:
    if edit.replace and not edit.find:
        raise SettingsError("There is a replacement but nothing to find.")
    if not (edit.find or edit.prefix or edit.suffix):
        raise SettingsError("Give text to find, a prefix or a suffix.")
    for name, text in (("find", edit.find), ("replacement", edit.replace),
                       ("prefix", edit.prefix), ("suffix", edit.suffix)):  # fmt: skip
        if len(text) > LONGEST_FIND:
            raise SettingsError(f"The {name} has at most {LONGEST_FIND:,} characters.")
        if "\0" in text:
            raise SettingsError(f"The {name} holds a NUL character.")


def _compiled(edit: BulkEdit) -> Any:
    flags = regex.VERSION0 | (regex.IGNORECASE if edit.ignore_case else 0)
    try:
        pattern = regex.compile(edit.find if edit.is_regex else regex.escape(edit.find), flags)
        if edit.is_regex:  # replacements are parsed only on a match, so expand an empty one
            regex.compile(f"{'()' * pattern.groups}{_named(pattern)}").match("").expand(
                edit.replace
            )
    except _NO_SENSE as problem:
        raise _invalid_expression(problem) from None
    return pattern


def _named(pattern: Any) -> str:
    return "".join(f"(?P<{name}>)" for name in pattern.groupindex)


def _invalid_expression(problem: Exception) -> SettingsError:
    return SettingsError(f"The expression is invalid: {problem}.")


def _replaced(pattern: Any, edit: BulkEdit, caption: str) -> str:
    grown = len(caption)

    def put(match: Any) -> str:
        nonlocal grown
        text = str(match.expand(edit.replace)) if edit.is_regex else edit.replace
        grown += len(text) - len(match.group())
        if grown > LONGEST_RESULT + len(caption):
            raise _too_long(caption)
        return text

    try:
        return str(pattern.sub(put, caption, timeout=SECONDS))
    except _NO_SENSE as problem:
        raise _invalid_expression(problem) from None
    except TimeoutError:
        raise SettingsError(
            f"The expression takes more than {SECONDS:g} s for the caption “{caption[:60]}”: it "
            "tries too many combinations. Avoid nested repetition such as (a+)+."
        ) from None


def _too_long(caption: str) -> SettingsError:
    return SettingsError(
        f"The caption “{caption[:60]}” would have more than {LONGEST_RESULT:,} characters."
    )
