"""Locations of the files shipped with the program: the embedded models and the demo dataset.

A checkout has them in `assets/`; an installed wheel has them inside the package (`pyproject.toml`).
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
#: Whether the program runs from its source tree rather than from an installed wheel.
IS_CHECKOUT = not (_PACKAGE / "assets").is_dir()
ASSETS = _PACKAGE.parent / "assets" if IS_CHECKOUT else _PACKAGE / "assets"
MODELS = ASSETS / "models"
DEMO = ASSETS / "demo"
