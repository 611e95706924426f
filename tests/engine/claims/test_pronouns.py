"""What the pronouns of sentences stand for, and when that is left open."""

import pytest

from backend.engine.claims.claim import Claim
from backend.engine.claims.finding import find_claims


def questions(caption: str) -> list[str]:
    return [claim.question(caption) for claim in find_claims(caption)]


@pytest.mark.parametrize(
    ("caption", "last"),
    [
        ("A brown dog runs. It is wet.", "The dog is wet."),
        ("A man rides a horse. It is brown.", "The horse is brown."),
        ("A man rides a horse. He wears a hat. He is smiling.", "The man is smiling."),
        ("In the park, a girl walks two dogs. They are black.", "The dogs are black."),
        ("A photo of a red bus. It's parked.", "The bus's parked."),
        ("A cat sleeps, and it is grey. it purrs.", "the cat purrs."),
    ],
)
def test_a_pronoun_at_the_beginning_is_asked_about_by_its_noun(caption: str, last: str) -> None:
    assert questions(caption)[-1] == last


@pytest.mark.parametrize(
    "caption",
    [
        "It is red. It is big.", "A dog runs. It is raining.", "A dog runs. It is a sunny day.",
        "A dog runs. It looks like a wolf.", "A dog runs. They are red.", "A man waits. It is old.",
        "A woman sits. He waits.", "A flurbish stands. It is red.", "Ein Hund läuft. It is red.",
        "A dog. A loud party. It is fun.", "A zebra drone flies. It is white.",
        "A dog runs. Its fur is wet.", "A dog runs. They're wet.",
    ],
)  # fmt: skip
def test_what_is_in_doubt_is_asked_as_it_is_written(caption: str) -> None:
    claims = find_claims(caption)
    assert [claim.question(caption) for claim in claims] == [claim.of(caption) for claim in claims]


def test_the_same_words_about_another_thing_repeat_nothing() -> None:
    claims = find_claims("A dog. It is wet. A cat. It is wet.")
    assert not any(claim.repeats for claim in claims)
    assert any(claim.repeats for claim in find_claims("A dog. It is wet. A dog. It is wet."))


@pytest.mark.parametrize(
    ("text", "answer"),
    [("The dog is dry.", "It is dry."), ("It is dry.", "It is dry."), ("The doge is dry.", None)],
)
def test_answers_are_put_in_place_of_the_claim(text: str, answer: str | None) -> None:
    caption = "A dog runs. It is wet."
    (_, claim) = find_claims(caption)
    assert claim.answer(caption, text) == answer


@pytest.mark.parametrize(
    ("tag", "text", "answer"),
    [
        ("long_hair", "short hair", "short_hair"),
        ("long hair", "short hair", "short hair"),
        (r"saber \(fate\)", "saber", None),
    ],
)
def test_a_tag_keeps_its_form(tag: str, text: str, answer: str | None) -> None:
    assert Claim(0, len(tag), "tag").answer(tag, text) == answer
