"""Jinja environments for every HTML file that the program writes or serves.

Every value inserted into a template is escaped, and a missing one is an error.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def template_environment(*folders: Path) -> Environment:
    """An environment for the templates of `folders`, the first that has one.

    Rendering raises jinja2.UndefinedError if a value is missing.
    """
    return Environment(
        loader=FileSystemLoader(folders), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
