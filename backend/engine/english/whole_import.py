"""Import a package whole before one of its parts."""

from importlib import import_module


def import_textblob() -> None:
    """Wait until textblob is imported, before `from textblob.PART import …`.

    While one thread imports a package, Python lets another import its parts; textblob imports
    itself in a circle, so that thread would find a module without its names.
    """
    import_module("textblob")
