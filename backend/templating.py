"""Jinja environments for every HTML file that the program writes or serves.

Every value inserted into a template is escaped, and a missing one is an error.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def template_environment(folder: Path) -> Environment:
    """An environment for the templates of `folder`.

    Rendering raises jinja2.UndefinedError if a value is missing.
    """
    return Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
