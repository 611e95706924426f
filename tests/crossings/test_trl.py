"""TRL on our exports: `DPOTrainer` takes a step on one of preferences, and what its `max_length`
cuts; `SFTTrainer`'s collator shows the picture of `messages` once, and no mark of ours."""

from pathlib import Path
from typing import Any

import pytest

from backend.datasets.export_row import ExportRow
from backend.features.caption_pairs.comparisons import CaptionPair
from tests.crossings.conftest import Run
from tests.crossings.test_open_clip_train import drawn_rows, expected_pairs
from tests.datasets.writing.test_export_loaders import write

PACKAGES = ("torch==2.13.0", "trl==1.16.0", "transformers==5.24.0", "pillow")
#: The processor of a small LLaVA: four tokens a picture, one a word.
PROCESSOR = """
import json
import sys

from datasets import Image, List, load_dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlavaProcessor, PreTrainedTokenizerFast
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

dataset = load_dataset(sys.argv[1], split="train")
words = pre_tokenizers.WhitespaceSplit()
texts = [part.get("text") or "" for row in dataset
         for name in ("prompt", "chosen", "rejected", "messages")
         for turn in row.get(name, []) for part in turn["content"]]
vocabulary = ["<pad>", "<s>", "</s>", "<unk>", "<image>"]
special = list(vocabulary)
vocabulary += sorted({word for text in texts for word, _ in words.pre_tokenize_str(text)})
ids = {word: number for number, word in enumerate(vocabulary)}
tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
tokenizer.pre_tokenizer = words
tokenizer.add_special_tokens(special)
tokens = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
    unk_token="<unk>", extra_special_tokens={"image_token": "<image>"},
)
template = (
    "{% for turn in messages %}{% for part in turn['content'] %}"
    "{% if part['type'] == 'image' %}<image> {% else %}{{ part['text'] }} {% endif %}"
    "{% endfor %}{% endfor %}"
)
size = {"height": 28, "width": 28}
processor = LlavaProcessor(
    CLIPImageProcessorPil(size=size, crop_size=size), tokens, patch_size=14,
    vision_feature_select_strategy="default", num_additional_image_tokens=1,
    chat_template=template,
)
"""
PREFERENCE = (
    PROCESSOR
    + """
import torch
from transformers import (
    CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration,
)
from trl import DPOConfig, DPOTrainer

max_length = json.loads(sys.argv[2])
layers = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
          "num_attention_heads": 2}
config = LlavaConfig(
    vision_config=CLIPVisionConfig(image_size=28, patch_size=14, **layers),
    text_config=LlamaConfig(vocab_size=len(ids), num_key_value_heads=2, pad_token_id=0,
                            bos_token_id=1, eos_token_id=2, **layers),
    image_token_index=ids["<image>"], vision_feature_layer=-1,
)
torch.manual_seed(0)
LlavaForConditionalGeneration(config).save_pretrained("model")  # the reference is read from there
model = LlavaForConditionalGeneration.from_pretrained("model")
trainer = DPOTrainer(
    model=model, train_dataset=dataset, processing_class=processor,
    args=DPOConfig(output_dir="dpo", max_steps=1, per_device_train_batch_size=len(dataset),
                   max_length=max_length, learning_rate=0.01, report_to="none", use_cpu=True,
                   bf16=False),
)
batch = trainer.data_collator([trainer.train_dataset[n] for n in range(len(dataset))])
answers = [tokens.decode(row[mask.bool()])
           for row, mask in zip(batch["input_ids"], batch["completion_mask"])]
before = {name: weight.clone() for name, weight in model.state_dict().items()}
trainer.train()
print(json.dumps({
    "chosen": answers[:len(dataset)], "rejected": answers[len(dataset):],
    "learned": any(not torch.equal(before[name], weight)
                   for name, weight in model.state_dict().items()),
}))
"""
)
CONVERSATIONS = (
    PROCESSOR
    + """
import os

import torch
from trl.trainer.sft_trainer import DataCollatorForVisionLanguageModeling

os.chdir(sys.argv[1])  # paths are relative to the table
rows = [*dataset.cast_column("images", List(Image()))]
batch = DataCollatorForVisionLanguageModeling(processor)(rows)
mean, deviation = (torch.tensor(getattr(processor.image_processor, name))
                   for name in ("image_mean", "image_std"))
pixels = (batch["pixel_values"][:, :, 1, 1] * deviation + mean) * 255
print(json.dumps({
    "texts": tokens.batch_decode(batch["input_ids"]), "pixels": pixels.round().int().tolist(),
}))
"""
)


@pytest.fixture
def export(tmp_path: Path) -> tuple[Path, list[ExportRow]]:
    rows = []
    for row in drawn_rows(tmp_path / "source"):
        text = f"A square is {row.caption.split()[1].rstrip(',')} today"
        other = f"{text.rsplit(maxsplit=2)[0]} purple today"
        rows.append(ExportRow(row.id, row.image_path, text, text, "train",
                              content=(CaptionPair(text, other),)))  # fmt: skip
    return write(tmp_path / "source", tmp_path / "out", "preference", rows), rows


def test_a_step_is_learned_from_each_pair(
    export: tuple[Path, list[ExportRow]], run_with: Run
) -> None:
    out, rows = export
    step: dict[str, Any] = run_with(PACKAGES, PREFERENCE, out, "null")
    assert step["learned"]
    pairs = {(row.content[0].chosen, row.content[0].rejected) for row in rows}
    assert set(zip(step["chosen"], step["rejected"], strict=True)) == pairs


def test_what_comes_after_max_length_is_cut_without_a_word(
    export: tuple[Path, list[ExportRow]], run_with: Run
) -> None:
    """Therefore the card says how to keep it."""
    out, _ = export
    picture_and_question = 4 + 3  # "Describe the image."
    step = run_with(PACKAGES, PREFERENCE, out, str(picture_and_question + 3))
    assert set(step["chosen"]) == set(step["rejected"]) == {"A square is"}
    assert "max_length=None" in (out / "README.md").read_text("utf-8")


def test_messages_show_their_picture_once(tmp_path: Path, run_with: Run) -> None:
    """The marks in the texts of a source become TRL's own."""
    marked = [{"from": "human", "value": "<image>\nDescribe it."}, {"from": "gpt", "value": "?"}]
    rows = [
        ExportRow(row.id, row.image_path, row.caption, "?", "train",
                  extra={"conversations": marked} if number % 2 else {})
        for number, row in enumerate(drawn_rows(tmp_path / "source"))
    ]  # fmt: skip
    out = write(tmp_path / "source", tmp_path / "out", "messages", rows)
    batch: dict[str, Any] = run_with(PACKAGES, CONVERSATIONS, out)
    questions = ("Describe the image in one sentence.", "Describe it.")
    assert [text.replace("<pad>", "").split() for text in batch["texts"]] == [
        f"{'<image> ' * 4}{questions[number % 2]} {row.caption}".split()
        for number, row in enumerate(rows)
    ]
    assert [tuple(pixel) for pixel in batch["pixels"]] == [*expected_pairs(rows).values()]
