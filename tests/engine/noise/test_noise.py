"""Injected errors: truly different, correctly marked, and undetectable from the words alone."""

import random

import pytest

from backend.engine.captions import Caption
from backend.engine.noise.edits import edits_by
from backend.engine.noise.fine_grained import FineGrainedNoise
from backend.engine.noise.injection import ImageCaption, Swapper, inject
from backend.engine.noise.noisy_caption import NoisyCaption, Replacement, rewrite
from backend.engine.noise.rules import RULES
from research.noise.language_model import changed_spans
from tests.checkpoints import drawn_pairs

NEGATIONS = [rule for rule in RULES if rule[0] == "negation"]
ORDINARY = [
    "A man riding a brown horse on a beach.",
    "Two dogs are running in the snow next to a red car",
    "A small child holding a yellow umbrella under a tree",
    "Three women sitting on a bench in a park",
    "A white cat sleeping on the left of a big black dog",
    "A plate with an orange and three apples on a wooden table",
    "a bus driving down a street at night",
    "An old woman in a green dress is looking out of a window",
    "Several boats on a blue lake with mountains in the background",
    "A young boy throwing a ball to his brother",
] * 4


def pairs(captions: list[str]) -> list[ImageCaption]:
    return [ImageCaption(f"{i}.png", caption) for i, caption in enumerate(captions)]


def changed_text(noisy: NoisyCaption) -> list[str]:
    return [noisy.text[start:end] for start, end in noisy.changed]


def test_pairs_get_the_kinds_of_noise_in_turn() -> None:
    made = inject(pairs(ORDINARY), 1.0, seed=3)
    assert all(noisy is not None for noisy in made)
    # If a caption shares no noun with another, it gets another kind.
    kinds = {noisy.kind for noisy in made if noisy is not None}
    assert kinds == {"random", "noun", "fine_grained"}
    for noisy, original in zip(made, ORDINARY, strict=True):
        assert noisy is not None
        assert noisy.original == original
        assert noisy.text.lower() != original.lower()


def test_the_rate_is_exact_and_the_seed_determines_the_result() -> None:
    every = pairs(ORDINARY)
    first, again, other = (inject(every, 0.25, seed=s) for s in (1, 1, 2))
    assert sum(noisy is not None for noisy in first) == 10
    assert first == again
    assert first != other
    assert inject(every, 0.0) == [None] * len(every)
    assert inject([], 0.5) == []


def test_an_invalid_rate_or_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        inject(pairs(ORDINARY), 1.5)
    with pytest.raises(ValueError, match="Unknown kinds"):
        inject(pairs(ORDINARY), 0.5, kinds=["typo"])


def test_fine_grained_noise_changes_what_it_marks_and_nothing_else() -> None:
    source, rng = FineGrainedNoise(ORDINARY), random.Random(0)
    made = 0
    for caption in ORDINARY * 3:
        noisy = source.make(caption, rng)
        if noisy is None:
            continue
        made += 1
        assert noisy.changed
        assert all(text.strip() for text in changed_text(noisy))
        kept = [word.lower() for word in Caption.parse(caption).words]
        marked = {
            i
            for i, (start, end) in enumerate(Caption.parse(noisy.text).spans)
            if any(a < end and start < b for a, b in noisy.changed)
        }
        words = Caption.parse(noisy.text).words
        silent = [w.lower() for i, w in enumerate(words) if i not in marked]
        # What is not marked is unchanged, except for a corrected article or verb form.
        assert sum(w not in kept for w in silent) <= 1
    assert made > 100


def test_swaps_never_give_an_image_its_own_caption() -> None:
    every = [ImageCaption(f"{i // 2}.png", caption) for i, caption in enumerate(ORDINARY[:10])]
    swapper, rng = Swapper(every), random.Random(1)
    for index in range(10):
        captions_of_image = {pair.caption for pair in every if pair.image == every[index].image}
        for noisy in (swapper.random(index, rng), swapper.noun(index, rng)):
            assert noisy is None or noisy.text not in captions_of_image


def test_a_noun_swap_shares_a_noun() -> None:
    every = pairs(["A dog on a beach", "Two dogs at home", "A red car", "The car of a man"])
    swapper, rng = Swapper(every), random.Random(0)
    for _ in range(20):
        noisy = swapper.noun(0, rng)
        assert noisy is not None
        assert noisy.text == "Two dogs at home"


def test_captions_without_anything_to_change_are_skipped() -> None:
    source, rng = FineGrainedNoise(["???", "zzz qqq"]), random.Random(0)
    for caption in ("", "???", "zzz qqq", "🐕", "หมาวิ่ง"):
        assert source.make(caption, rng) is None


def test_a_replacement_keeps_every_other_byte() -> None:
    caption = Caption.parse("  An  orange cat,\tsleeping  — 🐕.")
    text, spans = rewrite(caption, (Replacement(1, 1, "black"),))
    assert text == "  A  black cat,\tsleeping  — 🐕."
    assert [text[a:b] for a, b in spans] == ["black"]


def test_false_captions_cannot_be_detected_from_words_alone() -> None:
    """A classifier that never sees the image stays near chance on captions of drawn scenes."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    captions = [caption for _, caption in drawn_pairs(900, seed=5, size=8)]
    source, rng = FineGrainedNoise(captions), random.Random(0)
    texts, labels = [], []
    for caption in captions:
        noisy = source.make(caption, rng)
        if noisy is not None:
            texts += [caption, noisy.text]
            labels += [0, 1]
    counts = CountVectorizer(ngram_range=(1, 1), min_df=3).fit_transform(texts)
    half = len(labels) // 2
    model = LogisticRegression(max_iter=500, C=0.1).fit(counts[:half], labels[:half])
    auc = roc_auc_score(labels[half:], model.decision_function(counts[half:]))
    assert auc < 0.62


@pytest.mark.parametrize(
    ("caption", "new", "marked"),
    [
        ("A dog with a red collar.", "A dog without a red collar.", ["without", "red", "collar"]),
        ("A dog with a collar.", "A dog with no collar.", ["no", "collar"]),
        ("There is no cat on the sofa.", "There is a cat on the sofa.", ["cat"]),
        ("A dog is not running.", "A dog is running.", ["running"]),
        ("A dog is running home.", "A dog is not running home.", ["not", "running"]),
    ],
)
def test_a_removed_or_added_negation_marks_what_it_governs(
    caption: str, new: str, marked: list[str]
) -> None:
    parsed = Caption.parse(caption)
    made = {}
    for edit in edits_by(NEGATIONS, parsed):
        text, spans = rewrite(parsed, edit.replacements)
        made[text] = [text[a:b] for a, b in spans]
    assert made[new] == marked
    assert [new[a:b] for a, b in changed_spans(caption, new)] == marked


def test_marks_stay_in_place_after_other_changes() -> None:
    parsed = Caption.parse("A cat with a hat and a dog.")
    negation = next(e for e in edits_by(NEGATIONS, parsed) if e.gained == "no")
    text, spans = rewrite(parsed, (Replacement(1, 1, "elephant"), *negation.replacements))
    assert text == "An elephant with no hat and a dog."
    assert [text[a:b] for a, b in spans] == ["elephant", "no", "hat"]


def test_both_sides_of_an_exchange_are_marked() -> None:
    before, after = "A big dog left of a table.", "A table left of a big dog."
    marked = [after[a:b] for a, b in changed_spans(before, after)]
    assert marked == ["table", "left", "big", "dog"]
