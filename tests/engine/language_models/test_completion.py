"""Answers as servers send them, and what is read of each: the published forms of OpenAI, vLLM,
SGLang, llama.cpp, Ollama, LM Studio, Mistral, DeepSeek, Anthropic's and Google's OpenAI-compatible
endpoints, and what people reported of them."""

import json
import math
from typing import Any

import pytest

from backend.engine.language_models.completion import (
    Completion,
    NoCompletion,
    final_answer,
    read_completion,
)

ANSWER = '{"caption": "A dog"}'


def body(message: Any, finish: Any = "stop", usage: Any = None, logprobs: Any = None) -> str:
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": logprobs}
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage})


def said(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


@pytest.mark.parametrize(
    "message",
    [
        said(ANSWER),
        said(ANSWER, refusal=None, tool_calls=None, annotations=[], audio=None),
        said(ANSWER, reasoning_content="The user wants a caption."),  # DeepSeek, vLLM
        said(ANSWER, reasoning="The user wants a caption.", reasoning_details=[{}]),  # OpenRouter
        said([{"type": "text", "text": ANSWER}]),
        said([ANSWER]),
        said([{"type": "text", "text": {"value": ANSWER, "annotations": []}}]),
        said([{"type": "output_text", "text": ANSWER}]),
        said([{"text": ANSWER[:5]}, {"type": "text", "text": ANSWER[5:]}]),
        said([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
              {"type": "text", "text": ANSWER}]),  # Mistral
        said([{"type": "reasoning", "text": "A cat?"}, {"type": "text", "text": ANSWER}]),
        said({"type": "text", "text": ANSWER}),
        said(f"<think>A cat? {{}}</think>\n\n{ANSWER}"),
        said(f"A cat? {{}}</think>\n{ANSWER}"),  # the template opens the thoughts itself
        said(f"<think></think>{ANSWER}"),
        said(f"<THINKING>A cat?</THINKING>{ANSWER}"),
        said(f"<think>A <think>cat</think>?</think>{ANSWER}"),
        said(f"<seed:think>A cat?</seed:think>{ANSWER}"),
        said(f"[THINK]A cat?[/THINK]{ANSWER}"),
        said(f"◁think▷A cat?◁/think▷{ANSWER}"),  # Kimi-VL
        said("<|channel|>analysis<|message|>A cat?<|end|><|start|>assistant<|channel|>final"
             f"<|message|>{ANSWER}<|return|>"),  # gpt-oss
        said(f"{ANSWER}<|im_end|>"),
        said(f"{ANSWER}<|im_end|>\n<|im_start|>user\nAnd now?"),
        said(f"<|im_start|>assistant\n{ANSWER}"),
        said(f"<s>{ANSWER}</s>"),
        said(f"[INST] Describe it. [/INST] {ANSWER}</s>"),
        said(f"{ANSWER}<|eot_id|><|endoftext|>"),
        said(f"<｜Assistant｜>{ANSWER}<｜end▁of▁sentence｜>"),  # DeepSeek
        said(f"{ANSWER}<end_of_turn>"),  # Gemma
        said(f"  {ANSWER}\n<|end|>"),  # Phi
    ],
)  # fmt: skip
def test_the_answer_is_read_wherever_it_stands(message: dict[str, Any]) -> None:
    assert read_completion(body(message)).text == ANSWER


@pytest.mark.parametrize(
    "message",
    [
        said(None), said(""), said([]), said(3), said({"a": 1}), said([None, 3, {"type": "text"}]),
        said(None, tool_calls=[{"type": "function", "function": {"arguments": ANSWER}}]),
        said(None, function_call={"arguments": ANSWER}), said(None, reasoning_content=ANSWER),
        said([{"type": "image_url", "image_url": {"url": ANSWER}}]),
        said(f"<think>The user wants {ANSWER}, but wait"),
        said(f"<think>{ANSWER}</think>"), said(f"<think>Hm</think><think>{ANSWER}"),
        said(f"[THINK]{ANSWER}"), said(f"<|channel|>analysis<|message|>{ANSWER}"), {},
    ],
)  # fmt: skip
def test_what_is_only_thought_or_called_is_no_answer(message: dict[str, Any]) -> None:
    assert read_completion(body(message)).text == ""


def test_a_refusal_says_why() -> None:
    text = "I'm sorry, I can't help with that."
    assert read_completion(body(said(None, refusal=text))).text == text
    assert read_completion(body(said([{"type": "refusal", "refusal": text}]))).text == text


def test_lone_surrogates_are_no_text_and_pairs_are_joined() -> None:
    assert read_completion(body(said("a \ud83d dog \ud83d\ude00"))).text == "a \ufffd dog 😀"


@pytest.mark.parametrize(
    ("finish", "finished"),
    [("stop", True), ("eos", True), (None, True), ("length", False), ("max_tokens", False)],
)
def test_an_answer_that_was_cut_off_says_so(finish: str | None, finished: bool) -> None:
    assert read_completion(body(said(ANSWER), finish)).finished is finished


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3}, (7, 3)),
        ({"prompt_tokens": "7", "completion_tokens": 3.0}, (7, 3)),
        ({"prompt_tokens": None, "completion_tokens": "many"}, (0, 0)),
        ({"prompt_tokens": -7, "completion_tokens": {"a": 1}}, (0, 0)),
        ({"prompt_tokens": 1e400, "completion_tokens": math.nan}, (0, 0)),
        (None, (0, 0)), ([], (0, 0)), ("7", (0, 0)),
    ],
)  # fmt: skip
def test_counts_are_numbers_whatever_is_sent(usage: Any, counts: tuple[int, int]) -> None:
    answer = read_completion(body(said(ANSWER), usage=usage))
    assert (answer.tokens_in, answer.tokens_out) == counts


