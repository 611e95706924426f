"""What a person may state about an import: the options of the command line, which are fields of
the page Add data."""

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
UNCAPTIONED = "uncaptioned"
TAKE, HIDE = "take_changes", "hide_gone"
TICKS = {
    NO_IDS: "No column contains ids",
    INSIDE: "Captions are embedded in the images",
    PER_LINE: "Each line of a caption file is a caption",
    UNCAPTIONED: "Take pictures without a caption, to write one",
    TAKE: "Take rows that changed since the last import",
    HIDE: "Hide pairs whose rows are gone",
}
FIELDS = (*LABELS, *TICKS)


def where_to_state(field: str, value: str = "") -> dict[str, str]:
    """Where to state something, by interface, as the arguments of an error.

    >>> where_to_state("encoding", "cp1252")["terminal"]
    'State it with --encoding cp1252.'
    >>> where_to_state("encoding")["page"]
    'State it under “Encoding”.'
    """
    option = f"--{field.replace('_', '-')}"
    return {
        "terminal": f"State it with {f'{option} {value}'.rstrip()}.",
        "page": f"State it under “{LABELS[field]}”" + (f": {value}." if value else "."),
    }
