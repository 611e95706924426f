"""How a dataset is imported: the fields of the Datasets page, for a path and for an upload alike.

Messages about an import name these fields by their labels (`traced_ui.page_words`).
"""

from collections.abc import Mapping
from typing import Any

from backend.datasets.cells import text_problem
from backend.errors import SettingsError

#: Fields with text, by the name of the import's argument. An empty one is detected.
LABELS = {
    "name": "Name in this app",
    "image_column": "Column with image paths",
    "caption_column": "Column with captions",
    "id_column": "Column with ids",
    "split_column": "Column with splits",
    "image_root": "Folder that image paths are relative to",
    "encoding": "Encoding",
    "delimiter": "Delimiter",
    "subset": "Subset",
    "language": "Language of captions",
}
#: Fields to be ticked.
NO_IDS, INSIDE, PER_LINE = "no_id_column", "captions_inside", "captions_per_line"
TAKE, HIDE = "take_changes", "hide_gone"
TICKS = {
    NO_IDS: "No column contains ids",
    INSIDE: "Captions are embedded in the images",
    PER_LINE: "Each line of a caption file is a caption",
    TAKE: "Take rows that changed since the last import",
    HIDE: "Hide pairs whose rows are gone",
}
FIELDS = (*LABELS, *TICKS)
#: Characters that are hard to type or to see, as people call them.
_DELIMITERS = {
    "tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|",
    "space": " ",
}  # fmt: skip


def element(name: str) -> str:
    """The id of a field on the page, which `uploads.js` reads.

    >>> element("image_column")
    'import-image-column'
    """
    return f"import-{name.replace('_', '-')}"


def import_options(given: Mapping[str, object]) -> dict[str, Any]:
    """The arguments of an import, from what was entered. Raises SettingsError, naming the field."""
    for name in given:
        if name not in FIELDS:
            raise SettingsError(f"There is no field '{name[:80]}'. There are: {', '.join(FIELDS)}.")
    texts = {name: str(given.get(name) or "").strip() for name in LABELS}
    for name, text in texts.items():
        if problem := text_problem(text):
            raise SettingsError(f"“{LABELS[name]}” cannot be used: {problem}.")
    options: dict[str, Any] = {name: text or None for name, text in texts.items()}
    options["delimiter"] = _DELIMITERS.get(texts["delimiter"].lower(), options["delimiter"])
    if given.get(NO_IDS):
        if texts["id_column"]:
            raise SettingsError(
                f"Fill in “{LABELS['id_column']}” or tick “{TICKS[NO_IDS]}”, not both."
            )
        options["id_column"] = ""
    options["caption_from"] = "metadata" if given.get(INSIDE) else None
    options["captions_per_line"] = bool(given.get(PER_LINE))
    options["update"] = "take" if given.get(TAKE) else "keep"
    options["gone"] = "hide" if given.get(HIDE) else "keep"
    return options
