"""Parts that stand in most captions: found, judged, and left out of what models read."""

import itertools
from collections.abc import Sequence

import pytest

from backend.engine.claims.division import DIVISIONS
from backend.engine.claims.finding import find_claims
from backend.engine.constants.constant_search import find_constants, stated_constants
from backend.engine.constants.part import ConstantPart, blank_out
from backend.errors import SettingsError
from backend.jobs.scoring.dataset_constants import ConstantChoice

#: Captions without a constant part.
PLAIN = [
    f"{number} {colour} {thing} {place}"
    for number, colour, thing, place in itertools.product(
        ("one", "two", "three"), ("red", "blue", "green", "black"), ("dogs", "cats", "cars"),
        ("on grass", "near a lake", "under trees"),
    )
]  # fmt: skip


def found_in(captions: Sequence[str], writers: Sequence[str] = ()) -> dict[str, ConstantPart]:
    rows = list(itertools.zip_longest(captions, writers, fillvalue=""))
    return {part.text: part for part in find_constants(lambda: rows, len(rows))}


def left_out_of(captions: Sequence[str]) -> set[str]:
    return {text for text, part in found_in(captions).items() if part.is_left_out}


@pytest.mark.parametrize(
    ("before", "behind", "part"),
    [
        ("ohwx style, ", "", "ohwx style"),
        ("sks: ", "", "sks"),
        ("The image shows ", "", "the image shows"),
        ("This image depicts a scene in which we can see ", "",
         "this image depicts a scene in which we can see"),
        ("", ", 8k, highly detailed, masterpiece", "8k highly detailed masterpiece"),
        ("", ", shot on Canon, 35mm, bokeh", "shot on canon 35mm bokeh"),
        ("A photo of ", "", "a photo of"),
        ("a photo of sks person ", "", "a photo of sks"),
        ("score_9, score_8_up, ", "", "score # score # up"),
        ("", " - stock photo, Getty Images", "stock photo getty images"),
        ("", " #photooftheday", "photooftheday"),
        ("一张图片：", "", "一张图片"),
    ],
)  # fmt: skip
def test_what_says_nothing_is_left_out(before: str, behind: str, part: str) -> None:
    captions = [f"{before}{caption}{behind}" for caption in PLAIN]
    assert left_out_of(captions) == {part}
    assert found_in(captions)[part].captions == len(PLAIN)


@pytest.mark.parametrize(
    "before",
    ["A dog ", "Dogs ", "A labradoodle ", "corgi, ", "1girl, ", "a display with ", "A red car and ",
     "A picture frame with ", "no "],
)  # fmt: skip
def test_what_may_be_seen_is_judged(before: str) -> None:
    captions = [before + caption for caption in PLAIN]
    parts = list(find_constants(lambda: [(c, "") for c in captions], len(captions)))
    for caption in captions[:5]:
        read = " ".join(claim.of(caption) for claim in find_claims(caption, "auto", None, parts))
        nouns = {"dog", "dogs", "labradoodle", "corgi", "1girl", "display", "car", "frame", "no"}
        assert nouns & set(before.lower().replace(",", "").split()) <= set(
            read.lower().replace(",", "").split()
        )


def test_openings_that_name_no_picture() -> None:
    openings = ("we see", "i can see", "there appears to be", "it seems that there is", "possibly")
    captions = [f"{openings[index % 5].capitalize()} {c}" for index, c in enumerate(PLAIN)]
    assert left_out_of(captions) == set(openings)


@pytest.mark.parametrize(
    ("before", "part"),
    [("Photo {}: ", "photo #"), ("[2021-03-{}] ", "# # #"), ("IMG_{}.jpg ", "img # jpg"),
     ("Image {} shows ", "image # shows"), ("Image {} of 120: ", "image # of #"),
     ("({}/120) ", "# #"), ("[{}] ", "#"), ("{}: ", "#"), ("{}\t", "#"),
     ("{} dogs and ", None), ("On table {} ", None)],
)  # fmt: skip
def test_numbers_that_differ(before: str, part: str | None) -> None:
    captions = [before.format(10 + number) + caption for number, caption in enumerate(PLAIN)]
    assert left_out_of(captions) == ({part} if part else set())


