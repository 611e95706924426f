"""Fill in the defaults of trailing arguments that a request leaves out.

Gradio's own clients do this; a plain HTTP request written before an endpoint gained an argument
does not, and Gradio answers it with an internal error.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr
from gradio.blocks import BlockFunction
from gradio.components.api_component import Api


class ApiBlocks(gr.Blocks):
    """Blocks whose endpoints (`gr.api`) have default arguments for every caller."""

    def validate_inputs(self, block_fn: BlockFunction, inputs: list[Any]) -> None:
        """Fill in what is missing. Raises gr.Error naming a missing argument without a default."""
        is_endpoint = bool(block_fn.inputs) and all(isinstance(i, Api) for i in block_fn.inputs)
        if is_endpoint and block_fn.fn is not None:
            try:
                inputs += missing_arguments(block_fn.fn, inputs)
            except TypeError as problem:
                raise gr.Error(str(problem), print_exception=False) from None
        super().validate_inputs(block_fn, inputs)


def missing_arguments(function: Callable[..., Any], given: Sequence[Any]) -> list[Any]:
    """The defaults of the arguments after those `given`. Raises TypeError if one has no default.

    >>> missing_arguments(lambda pair, version=0, note="": None, [7])
    [0, '']
    """
    wanted = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "request"  # injected by Gradio
    ]
    missing = wanted[len(given) :]
    for parameter in missing:
        if parameter.default is inspect.Parameter.empty:
            raise TypeError(
                f"The argument '{parameter.name}' is missing: {len(given)} of {len(wanted)} were "
                f"sent. Arguments: {', '.join(p.name for p in wanted)}."
            )
    return [parameter.default for parameter in missing]
