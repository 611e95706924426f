"""Captions in a language that is not read; names and short captions are in any."""

import pytest

from backend.engine.languages.foreign import foreign_language

ENGLISH = frozenset({"en"})


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Ein blauer Kreis links von einem roten Dreieck", "German"),
        ("Kinder spielen Fußball im Park", "German"),
        ("Un homme lit un journal", "French"),
        ("BARCO ROJO EN UN LAGO", "Spanish"),
        ("Il cane corre sull'erba", "Italian"),
        ("Rower oparty o ścianę", "Polish"),
        ("公園のベンチに座っている犬", "Japanese"),
        ("Собака в парке", "Cyrillic letters"),
        # Names, and what is too short to tell.
        *((text, "") for text in (
            "Los Angeles skyline", "Las Vegas at night", "Ludwig van Beethoven portrait",
            "Bridge in Rothenburg ob der Tauber", "Plaza de la Constitución, Málaga",
            "Palazzo Vecchio, Piazza della Signoria", "Mit dem Zug - book cover", "i phone case",
            "El Capitan", "Crème brûlée", "Roter Hund", "Hund", "12:30 …", "",
            "A sign that says 出口",
        )),
    ],
)  # fmt: skip
def test_the_language_of_a_caption_that_is_not_english(text: str, language: str) -> None:
    assert foreign_language(text, ENGLISH) == language


def test_captions_in_a_language_that_is_read_are_not_foreign() -> None:
    text = "Un hombre lee un periódico en la calle"
    assert foreign_language(text, frozenset({"es", "kana"})) == ""
    assert foreign_language(text, frozenset({"de", "en"})) == "Spanish"
    assert foreign_language("A man reads a newspaper", frozenset({"kana"})) == "English"