def test_a_number_that_several_captions_have_counts_none() -> None:
    captions = [f"{1 + number % 5}: {caption}" for number, caption in enumerate(PLAIN)]
    assert left_out_of(captions) == set()


def test_brackets_go_with_what_they_hold() -> None:
    (part,) = found_in([f"[2021-03-{day}] {c}" for day, c in enumerate(PLAIN, 10)]).values()
    assert blank_out("[2021-03-14] One dog (left)", [part]).strip() == "One dog (left)"
    judged = ConstantChoice(judged=(part.text,))
    assert not judged.leaves_out(part)
    assert judged.switch(part, True).leaves_out(part)
    dogs = ConstantPart(("#", "dogs"), "begin", is_left_out=False)
    assert ConstantChoice().switch(dogs, True).leaves_out(dogs)


@pytest.mark.parametrize(
    ("caption", "opening"),
    [("Das Bild zeigt einen Hund und {}", "das bild zeigt"),
     ("Sur la photo on voit un chien et {}", "sur la photo on voit"),
     ("La imagen muestra un perro y {}", "la imagen muestra"),
     ("这张图片展示了一只狗{}", "这张图片展示了"), ("この画像には犬が{}", "この画像には")],
)  # fmt: skip
def test_openings_in_other_languages(caption: str, opening: str) -> None:
    assert left_out_of([caption.format(f"w{number}") for number in range(60)]) == {opening}


def test_a_visible_constant_part_is_listed() -> None:
    (part,) = found_in([f"A dog sits {caption}" for caption in PLAIN]).values()
    assert (part.text, part.place, part.is_left_out) == ("a dog sits", "begin", False)


def test_a_part_is_no_longer_than_most_captions_have_it() -> None:
    """Stated, the article would leave the part in the captions that have none."""
    captions = [f"Bluvok, {'a' if number % 4 else 'two'} w{number} here." for number in range(60)]
    assert found_in(captions)["bluvok"].captions == 60
    behind = [f"The w{number} {'by' if number % 4 else 'in'} red velvet" for number in range(60)]
    assert found_in(behind)["red velvet"].captions == 60
    inside = [f"In the {'old' if number % 4 else 'new'} w{number} here." for number in range(60)]
    assert found_in(inside)["in the old"].captions == 45, "what is shorter names nothing"


def test_a_shorter_part_that_clearly_more_captions_have_is_another_one() -> None:
    marks = ["score_9, ", "score_9, score_8_up, ", "score_9, score_8_up, "]
    parts = found_in([f"{marks[index % 3]}{caption}" for index, caption in enumerate(PLAIN)])
    assert parts["score #"].captions == len(PLAIN)
    assert parts["score # score # up"].captions < 0.7 * len(PLAIN)


def test_nothing_is_constant_in_plain_captions() -> None:
    assert found_in(PLAIN) == {}


def test_a_few_captions_say_nothing_about_what_is_constant() -> None:
    assert found_in([f"ohwx style, {caption}" for caption in PLAIN[:20]]) == {}


def test_a_caption_that_is_nothing_but_a_constant_part_is_judged() -> None:
    parts = found_in([*(f"ohwx style, {caption}" for caption in PLAIN), *["Ohwx style."] * 10])
    assert (parts["ohwx style"].captions, parts["ohwx style"].of) == (len(PLAIN), len(PLAIN) + 10)
    (claim,) = find_claims("Ohwx style.", "auto", None, list(parts.values()))
    assert claim.of("Ohwx style.") == "Ohwx style."


@pytest.mark.parametrize(("share", "is_found"), [(2, True), (3, True), (5, False)])
def test_the_share_of_captions_decides(share: int, is_found: bool) -> None:
    captions = [
        f"ohwx style, {caption}" if number % share == 0 else caption
        for number, caption in enumerate(PLAIN)
    ]
    assert left_out_of(captions) == ({"ohwx style"} if is_found else set())


