"""Parts of captions are added to others; only what is added counts."""

import random

from backend.features.specificity.phrase_swaps import parts_of, swap_phrases

OTHERS = ["A green tree in the snow.", "Two kites at the beach."]


def texts(captions: list[str], seed: int) -> tuple[str, str]:
    same, foreign = swap_phrases(captions, OTHERS, random.Random(seed))
    assert same is not None
    assert foreign is not None
    for added in (same, foreign):
        assert added.phrases
        assert all(0 <= p.start < p.end <= len(added.text) for p in added.phrases)
    return same.text, foreign.text


def test_a_part_ends_with_an_object() -> None:
    assert parts_of("A man holding a red ball near two dogs.") == [
        "A man", " holding a red ball", " near two dogs",
    ]  # fmt: skip
    assert parts_of("") == parts_of("犬が走る") == []


def test_parts_of_the_same_picture_are_added_to_its_first_caption() -> None:
    captions = ["A dog on a bench.", "A brown dog under a lamp."]
    for seed in range(20):
        same, foreign = texts(captions, seed)
        assert same in ("A dog on a bench under a lamp.", "A dog on a bench and a brown dog.")
        assert foreign.startswith("A dog on a bench")
        assert any(word in foreign for word in ("tree", "snow", "kites", "beach"))


def test_the_last_part_of_a_single_caption_is_exchanged() -> None:
    for seed in range(20):
        same, foreign = texts(["A dog on a bench under a lamp."], seed)
        assert same == "A dog on a bench under a lamp."
        assert foreign.startswith("A dog on a bench ")
        assert "lamp" not in foreign


def test_parts_in_the_pictures_own_captions_are_not_foreign() -> None:
    _, foreign = swap_phrases(["A dog on a bench.", "A dog."], ["A bench."], random.Random(0))
    assert foreign is None


def test_a_single_part_or_equal_captions_give_no_transplant() -> None:
    assert swap_phrases(["A dog."], OTHERS, random.Random(0)) == (None, None)
    same, _ = swap_phrases(["A dog on a bench.", "A dog on a bench."], OTHERS, random.Random(0))
    assert same is None
