"""What no source of a richer caption supports."""

import pytest

from backend.features.specificity.anchoring import anchored_share, find_unsupported


@pytest.mark.parametrize(
    ("proposal", "sources", "moved"),
    [
        ("Two cats and a dog.", ["Two dogs.", "A cat."], ["Two cats"]),
        ("A cat and two dogs.", ["Two dogs.", "A cat."], []),
        ("A cat and 2 dogs.", ["Two dogs and a cat."], []),
        ("Several cats and dogs.", ["Several dogs and cats."], ["Several cats"]),
        ("Two big red cats.", ["Two dogs and big red cats."], ["Two big red cats"]),
        # The same things in other words.
        ("Two white puppies.", ["Two dogs.", "A white dog and a puppy."], []),
        ("Two men on a bench.", ["Two people on a bench.", "Men on a bench."], []),
        ("Two men on a bench.", ["Two people.", "A man and a woman on a bench."], ["Two men"]),
        ("Two dogs run.", ["Two animals run.", "Dogs run."], []),
        ("Three dogs.", ["Dogs, three of them."], []),
    ],
)
def test_a_number_does_not_support_another_thing(
    proposal: str, sources: list[str], moved: list[str]
) -> None:
    assert [added.word for added in find_unsupported(proposal, sources)] == moved


def test_a_blend_denies_only_what_a_caption_denies() -> None:
    sources = ["A dog with a collar in a park.", "A dog in a park with no people."]
    (problem,) = find_unsupported("A dog with no collar in a park with people.", sources)[:1]
    assert problem.why == "adds a negation that no person wrote: 'no collar'"
    assert find_unsupported("A dog with a collar in a park with no people.", sources) == []
    (problem,) = find_unsupported("A dog with a collar in a park with people.", sources)
    assert problem.why == "affirms what people deny: 'people'"


def test_words_in_no_source_are_unsupported() -> None:
    sources = ["Two dogs on a bench.", "puppies sitting outside"]
    assert find_unsupported("Two dogs sit on the benches outside", sources) == []
    assert [span.word for span in find_unsupported("Three dogs on a wooden bench", sources)] == [
        "Three", "wooden",
    ]  # fmt: skip
    assert anchored_share("a red dog", ["a dog"]) == 0.5
    assert anchored_share("no no no collar", ["a collar"]) == 0
