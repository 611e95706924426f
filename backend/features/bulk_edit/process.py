"""The process in which `applying.py` edits captions. Imports none of our code, to start at once.

Reads one request and writes one answer, both JSON: the edited captions, or the problem. The parent
limits its time as a whole.
"""

import json
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import regex


class _Refused(Exception):
    """`args`: the problem, and the caption that it concerns or the reason."""


def main() -> None:
    request = json.load(sys.stdin)
    with suppress(ValueError, OSError):  # where address space cannot be limited, time still is
        resource.setrlimit(resource.RLIMIT_AS, (request["limits"]["memory"],) * 2)
    try:
        answer = json.dumps({"captions": _apply_edit(**request)})
    except _Refused as problem:
        answer = json.dumps(problem.args[0])
    except MemoryError:
        answer = '{"problem": "memory"}'
    sys.stdout.write(answer)


def _apply_edit(
    edit: Mapping[str, Any], captions: Sequence[str], limits: Mapping[str, Any]
) -> list[str]:
    signal.alarm(limits["compile"])  # it ends the process: nothing interrupts the compiler
    pattern = _compile(edit) if edit["find"] else None
    signal.alarm(0)
    results = []
    for caption in captions:
        text = caption if pattern is None else _replace(pattern, edit, caption, limits)
        if edit["prefix"] and not text.startswith(edit["prefix"]):
            text = edit["prefix"] + text
        if edit["suffix"] and not text.endswith(edit["suffix"]):
            text += edit["suffix"]
        if len(text) > limits["length"] and text != caption:
            raise _too_long(caption)
        results.append(text)
    return results


def _compile(edit: Mapping[str, Any]) -> Any:
    find = edit["find"] if edit["is_regex"] else regex.escape(edit["find"])
    try:
        pattern = regex.compile(find, regex.IGNORECASE if edit["ignore_case"] else 0)
        if edit["is_regex"]:  # replacements are parsed only on a match, so expand an empty one
            names = "".join(f"(?P<{name}>)" for name in pattern.groupindex)
            regex.compile(f"{'()' * pattern.groups}{names}").match("").expand(edit["replace"])
    except MemoryError:
        raise
    except Exception as problem:  # the package raises a dozen types for what it cannot parse
        raise _invalid(problem) from None
    return pattern


def _replace(pattern: Any, edit: Mapping[str, Any], caption: str, limits: Mapping[str, Any]) -> str:
    grown = len(caption)

    def insert(match: Any) -> str:
        nonlocal grown
        text = str(match.expand(edit["replace"])) if edit["is_regex"] else str(edit["replace"])
        grown += len(text) - len(match.group())
        if grown > limits["length"] + len(caption):
            raise _too_long(caption)
        return text

    try:
        return str(pattern.sub(insert, caption, timeout=limits["caption"]))
    except (_Refused, MemoryError):
        raise
    except TimeoutError:
        raise _Refused({"problem": "time", "caption": caption}) from None
    except Exception as problem:
        raise _invalid(problem) from None


def _invalid(problem: Exception) -> _Refused:
    return _Refused({"problem": "invalid", "reason": str(problem) or type(problem).__name__})


def _too_long(caption: str) -> _Refused:
    return _Refused({"problem": "length", "caption": caption})


if __name__ == "__main__":
    main()
