"""CIDEr-D, distinct words and CHAIR."""

import pytest

from backend.engine.specificity.reference import chair, cider_d, distinct_words


def test_cider_is_pycocoevalcaps_own() -> None:
    pytest.importorskip("pycocoevalcap")
    from pycocoevalcap.cider.cider import Cider

    captions = ["A red dog runs on the beach.", "two cats", "a tree in the snow at night"]
    references = [["a red dog on the beach", "a dog runs"], ["two cats sleeping"], ["a house"]]
    plain = [" ".join(caption.lower().rstrip(".").split()) for caption in captions]
    expected = Cider().compute_score(
        dict(enumerate(references)), {i: [caption] for i, caption in enumerate(plain)}
    )[1]
    assert cider_d(captions, references) == pytest.approx(list(expected))


def test_the_reference_itself_scores_highest() -> None:
    pytest.importorskip("pycocoevalcap")
    same, other = cider_d(["a red dog on a beach", "a cat"], [["a red dog on a beach"], ["a boat"]])
    assert same > 5 > other


def test_distinct_words_know_no_case_and_no_punctuation() -> None:
    assert distinct_words(["A dog, a DOG.", "dog!"]) == 2


def test_chair_counts_an_object_once_a_caption() -> None:
    result = chair(
        ["a cat and a cat and a dog", ""], [{"dog"}, {"dog"}], {"cat": "cat", "dog": "dog"}
    )
    assert (result.of_objects, result.of_captions, result.mentioned) == (0.5, 0.5, 2)
    assert chair([], [], {}).of_captions == 0
