"""How a dataset is imported: the fields of the Datasets page, for a path and for an upload alike.

Errors of an import name these fields by their labels (`backend.datasets.read_options`).
"""

from collections.abc import Mapping
from typing import Any

from backend.datasets.cells import text_problem
from backend.datasets.read_options import (
    FIELDS,
    HIDE,
    INSIDE,
    LABELS,
    NO_IDS,
    PER_LINE,
    TAKE,
    TICKS,
    UNCAPTIONED,
)
from backend.errors import SettingsError


def element(name: str) -> str:
    """The id of a field on the page, which `uploads.js` reads.

    >>> element("image_column")
    'import-image-column'
    """
    return f"import-{name.replace('_', '-')}"


def import_options(form: Mapping[str, object]) -> dict[str, Any]:
    """The arguments of an import, from what was entered. Raises SettingsError, naming the field."""
    for name in form:
        if name not in FIELDS:
            raise SettingsError(f"There is no field '{name[:80]}'. There are: {', '.join(FIELDS)}.")
    texts = {name: str(form.get(name) or "").strip() for name in LABELS}
    for name, text in texts.items():
        if problem := text_problem(text):
            raise SettingsError(f"“{LABELS[name]}” cannot be used: {problem}.")
    options: dict[str, Any] = {name: text or None for name, text in texts.items()}
    if form.get(NO_IDS):
        if texts["id_column"]:
            raise SettingsError(
                f"Fill in “{LABELS['id_column']}” or tick “{TICKS[NO_IDS]}”, not both."
            )
        options["id_column"] = ""
    options["caption_from"] = "metadata" if form.get(INSIDE) else None
    options["captions_per_line"] = bool(form.get(PER_LINE))
    options["uncaptioned"] = bool(form.get(UNCAPTIONED))
    options["update"] = "take" if form.get(TAKE) else "keep"
    options["gone"] = "hide" if form.get(HIDE) else "keep"
    return options
