"""Answers as servers send them, and what is read of each: the published forms of OpenAI, vLLM,
SGLang, llama.cpp, Ollama, LM Studio, Mistral, DeepSeek, Anthropic's and Google's OpenAI-compatible
endpoints, and what people reported of them."""

import json
import math
from typing import Any

import pytest

from backend.features.vision_language.completion import (
    Completion,
    NoCompletion,
    read_completion,
)

ANSWER = '{"caption": "A dog"}'


def body(of: Any, finish: Any = "stop", usage: Any = None, logprobs: Any = None) -> str:
    choice = {"index": 0, "message": of, "finish_reason": finish, "logprobs": logprobs}
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage})


def message(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


@pytest.mark.parametrize(
    "answer",
    [
        message(ANSWER),
        message(ANSWER, refusal=None, tool_calls=None, annotations=[], audio=None),
        message(ANSWER, reasoning_content="The user wants a caption."),  # DeepSeek, vLLM
        message(ANSWER, reasoning="The user wants a caption.", reasoning_details=[{}]),  # Router
        message([{"type": "text", "text": ANSWER}]),
        message([ANSWER]),
        message([{"type": "text", "text": {"value": ANSWER, "annotations": []}}]),
        message([{"type": "output_text", "text": ANSWER}]),
        message([{"text": ANSWER[:5]}, {"type": "text", "text": ANSWER[5:]}]),
        message([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
              {"type": "text", "text": ANSWER}]),  # Mistral
        message([{"type": "reasoning", "text": "A cat?"}, {"type": "text", "text": ANSWER}]),
        message({"type": "text", "text": ANSWER}),
        message(f"<think>A cat? {{}}</think>\n\n{ANSWER}"),
        message(f"A cat? {{}}</think>\n{ANSWER}"),  # the template opens the thoughts itself
        message(f"<think></think>{ANSWER}"),
        message(f"<THINKING>A cat?</THINKING>{ANSWER}"),
        message(f"<think>A <think>cat</think>?</think>{ANSWER}"),
        message(f"<seed:think>A cat?</seed:think>{ANSWER}"),
        message(f"[THINK]A cat?[/THINK]{ANSWER}"),
        message(f"◁think▷A cat?◁/think▷{ANSWER}"),  # Kimi-VL
        message("<|channel|>analysis<|message|>A cat?<|end|><|start|>assistant<|channel|>final"
             f"<|message|>{ANSWER}<|return|>"),  # gpt-oss
        message(f"analysisA cat? {{}}assistantfinal{ANSWER}"),  # without its special tokens
        message(f"<|channel>thought\nA cat? {{}}<channel|>{ANSWER}"),  # Gemma 4
        message(f"{ANSWER}<EOS>"),
        message(f"{ANSWER}<|im_end|>"),
        message(f"{ANSWER}<|im_end|>\n<|im_start|>user\nAnd now?"),
        message(f"<|im_start|>assistant\n{ANSWER}"),
        message(f"<s>{ANSWER}</s>"),
        message(f"[INST] Describe it. [/INST] {ANSWER}</s>"),
        message(f"{ANSWER}<|eot_id|><|endoftext|>"),
        message(f"<｜Assistant｜>{ANSWER}<｜end▁of▁sentence｜>"),  # DeepSeek
        message(f"{ANSWER}<end_of_turn>"),  # Gemma
        message(f"  {ANSWER}\n<|end|>"),  # Phi
        message(f"{ANSWER}<|END_OF_TURN_TOKEN|>"),  # Command R
    ],
)  # fmt: skip
def test_the_answer_is_read_wherever_it_stands(answer: dict[str, Any]) -> None:
    assert read_completion(body(answer)).text == ANSWER


@pytest.mark.parametrize(
    "answer",
    [
        message(None), message(""), message([]), message(3), message({"a": 1}),
        message([None, 3, {"type": "text"}]),
        message(None, tool_calls=[{"type": "function", "function": {"arguments": ANSWER}}]),
        message(None, function_call={"arguments": ANSWER}), message(None, reasoning_content=ANSWER),
        message([{"type": "image_url", "image_url": {"url": ANSWER}}]),
        message(f"<think>The user wants {ANSWER}, but wait"),
        message(f"<think>{ANSWER}</think>"), message(f"<think>Hm</think><think>{ANSWER}"),
        message(f"[THINK]{ANSWER}"), message(f"<|channel|>analysis<|message|>{ANSWER}"), {},
    ],
)  # fmt: skip
def test_what_is_only_thought_or_called_is_no_answer(answer: dict[str, Any]) -> None:
    assert read_completion(body(answer)).text == ""


def test_a_refusal_says_why() -> None:
    text = "I'm sorry, I can't help with that."
    assert read_completion(body(message(None, refusal=text))).text == text
    assert read_completion(body(message([{"type": "refusal", "refusal": text}]))).text == text


def test_lone_surrogates_are_no_text_and_pairs_are_joined() -> None:
    assert read_completion(body(message("a \ud83d dog \ud83d\ude00"))).text == "a \ufffd dog 😀"


@pytest.mark.parametrize(
    ("finish", "finished"),
    [("stop", True), ("eos", True), (None, True), ("length", False), ("max_tokens", False)],
)
def test_an_answer_that_was_cut_off_says_so(finish: str | None, finished: bool) -> None:
    assert read_completion(body(message(ANSWER), finish)).finished is finished


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
    answer = read_completion(body(message(ANSWER), usage=usage))
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
        ({"top_logprobs": [{"Yes": 0.0, "No": 0.0}]}, ()),  # no probabilities: they sum to 2
        ({"content": []}, ()), ({"content": None}, ()), ({}, ()), (None, ()), ([], ()), (3, ()),
    ],
)  # fmt: skip
def test_first_tokens_are_read_in_both_forms(logprobs: Any, likeliest: Any) -> None:
    assert read_completion(body(message("Yes"), logprobs=logprobs)).likeliest == likeliest


def test_the_older_completions_are_read() -> None:
    legacy = {"choices": [{"text": f" {ANSWER}", "finish_reason": "stop"}]}
    assert read_completion(json.dumps(legacy)) == Completion(ANSWER, True, 0, 0)


@pytest.mark.parametrize(
    ("text", "excuse"),
    [
        ('{"detail": "Too many requests"}', "Too many requests"),
        ('{"object": "error", "message": "No such model"}', "No such model"),
        ('{"message": {"content": "A dog."}}', ""),
        ("", ""), ("hello", "hello"), ("[]", ""), ("null", ""), ("3", ""), ('"busy"', "busy"),
        ("{}", ""), ('{"choices": []}', ""), ('{"choices": 3}', ""), ('{"choices": [{}]}', ""),
        ('{"choices": [{"message": 3}]}', ""), ('{"error": "no model"}', "no model"),
        ('{"error": {"message": "no  model", "code": 1}}', "no model"), ('{"error": {}}', ""),
        ("[" * 100_000, "[" * 120),
    ],
)  # fmt: skip
def test_anything_else_is_no_completion(text: str, excuse: str) -> None:
    with pytest.raises(NoCompletion) as problem:
        read_completion(text)
    assert str(problem.value) == excuse
