"""A richer caption denies and counts what people do, and nothing else."""

import pytest

from backend.engine.english.shortening import is_sentence
from backend.features.specificity.boosting import Boost, GuardedProposal, guard
from backend.features.specificity.doubting import Doubt
from backend.features.specificity.phrase_removal import without_phrase


def guarded(proposal: str, *people: str, kind: str = "holistic", sources: tuple[str, ...] = (),
            doubtful: str = "") -> GuardedProposal:  # fmt: skip
    return guard(
        Boost(kind, proposal, sources or people),  # pyrefly: ignore[bad-argument-type]
        people,
        lambda text, phrases: [
            Doubt(phrase.start, phrase.end, -0.5, 0.9, 0.0)
            for phrase in phrases
            if phrase.text(text) == doubtful
        ],
        None,
    )


def test_a_richer_caption_cannot_deny_what_people_say() -> None:
    people = "A dog with a collar in a park."
    for kind in ("holistic", "visual"):
        visual = "A red dog with no collar in a park."
        result = guarded(visual, people, kind=kind, sources=(people, visual))
        assert "collar" not in result.caption
        assert [word.word for word in result.struck] == ["no collar"]
    assert guarded("A red dog and a collar in a park.", people).caption
    people = "A man riding a horse."
    assert guarded("A tall man not riding a horse.", people).caption == ""
    people = "A dog with a ball."
    assert guarded("A brown dog without a ball.", people).caption == ""


def test_an_unsupported_negation_is_removed_with_what_it_governs() -> None:
    visual = "A dog with no cat in sight and a kite."
    result = guarded("A dog with no hat in a park.", "A dog in a park.", sources=("A dog.", visual))
    assert result.caption == "A dog in a park."
    kept = guarded("A dog with no cat in sight.", "A dog.", sources=("A dog.", visual))
    assert kept.caption == "A dog with no cat in sight."


def test_the_pairs_own_caption_takes_precedence_over_others() -> None:
    result = guarded("A red dog with no collar.", "A dog with a collar.", "A dog with no collar.")
    assert result.caption == ""


@pytest.mark.parametrize(
    ("text", "phrase", "left"),
    [
        ("A red dog with no collar in a park.", "no collar", "A red dog in a park."),
        ("A dog with no red collar in a park.", "red", "A dog in a park."),
        ("A man without a hat or gloves on a bench.", "hat", "A man on a bench."),
        ("A dog not sleeping in a park.", "sleeping", "A dog in a park."),
        ("A dog is not sleeping.", "sleeping", "A dog."),
        ("A dog is not sleeping in a park.", "sleeping", "A dog is in a park."),
        ("A dog that is not red and a cat.", "red", "A dog and a cat."),
        ("A dog isn't running in a park.", "running", "A dog in a park."),
        ("A man not riding a horse.", "riding", "A man and a horse."),
        ("A man who does not ride a horse.", "ride", "A man and a horse."),
        ("A man not riding a horse in a park.", "horse", "A man in a park."),
        ("A dog that has no collar in a park.", "collar", "A dog in a park."),
        ("There is no dog and a cat.", "dog", "A cat."),
    ],
)
def test_a_phrase_is_removed_with_its_negation(text: str, phrase: str, left: str) -> None:
    start = text.index(phrase)
    assert without_phrase(text, start, start + len(phrase)) == left
    assert is_sentence(left)


def test_the_guard_refuses_or_removes_moved_numbers() -> None:
    people = ["A cat on a bench.", "Two dogs."]
    blend = Boost("blend", "Two cats on a bench and a dog.", tuple(people))
    assert guard(blend, people, lambda *_: [], None).refused == (
        "gives a count that no person gave: 'Two cats'"
    )
    # The caption to enrich mentions one cat, so that nothing can be offered.
    holistic = Boost("holistic", "Two cats on a bench and two dogs.", tuple(people))
    refused = guard(holistic, people, lambda *_: [], None)
    assert refused.refused == "leaves out part of the caption: 'cat'"
    # If only another person mentions the things, they are removed with their number.
    people = ["Two dogs on a bench.", "A cat."]
    holistic = Boost("holistic", "Two dogs on a bench and two cats in a park.", tuple(people))
    assert guard(holistic, people, lambda *_: [], None).caption == "Two dogs on a bench in a park."
