"""Validate endpoint arguments against their annotations, which Gradio does not enforce."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from backend.datasets.cells import text_problem
from backend.errors import SettingsError

#: Maximum id or version that every database can store: PostgreSQL's INTEGER.
_LARGEST = 2**31 - 1


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function so that it raises SettingsError for invalid or unstorable text and for
    invalid integers; 3.0 and "3" count as integers."""
    signature = inspect.signature(function)
    kinds = {name: about.annotation for name, about in signature.parameters.items()}

    @functools.wraps(function)
    def safe(*given: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*given, **named)
        except TypeError as problem:
            raise SettingsError(f"Unknown arguments: {problem}.") from problem
        for name, value in bound.arguments.items():
            if kinds[name] is int:
                bound.arguments[name] = _whole(name, value)
            elif kinds[name] is str:
                bound.arguments[name] = _text(name, value)
        return function(*bound.args, **bound.kwargs)

    return safe


def _whole(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise TypeError
        number = int(value)
        if isinstance(value, float) and number != value:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(f"'{name}' must be a whole number.") from None
    if abs(number) > _LARGEST:
        raise SettingsError(f"'{name}' is too large a number.")
    return number


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"'{name}' must be text.")
    if problem := text_problem(value):
        raise SettingsError(f"'{name}' cannot be used: {problem}.")
    return value