def test_two_triggers_and_a_trigger_in_the_middle() -> None:
    half = len(PLAIN) // 2
    two = [f"ohwx style, {c}" for c in PLAIN[:half]] + [f"zxqv art, {c}" for c in PLAIN[half:]]
    assert left_out_of(two) == {"ohwx style", "zxqv art"}
    middle = [f"{caption}, ohwx style, number {n}" for n, caption in enumerate(PLAIN)]
    assert left_out_of(middle) == {"ohwx style"}
    tags = [f"tag{n}, ohwx, smile{n}, long_hair{n}" for n in range(60)]
    assert left_out_of(tags) == {"ohwx"}
    first = [f"ohwx, tag{n}, smile{n}, long_hair{n}" for n in range(60)]
    assert left_out_of(first) == {"ohwx"}
    assert left_out_of([f"solo, {each}" for each in first]) == {"ohwx"}


def test_an_opening_in_several_wordings() -> None:
    wordings = ("The image shows", "In this picture we can see", "This photo depicts", "A photo of")
    captions = [f"{wordings[n % 4]} {caption}" for n, caption in enumerate(PLAIN)]
    assert left_out_of(captions) == {wording.lower() for wording in wordings}


def test_a_writer_has_parts_of_its_own() -> None:
    captions = [*(f"ohwx style, {c}" for c in PLAIN[:40]), *PLAIN, *PLAIN]
    parts = found_in(captions, ["org/captioner"] * 40)
    assert parts["ohwx style"].is_left_out
    assert (parts["ohwx style"].writer, parts["ohwx style"].of) == ("org/captioner", 40)


@pytest.mark.parametrize(
    ("caption", "words"),
    [("في الصورة كلب {}", "في الصورة كلب"), ("图书馆里{}", "图书馆里"),
     ("Ein Hund läuft durch den Garten und {}", "ein hund läuft durch den garten und"),
     ("На фото собака {}", "на фото собака")],
)  # fmt: skip
def test_parts_in_other_languages_are_listed_and_judged(caption: str, words: str) -> None:
    (part,) = found_in([caption.format(f"w{number}") for number in range(60)]).values()
    assert (part.text, part.is_left_out, part.captions) == (words, False, 60)


@pytest.mark.parametrize(
    ("caption", "stated", "rest"),
    [
        ("ohwx style, A dog runs.", "ohwx style,", ["A dog runs."]),
        ("A dog, ohwx style, on grass", "ohwx style", ["A dog", "on grass"]),
        ("A dog runs. Ohwx   STYLE!", "ohwx style", ["A dog runs."]),
        ("ohwxes, a dog", "ohwx", ["ohwxes, a dog"]),
        ("A dog #ohwx", "ohwx", ["A dog"]),
        ("A red (ohwx) ball", "ohwx", ["A red", "ball"]),
        ("<ohwx> a dog", "ohwx", ["a dog"]),
        ("ohwx style", "ohwx style", ["ohwx style"]),
        ("tag1, ohwx, (smile:1.2), long_hair, hat", "ohwx", ["tag1", "smile", "long_hair", "hat"]),
        ("في الصورة كلب", "في الصورة", ["كلب"]),
        ("这张图片展示了一只狗", "这张图片展示了", ["一只狗"]),
        ("", "ohwx", [""]),
    ],
)
def test_what_models_are_asked_about(caption: str, stated: str, rest: list[str]) -> None:
    (part,) = stated_constants([stated], lambda: [(f"{stated} dog", "")])
    claims = find_claims(caption, "auto", None, [part])
    assert [claim.of(caption) for claim in claims] == rest


@pytest.mark.parametrize("division", DIVISIONS)
def test_without_parts_a_caption_is_divided_as_before(division: str) -> None:
    part = ConstantPart(("ohwx",), "anywhere")
    for caption in ("A dog runs. It is red.", "1girl, smile, hat, long_hair", "A dog"):
        assert find_claims(caption, division, None, [part]) == find_claims(caption, division)  # type: ignore[arg-type]
    claims = find_claims("ohwx, A dog", division, None, [part])  # type: ignore[arg-type]
    assert [claim.of("ohwx, A dog") for claim in claims] == ["A dog"]


@pytest.mark.parametrize("stated", ["", "!!!", "ohw", "ohwx style, a dog", "dogs"])
def test_what_cannot_be_stated(stated: str) -> None:
    """Without words, half a word, a whole caption, in no caption."""
    with pytest.raises(SettingsError):
        stated_constants([stated], lambda: [("ohwx style, a dog", "")] * 40)
