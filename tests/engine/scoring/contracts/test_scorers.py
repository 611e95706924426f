"""Each family of scorers: the same scores as its library's own call, and spans in the caption."""

import json
import string
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import backend.engine.torchvision_compat  # noqa: F401  (before transformers' image processors)
from backend import plugins
from backend.engine.captions import Caption
from backend.engine.scoring.cleaning import clean_for_blip
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer, SeesParts
from backend.engine.trajectories.exploring import EditedText
from tests.checkpoints import (
    drawn_pairs,
    random_clip_with_byte_pairs,
    random_open_clip,
    save_gemma_tokenizer,
)
from tests.engine.language_models import families
from tests.engine.scoring.contracts import checkpoints
from tests.engine.scoring.contracts.captions import CAPTIONS
from tests.fixtures.features import needs

#: The scores of captions for one picture, shape [captions], by a model's own library.
PlainCall = Callable[[str, Image.Image, Sequence[str]], torch.Tensor]


def _by_clip(kind: str, model: str, image: Image.Image, captions: Sequence[str]) -> torch.Tensor:
    """With text repaired and unescaped as in training, which open_clip does."""
    import transformers
    from open_clip.tokenizer import basic_clean, whitespace_clean

    texts = [whitespace_clean(basic_clean(caption)) for caption in captions]
    processor: Any = transformers.CLIPProcessor.from_pretrained(model)
    inputs = processor(
        text=texts, images=image, return_tensors="pt", padding=True, truncation=True,
        max_length=32,
    )  # fmt: skip
    output = getattr(transformers, kind).from_pretrained(model)(**inputs)
    return (output.text_embeds @ output.image_embeds.T)[:, 0]


def _by_blip(
    matching: bool, model: str, image: Image.Image, captions: Sequence[str]
) -> torch.Tensor:
    """With the five points at which LAVIS differs: twelve heads and an epsilon of 1e-6, which the
    configuration states, the attention mask, [ENC] as ITM's first token, and its `blip_caption`."""
    from transformers import BlipForImageTextRetrieval, BlipProcessor

    texts = list(map(clean_for_blip, captions))
    processor: Any = BlipProcessor.from_pretrained(model)
    plain: Any = BlipForImageTextRetrieval.from_pretrained(model)
    assert plain.config.text_config.num_attention_heads == 12
    assert plain.config.vision_config.layer_norm_eps == 1e-6
    inputs = processor.tokenizer(
        texts, padding=True, truncation=True, max_length=35, return_tensors="pt"
    )
    if matching:
        inputs["input_ids"][:, 0] = checkpoints.ENCODER
    pixels = processor.image_processor(images=[image] * len(texts), return_tensors="pt")
    scores = plain(
        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"],
        pixel_values=pixels["pixel_values"], use_itm_head=matching,
    ).itm_score  # fmt: skip
    return scores.softmax(-1)[:, 1] if matching else scores[0]


def _by_siglip(tokenizer: Any, model: str, image: Image.Image, texts: list[str]) -> torch.Tensor:
    from transformers import SiglipImageProcessor, SiglipModel

    plain = SiglipModel.from_pretrained(model)
    ids = tokenizer(
        texts, padding="max_length", truncation=True, max_length=64, return_tensors="pt"
    )["input_ids"]
    processor: Any = SiglipImageProcessor.from_pretrained(model)
    pixels = processor(images=image, return_tensors="pt")["pixel_values"]
    output = plain(input_ids=ids, pixel_values=pixels)
    return (output.text_embeds @ output.image_embeds.T)[:, 0]


def by_siglip(model: str, image: Image.Image, captions: Sequence[str]) -> torch.Tensor:
    from transformers import SiglipTokenizer

    return _by_siglip(SiglipTokenizer.from_pretrained(model), model, image, list(captions))


def by_siglip_2(model: str, image: Image.Image, captions: Sequence[str]) -> torch.Tensor:
    """Lower case before tokenization, as in training (Tschannen et al. 2025, section 2.1)."""
    from transformers import GemmaTokenizer

    lower = [caption.lower() for caption in captions]
    return _by_siglip(GemmaTokenizer.from_pretrained(model), model, image, lower)


def by_open_clip(model: str, image: Image.Image, captions: Sequence[str]) -> torch.Tensor:
    import open_clip

    architecture, _, weights = model.removeprefix("open_clip:").partition("@")
    plain, _, preprocess = open_clip.create_model_and_transforms(
        architecture, pretrained=weights or None
    )
    plain.eval()
    tokens = open_clip.get_tokenizer(architecture)(list(captions))
    seen = plain.encode_image(preprocess(image)[None], normalize=True)
    return (plain.encode_text(tokens, normalize=True) @ seen.T)[:, 0]


