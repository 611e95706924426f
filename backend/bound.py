"""Bind store and models to functions, for the facades of a workspace."""

from collections.abc import Callable
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
P = ParamSpec("P")


@overload
def bound(
    function: Callable[Concatenate[A, B, P], R], first: A, second: B, /
) -> Callable[P, R]: ...


@overload
def bound(function: Callable[Concatenate[A, P], R], first: A, /) -> Callable[P, R]: ...


def bound(function: Callable[..., Any], *first: Any) -> Callable[..., Any]:
    """`function` without its first arguments, with its docstring and remaining signature.

    >>> bound(max, 3)(2)
    3
    """
    filled = partial(function, *first)
    filled.__doc__ = function.__doc__
    return filled
