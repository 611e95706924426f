"""Form fields of options: their defaults, bounds, choices and words are those of the model."""

import types
from collections.abc import Sequence
from typing import Any, Literal, Union, get_args, get_origin

import gradio as gr
from gradio.components import Component
from pydantic.fields import FieldInfo

from backend.options import Options


def field(
    model: type[Options],
    name: str,
    label: str = "",
    choices: Sequence[tuple[str, str]] = (),
    step: float = 0.01,
    component: type[Component] = gr.Slider,
    **more: Any,
) -> Any:
    """The component in which an option is entered: choices are a radio group, a number with bounds
    a slider, text a box, and what is on or off a checkbox.

    `label`: by default the option's description. `choices`: as people call them, each with its
    value; without the feature of the default's, the first is chosen. `component`: for a number.
    `more`: further arguments of the component; a `value` is where an option without a default
    starts."""
    about = model.model_fields[name]
    kind = _kind(about.annotation)
    values = get_args(kind) if get_origin(kind) is Literal else ()
    arguments: dict[str, Any] = {
        "label": label or " ".join((about.description or "").split()),
        "value": about.default,
    }
    if choices and about.default not in [value for _, value in choices]:
        arguments["value"] = choices[0][1]
    arguments |= more
    if choices or values:
        return gr.Radio(list(choices) or list(values), **arguments)
    if kind is bool:
        return gr.Checkbox(**arguments)
    if kind in (int, float):
        arguments = {**_bounds(about, step), "step": step, **arguments}
        return component(**arguments)
    return gr.Textbox(**arguments)


def _bounds(about: FieldInfo, step: float) -> dict[str, Any]:
    """The smallest and the largest value; one `step` inside a bound that is excluded."""
    bounds: dict[str, Any] = {}
    for each in about.metadata:
        if hasattr(each, "ge"):
            bounds["minimum"] = each.ge
        if hasattr(each, "gt"):
            bounds["minimum"] = each.gt + step
        if hasattr(each, "le"):
            bounds["maximum"] = each.le
    return bounds


def _kind(annotation: Any) -> Any:
    """The type, without None."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(kind for kind in get_args(annotation) if kind is not type(None))
    return annotation
