"""CIDEr-D, distinct words and CHAIR."""

import pytest

from research.captioning.caption_metrics import (
    CiderD,
    chair,
    cider_d,
    distinct_pairs,
    distinct_words,
)


def test_cider_equals_pycocoevalcaps() -> None:
    pytest.importorskip("pycocoevalcap")
    from pycocoevalcap.cider.cider import Cider

    captions = ["A red dog runs on the beach.", "two cats", "a tree in the snow at night"]
    references = [["a red dog on the beach", "a dog runs"], ["two cats sleeping"], ["a house"]]
    plain = [" ".join(caption.lower().rstrip(".").split()) for caption in captions]
    expected = Cider().compute_score(
        dict(enumerate(references)), {i: [caption] for i, caption in enumerate(plain)}
    )[1]
    assert cider_d(captions, references) == pytest.approx(list(expected))


def test_a_subset_is_scored_with_the_frequencies_of_all_references() -> None:
    pytest.importorskip("pycocoevalcap")
    captions = ["a red dog on a beach", "a cat", "a dog", ""]
    references = [["a red dog on a beach", "a dog"], ["a cat sleeping"], ["a boat", "a cat"], ["x"]]
    whole = cider_d(captions, references)
    scorer = CiderD(references)
    assert scorer.scores(captions, range(4)) == pytest.approx(whole, abs=1e-6)
    assert scorer.scores([captions[2], captions[0]], [2, 0]) == pytest.approx([whole[2], whole[0]])
    again = scorer.scores(["a dog"] * 6, [0] * 6)
    assert again == pytest.approx([again[0]] * 6), "a picture may occur again"
    assert cider_d(captions[:1], references[:1]) != pytest.approx(whole[:1])


def test_repetition_lowers_the_share_of_distinct_pairs() -> None:
    assert distinct_pairs(["a a a a"]) == pytest.approx(1 / 3)
    assert distinct_pairs(["a dog", "dog"]) == distinct_pairs([]) == 1


def test_distinct_words_ignores_case_and_punctuation() -> None:
    assert distinct_words(["A dog, a DOG.", "dog!"]) == 2


def test_chair_counts_an_object_once_per_caption() -> None:
    result = chair(
        ["a cat and a cat and a dog", ""], [{"dog"}, {"dog"}], {"cat": "cat", "dog": "dog"}
    )
    assert (result.of_objects, result.of_captions, result.mentioned) == (0.5, 0.5, 2)
    assert chair([], [], {}).of_captions == 0
