"""Sentences and a list of tags in one caption: each is a claim, and leaves without the others."""

import pytest

from backend.engine.claims.editing import without
from backend.engine.claims.finding import find_claims

SENTENCE = "A red square stands in a park."
TAGS = "1girl, long_hair, (red eyes:1.2), smile, outdoors"


@pytest.mark.parametrize(
    "caption",
    [
        f"{SENTENCE} {TAGS}", f"{SENTENCE}\n{TAGS}", f"{SENTENCE}\n\n{TAGS}",
        f"A red square stands in a park\n{TAGS}", f"{SENTENCE} It is large. {TAGS}",
        f"{TAGS}. {SENTENCE}", f"{TAGS}\n{SENTENCE}",
    ],
)  # fmt: skip
def test_each_sentence_and_each_tag_is_a_claim(caption: str) -> None:
    claims = find_claims(caption)
    texts = [claim.of(caption) for claim in claims]
    tags = [claim.of(caption) for claim in claims if claim.kind == "tag"]
    assert tags == ["1girl", "long_hair", "red eyes", "smile", "outdoors"]
    assert any(text.startswith("A red square stands in a park") for text in texts)
    assert len(claims) == len(tags) + (2 if "large" in caption else 1)
    assert [claim.start for claim in claims] == sorted(claim.start for claim in claims)


@pytest.mark.parametrize(
    "caption",
    [
        "A man is here. He sells apples, pears, plums, figs.",
        "A man walks in a park. cars, bikes, dogs, and people pass.",
        "A dog. A cat, a bird.",
        "The sign says no. dogs, cats",
    ],
)
def test_prose_with_commas_stays_prose(caption: str) -> None:
    assert all(claim.kind != "tag" for claim in find_claims(caption))


def test_a_list_of_several_lines_stays_a_list() -> None:
    for caption in ("1girl, solo\nlong_hair, smile, outdoors, rain", TAGS.replace(", ", "\n")):
        assert {claim.kind for claim in find_claims(caption)} == {"tag"}


def test_a_claim_leaves_without_the_others() -> None:
    caption = f"{SENTENCE} {TAGS}"
    claims = {claim.of(caption): claim for claim in find_claims(caption)}
    assert (
        without(caption, claims["1girl"])
        == f"{SENTENCE} long_hair, (red eyes:1.2), smile, outdoors"
    )
    assert without(caption, claims["red eyes"]) == f"{SENTENCE} 1girl, long_hair, smile, outdoors"
    assert without(caption, claims["outdoors"]) == caption.removesuffix(", outdoors")
    assert without(caption, claims[SENTENCE]) == TAGS
