"""The claims of captions in all the forms in which captions are written."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.engine.captions import lower_words
from backend.engine.claims.claim import whole
from backend.engine.claims.division import DIVISIONS, Division
from backend.engine.claims.finding import find_claims


def few_words(text: str) -> bool:
    """A model that reads 25 words."""
    return len(text.split()) <= 25


def texts(caption: str, division: Division = "auto") -> list[str]:
    return [claim.of(caption) for claim in find_claims(caption, division, few_words)]


@pytest.mark.parametrize(
    "caption",
    [
        "", "…", "🐕", "A dog.", "A dog runs on the beach", "A man, a woman, and a dog.",
        "A photo of a cat, sitting on a mat, in a room, with a lamp", "two lines\nof one sentence",
        'The sign reads "STOP. GO BACK." near a road.', "At 5.30 p.m. a man waits.", "dog " * 3000,
    ],
)  # fmt: skip
def test_a_caption_of_one_claim_is_its_claim_with_every_character(caption: str) -> None:
    assert find_claims(caption, fits=lambda _: True) == whole(caption)


@pytest.mark.parametrize(
    ("caption", "claims"),
    [
        ("Dr. Smith has 3.5 m of rope, e.g. blue. It is long.  A dog! 🐕",
         ["Dr. Smith has 3.5 m of rope, e.g. blue.", "It is long.", "A dog!"]),
        ("A dog runs.\n\n\nIt is red.", ["A dog runs.", "It is red."]),
        ("# A scene\n\n- a dog\n- a cat on a mat. It sleeps.\n1) a lamp\n\n```\nx = 1.\n```\nEnd.",
         ["a dog", "a cat on a mat.", "It sleeps.", "a lamp", "End."]),
        ("USER: <image>\nWhat is this? And that?\nASSISTANT: A dog. It runs.\nUSER: Why?\n"
         "ASSISTANT: It is red.", ["A dog.", "It runs.", "It is red."]),
        ("**Description:** A red bus.\nIt is parked.", ["A red bus.", "It is parked."]),
        ("<image>A dog runs.<image>A cat sits.", ["A dog runs.", "A cat sits."]),
        ('<div class="a">A dog runs.</div><p>A cat sits.', ["A dog runs.", "A cat sits."]),
        ("[CLS] A dog runs. [SEP]", ["A dog runs."]),
        ("<|im_start|>assistant\nA dog runs.<|im_end|>", ["A dog runs."]),
        ("Légende : A dog runs.", ["A dog runs."]), ("描述：A dog runs.", ["A dog runs."]),
        ("- **Subject:** A dog runs.\n- **Main place**: a lake", ["A dog runs.", "a lake"]),
        ("**A red bus**\nIt is parked.", ["It is parked."]),
        ("كلب يركض في الحديقة. إنه بني اللون.", ["كلب يركض في الحديقة.", "إنه بني اللون."]),
        ("一只狗在跑。它是红色的！", ["一只狗在跑。", "它是红色的！"]),
        ("Ein Hund z. B. läuft. A dog runs.", ["Ein Hund z. B. läuft.", "A dog runs."]),
        ("A dog runs.\r\nIt is red.\r\n", ["A dog runs.", "It is red."]),
    ],
)  # fmt: skip
def test_prose_is_divided_into_sentences(caption: str, claims: list[str]) -> None:
    assert texts(caption) == claims


def test_a_sentence_that_only_opens_a_list_says_so() -> None:
    caption = "The image shows:\n- a dog\n- a cat"
    assert [claim.kind for claim in find_claims(caption)] == ["opening", "sentence", "sentence"]


def test_a_sentence_that_the_model_cannot_read_is_divided_at_its_clauses() -> None:
    caption = (
        "Two dogs, one brown and one white, run across a wide field of grass while a man in a red "
        "jacket watches them from the left; behind them there are tall trees and mountains."
    )
    claims = find_claims(caption, fits=few_words)
    assert {claim.kind for claim in claims} == {"clause"}
    assert all(few_words(claim.of(caption)) for claim in claims)
    assert caption.split() == [word for claim in claims for word in claim.of(caption).split()]


def test_what_cannot_be_divided_stays_and_the_rest_is_divided() -> None:
    endless = "dog " * 3000
    caption = f"A cat sits, and a man waves; {endless}"
    first, *_, last = texts(caption)
    assert first.startswith("A cat sits")
    assert last == endless.strip()
    tail = f"A {'very ' * 30}big dog, red."
    assert texts(tail) == [tail], "what follows the comma is too short to be asked about alone"


@pytest.mark.parametrize(
    ("caption", "tags"),
    [
        ("1girl, long_hair, (blue eyes:1.2), saber \\(fate\\), <lora:a, b:0.8>, BREAK, smile,",
         ["1girl", "long_hair", "blue eyes", "saber \\(fate\\)", "smile"]),
        ("sunset, beach, palm tree, waves", ["sunset", "beach", "palm tree", "waves"]),
        ("red bus\nstreet\nrain\nnight", ["red bus", "street", "rain", "night"]),
        ("((((red dog)))), [cat], {tree:.5}, sky", ["red dog", "cat", "tree", "sky"]),
        ("a_red_car, tree", ["a_red_car", "tree"]), ("a_red_car_on_grass", ["a_red_car_on_grass"]),
        ("狗，猫，树，天空", ["狗", "猫", "树", "天空"]),
        (":), ^_^, smile, eyes, hat, 1.5", ["smile", "eyes", "hat", "1.5"]),
    ],
)  # fmt: skip
def test_a_list_of_tags_is_divided_into_tags(caption: str, tags: list[str]) -> None:
    assert texts(caption) == tags
    assert {claim.kind for claim in find_claims(caption)} == {"tag"}


@pytest.mark.parametrize(
    "caption",
    [
        "A man, a woman, a dog, and a cat stand in a park.",
        "In the picture, a dog, brown and white, runs, and jumps.",
        "Dogs, cats, birds. They all sleep, eat, run.",
        "A dog, running",
    ],
)
def test_an_enumeration_in_a_sentence_is_no_list_of_tags(caption: str) -> None:
    assert "tag" not in {claim.kind for claim in find_claims(caption)}


@pytest.mark.parametrize("division", ["auto", "whole"])
@pytest.mark.parametrize(
    "ending",
    [" (Photo: Jane Doe/AP)", " #cute #dog", " | Etsy", " IMG_0123.jpg", " --ar 16:9",
     " (1920 x 1080 px)", " 1920x1080", " - $12.99", " | €5",
     " https://example.com/a", " (www.example.com)", " - jane@example.com", " (CC BY-SA 4.0)",
     " [ID: 10023]", " #cute" * 2000, " --v 6" * 40, " - Etsy #dog #cute --v 6"],
)  # fmt: skip
def test_an_ending_that_says_nothing_of_the_picture_belongs_to_no_claim(
    ending: str, division: Division
) -> None:
    caption = f"A red dog runs on grass{ending}"
    (claim,) = find_claims(caption, division)
    assert claim.of(caption) == "A red dog runs on grass"


@pytest.mark.parametrize("before", ["Photo by Jane Doe: ", "@jane_12: ", "(Courtesy of AP) | "])
def test_a_credit_in_front_belongs_to_no_claim(before: str) -> None:
    assert texts(f"{before}A red dog runs") == ["A red dog runs"]
    assert texts(f"A {before}a red dog runs") == [f"A {before}a red dog runs"]


@pytest.mark.parametrize(
    "caption",
    ["**A red** dog runs.", "A *red* dog __runs__.", "A _red_ dog runs.", "[A red dog runs.]",
     '"A red dog runs."', "« A red dog runs. »", "(**A red** dog runs.)", "'A red dog runs.'",
     "A <b>red</b> dog runs.", "[b]A red dog[/b] runs.", "`A red dog runs.`", "> A red dog runs.",
     "- A red dog runs.", "# A red dog runs.", "--- A red dog runs. ---", "**A red dog runs.**",
     "**Subject:** A red dog runs.",
     "\"\"\"A red dog runs.\"\"\"", "* **Subject**: A red dog runs."],
)  # fmt: skip
@pytest.mark.parametrize("division", ["auto", "whole"])
def test_formatting_marks_are_no_words(caption: str, division: Division) -> None:
    (claim,) = find_claims(caption, division)
    assert claim.question(caption) == "A red dog runs."
    assert claim.kind != "whole"
    places = [claim.in_caption(caption, start, end) for start, end in [(2, 5), (6, 9), (10, 14)]]
    assert [caption[slice(*place)] for place in places] == ["red", "dog", "runs"]
    assert [claim.in_question(caption, *place) for place in places] == [(2, 5), (6, 9), (10, 14)]
    corrected = claim.answer(caption, "A blue dog runs.")
    assert claim.replaced_in(caption, corrected or "") == caption.replace("red", "blue")


@pytest.mark.parametrize(
    "caption",
    ["5 * 3 * 2 dogs", "A (red) dog", "(left) A dog (right)", '"A dog" and "a cat"', "A dog* runs*",
     "'Tis a dog's life", "A dog #1 on a_b_c", "It reads [EXIT]", "-5 dogs", "*",
     "He says “A dog”", "^_^ a dog ^_^"],
)  # fmt: skip
def test_other_signs_are_read_as_they_stand(caption: str) -> None:
    assert find_claims(caption, fits=lambda _: True) == whole(caption)


def test_a_correction_keeps_the_marks_of_what_it_keeps() -> None:
    caption = "**A red dog** runs on *green* grass."
    (claim,) = find_claims(caption)
    answers = {
        "A red cat runs on green grass.": "**A red cat** runs on *green* grass.",
        "A red dog runs on grass.": "**A red dog** runs on grass.",
        "A big red dog runs on dry green grass.": "**A big red dog** runs on dry *green* grass.",
        "Two cats sleep in a kitchen.": "Two cats sleep in a kitchen.",
    }
    assert {text: claim.answer(caption, text) for text in answers} == answers
    first, second = find_claims("A **dog runs. It** is red.")
    assert first.answer("A **dog runs. It** is red.", "A cat runs.") is None
    assert second.question("A **dog runs. It** is red.") == "The dog is red."


def test_a_claim_has_the_marks_around_it() -> None:
    assert texts("**A dog runs.** (It is red.)") == ["**A dog runs.**", "(It is red.)"]
    assert texts("**A dog runs. It is red.**") == ["A dog runs.", "It is red."]


@pytest.mark.parametrize("caption", ["- a{}b", "a dog{},", "A dog.{}it runs"])
def test_a_row_of_blanks_is_read_once(caption: str) -> None:
    began = time.process_time()
    assert find_claims(caption.format(" " * 20_000))
    assert time.process_time() - began < 2, "a row read from each of its blanks takes 14 s"


def test_what_is_repeated_is_marked() -> None:
    assert [c.repeats for c in find_claims("A dog runs. It is red. a dog  RUNS! A dog.")] == [
        False, False, True, False,
    ]  # fmt: skip
    tags = find_claims("tag, " * 1000)
    assert (len(tags), sum(tag.repeats for tag in tags)) == (1000, 999)
    assert len(find_claims(", ".join(f"tag {number}" for number in range(500)))) == 500


def test_the_division_can_be_chosen() -> None:
    caption = "A dog runs, fast. It is red."
    assert find_claims(caption, "whole") == whole(caption)
    assert texts(caption, "tags") == ["A dog runs", "fast. It is red."]
    assert texts("red, blue, green, pink", "sentences") == ["red, blue, green, pink"]


@given(
    st.text(st.sampled_from("aZ .,;:!?\n\r\t#-*_()[]<>`\"'’—…1é狗。，🐕\u200b\u00a0"), max_size=80),
    st.sampled_from(DIVISIONS),
)
def test_claims_are_ordered_parts_of_the_caption(caption: str, division: Division) -> None:
    claims = find_claims(caption, division, lambda text: len(text) <= 20)
    edges = [edge for claim in claims for edge in (claim.start, claim.end)]
    assert edges == sorted(edges)
    assert 0 <= edges[0] <= edges[-1] <= len(caption)
    for claim in claims:
        if claim.kind != "tag":  # whose underscores are blanks
            assert len(lower_words(claim.question(caption))) == len(lower_words(claim.of(caption)))
        if claim.kind != "whole":
            assert claim.of(caption).strip() == claim.of(caption) != ""
