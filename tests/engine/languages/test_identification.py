"""Which language a caption is in."""

import pytest

from backend.engine.languages.identification import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("A brown dog with no collar on a bench in the park.", "en"),
        ("As two men do yoga, a son looks on.", "en"),
        ("Ein brauner Hund auf einer Bank im Park.", "de"),
        ("Un chien brun assis sur un banc dans le parc", "fr"),
        ("Un perro en un banco con una pelota", "es"),
        ("Un cane seduto su una panchina nel parco", "it"),
        ("Um cachorro em um banco com uma bola", "pt"),
        ("Een hond op een bank in het park", "nl"),
        ("公园长椅上的一只狗", "han"),
        ("公園のベンチに座っている犬", "kana"),
        ("공원 벤치에 앉은 개", "hangul"),
        ("Собака на скамейке в парке", "cyrillic"),
        ("A photograph of a dog in 北京", "en"),
        ("A dog 公园长椅上的一只狗", "mixed"),
        ("Zebra", "latin"),
        ("Giraffes grazing", "latin"),
        ("12:30 …", ""),
    ],
)
def test_the_language_of_a_caption(text: str, language: str) -> None:
    assert language_of(text) == language
