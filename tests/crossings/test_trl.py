"""TRL's `DPOTrainer` takes a step on an export of preferences, and what its `max_length` cuts."""

from pathlib import Path
from typing import Any

import pytest

from backend.datasets.export_row import ExportRow
from backend.features.caption_pairs.comparisons import CaptionPair
from tests.crossings.conftest import Run
from tests.crossings.test_open_clip_train import drawn_rows
from tests.datasets.test_export_loaders import write

PACKAGES = ("torch==2.13.0", "trl==1.16.0", "transformers==5.24.0", "pillow")
#: A small LLaVA: four tokens a picture, one a word.
SCRIPT = """
import json
import sys

import torch
from datasets import load_dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from trl import DPOConfig, DPOTrainer

folder, max_length = sys.argv[1], json.loads(sys.argv[2])
dataset = load_dataset(folder, split="train")
words = pre_tokenizers.WhitespaceSplit()
texts = [part["text"] or "" for row in dataset for name in ("prompt", "chosen", "rejected")
         for turn in row[name] for part in turn["content"]]
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
    step: dict[str, Any] = run_with(PACKAGES, SCRIPT, out, "null")
    assert step["learned"]
    pairs = {(row.content[0].chosen, row.content[0].rejected) for row in rows}
    assert set(zip(step["chosen"], step["rejected"], strict=True)) == pairs


def test_what_comes_after_max_length_is_cut_without_a_word(
    export: tuple[Path, list[ExportRow]], run_with: Run
) -> None:
    """Therefore the card says how to keep it."""
    out, _ = export
    picture_and_question = 4 + 3  # "Describe the image."
    step = run_with(PACKAGES, SCRIPT, out, str(picture_and_question + 3))
    assert set(step["chosen"]) == set(step["rejected"]) == {"A square is"}
    assert "max_length=None" in (out / "README.md").read_text("utf-8")
