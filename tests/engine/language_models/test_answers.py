"""What is taken for a part of an answer."""

from backend.engine.language_models.answers import final_answer


def test_text_that_only_looks_like_a_template_stays() -> None:
    for text in ("A sign: <3 dogs>", "a < b > c", "s > t", "think twice", "[1] A dog"):
        assert final_answer(text) == text