def by_vqa(model: str, image: Image.Image, captions: Sequence[str]) -> torch.Tensor:
    """P(yes) / (P(yes) + P(no)) after the shipped prompt, one caption at a time (Lin et al. 2024,
    equation 1, with every spelling of the two words). A caption's white space is one space."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = model.removeprefix("vqa:")
    processor: Any = AutoProcessor.from_pretrained(folder)
    plain = AutoModelForImageTextToText.from_pretrained(folder)
    words = {
        i: processor.tokenizer.decode([i]).strip().lower() for i in range(len(processor.tokenizer))
    }
    yes, no = ([i for i, text in words.items() if text == word] for word in ("yes", "no"))
    scores = []
    for caption in captions:
        text = (
            (plugins.FEATURES / "vision_language" / "prompt.txt")
            .read_text("utf-8")
            .strip()
            .replace("{caption}", " ".join(caption.split()))
        )
        content = [{"type": "image", "image": image}, {"type": "text", "text": text}]
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=True,
            return_dict=True, return_tensors="pt",
        )  # fmt: skip
        p = plain(**inputs).logits[0, -1].softmax(-1)
        scores.append(p[yes].sum() / (p[yes].sum() + p[no].sum()))
    return torch.stack(scores)


def _canonical_open_clip(folder: Path, name: str, **text: Any) -> str:
    """A text tower of SigLIP's kind, which cleans captions, and attends to padding."""
    import open_clip

    vision = {"image_size": 48, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16}
    text = {
        "width": 64, "heads": 2, "layers": 2, "no_causal_mask": True, "pool_type": "last",
        "tokenizer_kwargs": {"clean": "canonicalize"}, **text,
    }  # fmt: skip
    configuration = {"embed_dim": 32, "custom_text": True, "vision_cfg": vision, "text_cfg": text}
    (folder / f"{name}.json").write_text(json.dumps(configuration))
    open_clip.add_model_config(folder)
    torch.manual_seed(0)
    torch.save(open_clip.create_model(name).state_dict(), folder / "weights.pt")
    return f"open_clip:{name}@{folder / 'weights.pt'}"


def open_clip_siglip_2(folder: Path) -> str:
    tokenizer = folder / "tokenizer"
    tokenizer.mkdir()
    rows = save_gemma_tokenizer(tokenizer)
    (tokenizer / "config.json").write_text('{"model_type": "gemma"}')
    return _canonical_open_clip(
        folder, "contract-siglip2", context_length=64, vocab_size=rows,
        hf_tokenizer_name=str(tokenizer),
    )  # fmt: skip


def open_clip_with_transformers_text(folder: Path) -> str:
    """As xlm-roberta-base-ViT-B-32: the text tower is a class of transformers."""
    import open_clip
    from transformers import XLMRobertaConfig

    tokenizer = checkpoints.bert_tokenizer()
    tokenizer.save_pretrained(folder / "tower")
    XLMRobertaConfig(
        vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=2, pad_token_id=0, max_position_embeddings=514,
    ).save_pretrained(folder / "tower")  # fmt: skip
    vision = {"image_size": 48, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16}
    text = {"hf_model_name": str(folder / "tower"), "hf_tokenizer_name": str(folder / "tower"),
            "hf_proj_type": "mlp", "hf_pooler_type": "mean_pooler"}  # fmt: skip
    name = "contract-xlm-roberta"
    configuration = {"embed_dim": 32, "vision_cfg": vision, "text_cfg": text}
    (folder / f"{name}.json").write_text(json.dumps(configuration))
    open_clip.add_model_config(folder)
    torch.manual_seed(0)
    made = open_clip.create_model(name, pretrained_text=False)
    torch.save(made.state_dict(), folder / "weights.pt")
    return f"open_clip:{name}@{folder / 'weights.pt'}"


@dataclass(frozen=True)
class Published:
    """A checkpoint's layout and its library's call."""

    make: Callable[[Path], str | Path]
    plain: PlainCall
    kind: str | None = None


PUBLISHED = {
    "clip": Published(random_clip_with_byte_pairs, partial(_by_clip, "CLIPModel")),
    "metaclip-2": Published(checkpoints.metaclip_2, partial(_by_clip, "MetaClip2Model")),
    "blip-itm": Published(checkpoints.blip_retrieval, partial(_by_blip, True), "blip-itm"),
    "blip-itc": Published(checkpoints.blip_retrieval, partial(_by_blip, False), "blip-itc"),
    "siglip-1": Published(checkpoints.siglip_1, by_siglip),
    "siglip-2": Published(checkpoints.siglip_2, by_siglip_2),
    "open_clip, a repository": Published(
        lambda folder: f"open_clip:local-dir:{checkpoints.open_clip_repository(folder)}",
        by_open_clip,
    ),
    "open_clip": Published(
        lambda folder: random_open_clip(folder, "contract-causal"), by_open_clip
    ),
    "open_clip, canonicalize": Published(
        lambda folder: _canonical_open_clip(
            folder, "contract-canonical", context_length=77, vocab_size=49408
        ),
        by_open_clip,
    ),
    "open_clip, SigLIP 2": Published(open_clip_siglip_2, by_open_clip),
    "open_clip, XLM-RoBERTa": Published(open_clip_with_transformers_text, by_open_clip),
    "vqa, Qwen2.5-VL": Published(lambda folder: f"vqa:{families.qwen2_5_vl(folder)}", by_vqa),
    "vqa, Idefics3": Published(lambda folder: f"vqa:{families.idefics3(folder)}", by_vqa),
}


