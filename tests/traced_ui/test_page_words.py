"""Messages on a page name nothing that can only be typed into a terminal."""

import re

import pytest

from backend.errors import SettingsError
from backend.jobs.model_download import by_hand
from tests.browser.conftest import ROOT
from traced_ui.messages import explained
from traced_ui.page_words import for_page

OPTION = re.compile(r"(?<![\w-])--[a-z]|app\.py")
#: Modules whose errors are shown on a page, with their literals that name an option.
RAISING = [*(ROOT / "backend").glob("review/*.py"), *(ROOT / "backend").glob("jobs/*.py"),
           ROOT / "backend" / "accounts" / "folders.py"]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "Score it first: python app.py score photos --support",
            "Score it under Add data, then click “Measure the support of its phrases” there.",
        ),
        ("Score it first: python app.py score my photos", "Score it under Add data first."),
        (
            "'a' was scored with x y, this session uses x z. Start with --model y/b, or score it "
            "again.",
            "'a' was scored with x y, this session uses x z. Score it again under Add data, "
            "or ask the server's administrator for that model.",
        ),
        ("The name 'a' is taken. Choose another name with --name.",
         "The name 'a' is taken. Enter another one under “Name in this app”."),
        ("No room is left. Name another folder with --keep.", "No room is left."),
        ("Try --this", "Only the server's administrator can do this."),
        (by_hand("openai/clip-vit-base-patch32"), by_hand("openai/clip-vit-base-patch32")),
        ("A caption -- with dashes -- stays.", "A caption -- with dashes -- stays."),
    ],
)  # fmt: skip
def test_advice_is_adapted_to_the_page(message: str, shown: str) -> None:
    assert for_page(message) == shown
    assert explained(SettingsError(message)) == shown


def test_no_error_shows_an_option_on_a_page() -> None:
    """Checks every literal in the code that names an option."""
    for module in RAISING:
        text = re.sub(r'"\s*\n\s*f?"', "", module.read_text(encoding="utf-8"))
        text = re.sub(r'"""[\s\S]*?"""', "", text)
        for literal in re.findall(r'"([^"\n]*(?:--[a-z]|app\.py)[^"\n]*)"', text):
            assert not OPTION.search(for_page(literal)), f"{module.name}: {literal}"


def test_notes_of_embedded_models_show_no_option_on_a_page() -> None:
    for file in (ROOT / "assets" / "models").rglob("traced.json"):
        assert not OPTION.search(for_page(file.read_text(encoding="utf-8")))
