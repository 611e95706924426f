"""Stands in for the package of this name: its expressions are words that say which limit of a bulk
edit they reach. They harm no real package."""

import time
from typing import Any

IGNORECASE = 2


class _Pattern:
    groups = 0
    groupindex: dict[str, int] = {}

    def __init__(self, find: str) -> None:
        self._find = find

    def match(self, text: str) -> "_Pattern":
        return self

    def expand(self, replace: str) -> str:
        return replace

    def sub(self, insert: Any, text: str, timeout: float) -> str:
        if self._find == "slow to search":
            time.sleep(timeout)
            raise TimeoutError
        return text.replace("a", "b") if insert else text


def compile(find: str, flags: int = 0) -> _Pattern:
    if find == "slow to compile":
        time.sleep(60)
    if find == "large":
        bytearray(2**40)
    return _Pattern(find)


def escape(text: str) -> str:
    return text