@pytest.mark.parametrize(
    ("logprobs", "likeliest"),
    [
        ({"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": [
            {"token": "Yes", "logprob": -0.1, "bytes": [89]}, {"token": "No", "logprob": -3}]}]},
         (("Yes", -0.1), ("No", -3.0))),
        ({"tokens": ["Yes"], "top_logprobs": [{"Yes": -0.1, "No": -3}]},
         (("Yes", -0.1), ("No", -3.0))),
        ({"content": [{"top_logprobs": [{"token": 3, "logprob": -1}, {"token": "Yes"},
                                        {"token": "No", "logprob": "-1"},
                                        {"token": "no", "logprob": math.nan}]}]}, ()),
        ({"content": []}, ()), ({"content": None}, ()), ({}, ()), (None, ()), ([], ()), (3, ()),
    ],
)  # fmt: skip
def test_first_tokens_are_read_in_both_forms(logprobs: Any, likeliest: Any) -> None:
    assert read_completion(body(said("Yes"), logprobs=logprobs)).likeliest == likeliest


def test_the_older_completions_are_read() -> None:
    sent = {"choices": [{"text": f" {ANSWER}", "finish_reason": "stop"}]}
    assert read_completion(json.dumps(sent)) == Completion(ANSWER, True, 0, 0)


@pytest.mark.parametrize(
    ("sent", "excuse"),
    [
        ("", ""), ("hello", "hello"), ("[]", ""), ("null", ""), ("3", ""), ('"busy"', "busy"),
        ("{}", ""), ('{"choices": []}', ""), ('{"choices": 3}', ""), ('{"choices": [{}]}', ""),
        ('{"choices": [{"message": 3}]}', ""), ('{"error": "no model"}', "no model"),
        ('{"error": {"message": "no  model", "code": 1}}', "no model"), ('{"error": {}}', ""),
        ("[" * 100_000, "[" * 120),
    ],
)  # fmt: skip
def test_anything_else_is_no_completion(sent: str, excuse: str) -> None:
    with pytest.raises(NoCompletion) as told:
        read_completion(sent)
    assert str(told.value) == excuse


def test_text_that_only_looks_like_a_template_stays() -> None:
    for text in ("A sign: <3 dogs>", "a < b > c", "s > t", "think twice", "[1] A dog"):
        assert final_answer(text) == text
