"""A richer caption denies what people deny, and nothing else."""

import pytest

from backend.engine.captions import Caption
from backend.engine.correction.anchoring import anchored_share, conflicts, unsupported
from backend.engine.correction.doubting import Doubt
from backend.engine.english.negations import denials
from backend.engine.english.phrase_removal import without_phrase
from backend.engine.english.shortening import is_sentence
from backend.wings.specificity.boosting import Boost, Guarded, guard


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("A red dog with no collar in a park.", ["no collar"]),
        ("A dog without a ball or a hat in a park.", ["without a ball or a hat"]),
        ("A dog with no ball and a hat.", ["no ball"]),
        ("A dog with no red collar.", ["no red collar"]),
        ("A man not riding a horse.", ["not riding"]),
        ("A man who doesn't ride a horse.", ["doesn't ride"]),
        ("A dog that is not very big.", ["not very big"]),
        ("A cat, not a dog.", ["not a dog"]),
        ("None of the dogs are running.", ["None of the dogs"]),
        ("A bench with nobody on it.", ["nobody"]),
        ("A dog in a park.", []),
        ("Is it not", []),
        ("一只没有项圈的狗 no", []),
    ],
)
def test_a_negation_is_read_with_what_it_governs(text: str, denied: list[str]) -> None:
    assert [text[d.start : d.end] for d in denials(Caption.parse(text))] == denied


@pytest.mark.parametrize(
    ("proposal", "people", "word"),
    [
        ("A red dog with no collar in a park.", "A dog with a collar in a park.", "no collar"),
        ("A man not riding a brown horse.", "A man riding a horse.", "not riding"),
        ("A dog without a ball in a park.", "A dog and a ball in a park.", "without a ball"),
        ("A dog that isn't red.", "A red dog.", "isn't red"),
        ("A brown dog with a collar.", "A dog with no collar.", "collar"),
        ("A dog running in a park.", "A dog not running in a park.", "running"),
        ("A cat with a hat and a dog without a hat.",
         "A dog with a hat and a cat without a hat.", "without a hat"),
    ],
)  # fmt: skip
def test_negations_that_differ_from_peoples_captions_are_conflicts(
    proposal: str, people: str, word: str
) -> None:
    assert conflicts(proposal, [people])[0].word == word
    assert conflicts(people, [people]) == []


@pytest.mark.parametrize(
    ("proposal", "people"),
    [
        ("A red dog without a collar.", ["A dog with no collar."]),
        ("A dog with a hat and a cat without a hat.", ["A cat with no hat.", "A dog with a hat."]),
        ("A black cat and a dog that is not black.", ["A dog that is not black."]),
        ("A dog with no cat in sight.", ["A dog."]),  # no caption mentions a cat
        ("A dog with no collar.", ["A dog with a collar.", "A dog with no collar."]),
    ],
)
def test_what_people_deny_may_be_denied(proposal: str, people: list[str]) -> None:
    assert conflicts(proposal, people) == []


def test_a_blend_denies_only_what_a_caption_denies() -> None:
    sources = ["A dog with a collar in a park.", "A dog in a park with no people."]
    (problem,) = unsupported("A dog with no collar in a park with people.", sources)[:1]
    assert problem.why == "adds a negation that no person wrote: 'no collar'"
    assert unsupported("A dog with a collar in a park with no people.", sources) == []
    (problem,) = unsupported("A dog with a collar in a park with people.", sources)
    assert problem.why == "affirms what people deny: 'people'"
    assert anchored_share("no no no collar", ["a collar"]) == 0
    refused = guarded("A dog with no collar in a park.", *sources, kind="blend")
    assert refused.refused == "adds a negation that no person wrote: 'no collar'"


def guarded(proposal: str, *people: str, kind: str = "holistic", sources: tuple[str, ...] = (),
            doubtful: str = "") -> Guarded:  # fmt: skip
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