@dataclass
class Contract:
    name: str
    scorer: Scorer
    plain: PlainCall


#: A family of a feature only where that is.
NAMES = [
    pytest.param(name, marks=needs("vision_language")) if name.startswith("vqa") else name
    for name in PUBLISHED
]


@pytest.fixture(scope="module", params=NAMES)
def contract(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Contract:
    published = PUBLISHED[request.param]
    model = str(published.make(tmp_path_factory.mktemp("published")))
    return Contract(model, load_scorer(model, published.kind, "cpu"), published.plain)


def test_scores_are_those_of_the_library(contract: Contract) -> None:
    image = drawn_pairs(1)[0][0]
    state = contract.scorer.encode_images([image])[0]
    (scores,) = contract.scorer.score([(state, CAPTIONS)])
    with torch.no_grad():
        wanted = contract.plain(contract.name, image, CAPTIONS).numpy()
    np.testing.assert_allclose(scores, wanted, atol=1e-4)
    assert np.ptp(wanted) > 1e-3  # the captions are told apart


def test_tokens_cover_the_characters_that_they_stand_for(contract: Contract) -> None:
    reader = contract.scorer.reader
    for caption in CAPTIONS:
        (tokens,) = reader.tokenise([caption])
        spans = reader.spans(caption)
        assert len(spans) == len(tokens)
        assert all(0 <= start <= end <= len(caption) for start, end in spans)
        assert spans == sorted(spans)
        for token, (start, end) in zip(tokens, spans, strict=True):
            text = folded(reader.decode((token,)))
            if text and text.isascii() and text.isalnum():
                assert text in folded(caption[start:end]), (caption, text)


def test_an_edited_caption_keeps_the_users_text(contract: Contract) -> None:
    """Without an edit nothing changes but white space; with one, only the word's own letters."""
    reader = contract.scorer.reader
    for text in CAPTIONS:
        caption = Caption.parse(text)
        if reader.words_read(text) == len(caption):
            assert str(EditedText(caption, reader)) == " ".join(text.split())
    caption = Caption.parse("Two people, riding RED bicycles; one waves 🚤!")
    edited = EditedText(caption, reader)
    inside = [i for i, word in enumerate(edited.word_of) if word == 3]
    start, end = (f(reader.spans(caption.text)[i][j] for i in inside)
                  for f, j in ((min, 0), (max, 1)))  # fmt: skip
    assert caption.text[start:end] == "RED"
    for token in inside:
        edited.edit(token, "blue" if token == inside[0] else "")
    assert str(edited) == caption.text.replace("RED", "blue")


def test_what_a_view_leaves_out_has_no_influence(contract: Contract) -> None:
    """The whole view has the score itself, as log-odds. BLIP's image tower sees the picture before
    ITM's memory loses parts of it: there the same states are left out by hand."""
    scorer = contract.scorer
    if not isinstance(scorer, SeesParts):
        return
    vision = scorer.model.config.vision_config  # pyrefly: ignore[missing-attribute]
    side, patch = int(vision.image_size), int(vision.patch_size)
    image = drawn_pairs(1)[0][0].resize((side, side))
    views = np.ones((3, *scorer.grid), np.bool_)
    views[1, 0, 1] = views[2, :2, :2] = False
    whole, without_one, without_four = next(scorer.viewers([image]))(views, CAPTIONS)
    state = scorer.encode_images([image])[0]
    (scores,) = scorer.score([(state, CAPTIONS)])
    if scorer.info.kind == "blip-itm":
        np.testing.assert_allclose(1 / (1 + np.exp(-whole)), scores, atol=1e-5)
        seen = [0, *(1 + np.flatnonzero(views[2]))]
        (scores,) = scorer.score([(state[seen], CAPTIONS)])
        np.testing.assert_allclose(1 / (1 + np.exp(-without_four)), scores, atol=1e-5)
    else:
        np.testing.assert_allclose(whole / whole[0], scores / scores[0], atol=1e-4)
        image.paste((255, 0, 0), (patch, 0, 2 * patch, patch))
        again, painted, _ = next(scorer.viewers([image]))(views, CAPTIONS)
        np.testing.assert_allclose(painted, without_one, atol=1e-3)
        assert np.abs(again - whole).max() > 10 * np.abs(painted - without_one).max()


def folded(text: str) -> str:
    """Without capitals, accents, compatibility forms, and what `clean="canonicalize"` removes."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    text = "".join(part for part in parts if not unicodedata.combining(part))
    return text.translate(str.maketrans("", "", string.punctuation)).strip()
