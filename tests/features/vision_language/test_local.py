"""A vision-language model in this process: a very small LLaVA in Hugging Face format."""

from pathlib import Path
from typing import Any

import pytest

from backend.engine.language_models.asking import encode_picture
from backend.engine.language_models.chat_model import Question
from backend.engine.language_models.spending import Budget, Spending
from backend.errors import BudgetSpent, ModelMismatch, ModelUnavailable
from backend.features.vision_language.local import load_local
from research.scenes.vision_language import make_vision_language_model
from tests.checkpoints import drawn_pairs, random_captioner
from tests.engine.language_models.families import internvl, mistral


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_vision_language_model(tmp_path_factory.mktemp("llava"), width=48, layers=1)


def question(seed: int = 0, temperature: float = 0.0) -> Question:
    image, caption = drawn_pairs(1)[0]
    return Question("Describe.", caption, temperature, seed, 8, encode_picture(image))


def test_answers_are_cached_and_counted(folder: Path, tmp_path: Path) -> None:
    model = load_local(str(folder), cache=tmp_path)
    first, again = model.ask(question()), model.ask(question())
    assert first.tokens_out == 8
    assert not first.finished
    assert (again.text, again.kept) == (first.text, True)
    assert (model.spending.requests, model.spending.kept) == (1, 1)
    other = load_local(str(folder), spending=Spending(budget=Budget(requests=0)))
    with pytest.raises(BudgetSpent):
        other.ask(question())


def test_another_family_is_asked_the_same_way(tmp_path: Path) -> None:
    model = load_local(str(internvl(tmp_path)))
    answer = model.ask(question())
    assert answer.tokens_out == 8
    without = model.ask(Question("Describe.", drawn_pairs(1)[0][1], 0.0, 0, 8))
    assert answer.tokens_in > without.tokens_in


def test_a_model_without_vision_is_asked_by_its_own_template(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = mistral(tmp_path)
    joining = Question("Join them.", "A dog. / A red boat.", 0.0, 0, 8)
    answer = load_local(str(folder)).ask(joining)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    turns = [{"role": "user", "content": f"{joining.system}\n\n{joining.user}"}]
    plain = tokenizer.apply_chat_template(turns, return_tensors="pt", return_dict=True)
    made = AutoModelForCausalLM.from_pretrained(folder).generate(
        **plain, max_new_tokens=8, do_sample=False
    )
    new = made[0, plain["input_ids"].shape[1] :]
    assert answer.text == tokenizer.decode(new, skip_special_tokens=True).strip()
    with pytest.raises(ModelMismatch, match="has no vision"):
        load_local(str(folder)).ask(question())


def test_equal_seeds_give_equal_answers(folder: Path) -> None:
    model = load_local(str(folder))
    drawn = [model.ask(question(seed, temperature=1.0)).text for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_model_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMismatch, match="chat template"):
        load_local(str(random_captioner(tmp_path / "blip")))


def test_quantised_models_need_an_accelerator(folder: Path) -> None:
    with pytest.raises(ModelUnavailable, match="need an accelerator"):
        load_local(str(folder), quantisation="4bit")
