"""The drawn captions with constant parts, and the table of what was measured."""

from dataclasses import replace

from backend.engine.captions import Caption
from research.evaluation.constant_parts import (
    AS_IT_IS,
    JUDGED,
    LEFT_OUT,
    NOUN,
    WORLDS,
    Run,
    draw_mixed,
    draw_one_noun,
    markdown,
)


def test_sets_of_one_noun_say_it_of_every_picture_and_half_of_them_in_error() -> None:
    pairs = draw_one_noun(20, 7)
    assert [pair.is_wrong for pair in pairs] == [number % 2 == 1 for number in range(20)]
    for pair in pairs:
        nouns = {thing.noun for thing in pair.scene.things}
        words = [word.lower() for word in Caption.parse(pair.caption).words]
        assert {NOUN, f"{NOUN}s"} & set(words)
        assert (NOUN not in nouns) == pair.is_wrong == bool(pair.changed)
        assert all(words[index] in (NOUN, f"{NOUN}s") for index in pair.changed)


def test_each_form_has_the_caption_and_a_base() -> None:
    pairs = draw_mixed(40, 7)
    assert 10 <= sum(pair.is_wrong for pair in pairs) <= 20
    for world in WORLDS.values():
        for name, form in world.forms.items():
            assert form.base in world.forms
            texts = [form.text(pair, index) for index, pair in enumerate(pairs)]
            assert len(set(texts)) > 10
            for text, pair in zip(texts, pairs, strict=True):
                assert pair.caption.removesuffix(".")[1:] in text
            assert name == form.base or texts != [pair.caption for pair in pairs]


def test_a_form_is_compared_with_the_same_captions_without_its_parts() -> None:
    runs = [
        Run("mixed errors", training, AS_IT_IS, LEFT_OUT, 0.9, 0.8, 0.7, 10, 0.0, str(training))
        for training in range(2)
    ]
    same = [replace(run, form="trigger") for run in runs]
    worse = [replace(r, form="trigger", parts=JUDGED, auc=0.8, digest="x") for r in runs]
    rows = [line for line in markdown([*runs, *worse, *same]).splitlines() if "trigger" in line]
    assert rows[0].split(" | ")[-3:] == ["-0.100 ± 0.000", "0.000 ± 0.000", "0 of 2 |"]
    assert rows[1].split(" | ")[-3:] == ["0.000 ± 0.000", "0.000 ± 0.000", "2 of 2 |"]
