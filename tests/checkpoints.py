"""Small checkpoints in the hub's format: the real classes with random weights."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from research.scenes.architecture import (
    blip_configuration,
    initialise,
    make_captioner,
    make_clip,
    make_retrieval_model,
    make_tokenizer,
)
from research.scenes.grammar import describe
from research.scenes.renderer import render
from research.scenes.train import publish
from research.scenes.world import make_scene
from tests.datasets.folders import image_folder

#: The files that a tokenizer may be stored in.
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")


def random_blip(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    return publish(make_retrieval_model(), "blip", folder)


def random_captioner(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    return publish(make_captioner(make_retrieval_model()), "captioner", folder)


def _byte_pairs() -> Any:
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    rng = random.Random(0)
    texts = [describe(make_scene(rng), rng).text for _ in range(200)]
    texts += ["a photo of a dog on a red boat"] * 20
    tokenizer.train_from_iterator(texts, vocab_size=600, special_tokens=["<|endoftext|>"])
    return tokenizer


def byte_pair_tokenizer(folder: Path) -> Any:
    """A tokenizer of GPT-2's kind, saved in `folder`; one token begins, ends and fills texts."""
    from transformers import GPT2TokenizerFast

    _byte_pairs().save(str(_new(folder) / "tokenizer.json"))
    end = "<|endoftext|>"
    return GPT2TokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), bos_token=end, eos_token=end, pad_token=end,
        unk_token=end,
    )  # fmt: skip


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def random_vision_to_text(folder: Path, seed: int = 0, begins: bool = True) -> Path:
    """A Hugging Face vision encoder-decoder (ViT and GPT-2) with byte-pair tokens; `begins`:
    whether its generation configuration sets the first token of a caption."""
    from transformers import (
        GPT2Config,
        VisionEncoderDecoderConfig,
        VisionEncoderDecoderModel,
        ViTConfig,
        ViTImageProcessor,
    )

    tokenizer = byte_pair_tokenizer(folder)
    size = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2}
    torch.manual_seed(seed)
    configuration = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        ViTConfig(**size, num_attention_heads=2, image_size=48, patch_size=16),
        GPT2Config(
            vocab_size=len(tokenizer), n_positions=64, n_embd=48, n_layer=2, n_head=2,
            bos_token_id=0, eos_token_id=0, add_cross_attention=True, is_decoder=True,  # pyrefly: ignore[unexpected-keyword]
        ),
    )  # fmt: skip
    model = VisionEncoderDecoderModel(configuration)
    model.generation_config.eos_token_id = 0
    model.generation_config.pad_token_id = 0
    model.generation_config.decoder_start_token_id = 0 if begins else None
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    ViTImageProcessor(size={"height": 48, "width": 48}).save_pretrained(folder)
    return folder


def random_language_model(folder: Path, seed: int = 0) -> Path:
    """A GPT-2 with byte-pair tokens, whose only special token ends a text."""
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast

    _byte_pairs().save(str(_new(folder) / "tokenizer.json"))
    end = "<|endoftext|>"
    tokenizer = GPT2TokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), bos_token=end, eos_token=end, unk_token=end
    )
    torch.manual_seed(seed)
    configuration = GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, n_embd=48, n_layer=2, n_head=2,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    GPT2LMHeadModel(configuration).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def random_clipcap(folder: Path, seed: int = 0) -> Path:
    """A ClipCap from both, saved as the command `captioner` does."""
    from research.captioning.new_clipcap import make_clipcap  # of a feature

    clip, language_model = random_clip(folder, seed), folder / "language-model"
    random_language_model(language_model, seed)
    clipcap = make_clipcap(str(clip), str(language_model), prefix_length=4, seed=seed)
    clipcap.save(folder / "clipcap")
    return folder / "clipcap"


def random_clip(folder: Path, seed: int = 0) -> Path:
    torch.manual_seed(seed)
    return publish(make_clip(), "clip", folder)


def with_another_tokenizer(model: Path) -> Path:
    """The directory with its tokenizer replaced by a BERT tokenizer of 30,000 pieces, far more than
    the few hundred embeddings of the text tower."""
    from transformers import BertTokenizerFast

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(30_000))]
    for name in TOKENIZER:
        (model / name).unlink(missing_ok=True)
    BertTokenizerFast(vocab={piece: i for i, piece in enumerate(pieces)}).save_pretrained(model)
    return model


def drawn_pairs(count: int, seed: int = 0, size: int = 96) -> list[tuple[Image.Image, str]]:
    """Drawn pictures with correct captions."""
    rng = random.Random(seed)
    scenes = [make_scene(rng) for _ in range(count)]
    return [(render(scene, size), describe(scene, rng).text) for scene in scenes]


def drawn_folder(
    path: Path,
    count: int,
    seed: int = 0,
    columns: Callable[[int, str], dict[str, object]] = lambda number, caption: {},
) -> Path:
    """`drawn_pairs` as a folder of images with metadata; `columns`: others of each row."""
    pairs = drawn_pairs(count, seed)
    rows = [
        {"file_name": f"{i}.png", "caption": text, **columns(i, text)}
        for i, (_, text) in enumerate(pairs)
    ]
    image_folder(path, rows, ())
    for i, (image, _) in enumerate(pairs):
        image.save(path / f"{i}.png")
    return path


#: What small vocabularies are trained on: several scripts, as the published ones are.
_TEXTS = (
    "a photo of a dog on a red boat", "two people ride bicycles", "ein Hund läuft im Gras",
    "Две собаки бегут", "犬の写真", "the old cat sleeps under a green tree",
)  # fmt: skip


def save_gemma_tokenizer(folder: Path) -> int:
    """A vocabulary of the kind of SigLIP 2's, with its published configuration, which names Gemma's
    class and not SigLIP 2's own. Returns its size."""
    from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    words = [word for text in _scene_texts() for word in f"{text} {text.lower()}".split()]
    tokenizer.train_from_iterator(
        [f"▁{word}" for word in words] + words,
        trainers.BpeTrainer(
            vocab_size=900, special_tokens=[*special, *(f"<0x{i:02X}>" for i in range(256))]
        ),
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <eos>", pair="$A <eos> $B:1 <eos>:1", special_tokens=[("<eos>", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    configuration = {
        "add_bos_token": False, "add_eos_token": True, "bos_token": "<bos>", "eos_token": "<eos>",
        "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>", "padding_side": "right",
        "model_max_length": 64, "model_input_names": ["input_ids"],
        "processor_class": "SiglipProcessor", "tokenizer_class": "GemmaTokenizer",
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(configuration))
    return tokenizer.get_vocab_size()


def save_sentencepiece_tokenizer(folder: Path) -> int:
    """A vocabulary of the kind of SigLIP 1's, as `SiglipTokenizer` stores it. Returns its size."""
    import sentencepiece
    from transformers import SiglipTokenizer

    with (folder / "spiece.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text.lower() for text in _scene_texts()), model_writer=file,
            vocab_size=200, hard_vocab_limit=False, pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
            minloglevel=2,
        )  # fmt: skip
    tokenizer = SiglipTokenizer(str(folder / "spiece.model"))
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def save_scene_tokenizer(folder: Path) -> int:
    """The words of the scenes, of which [SEP] ends a text. Returns the number of words."""
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    scenes = make_tokenizer()
    backend = scenes.backend_tokenizer
    backend.post_processor = TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[SEP]", scenes.sep_token_id)],
    )  # fmt: skip
    PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]",
        additional_special_tokens=["[CLS]", "[MASK]", "[ENC]", "[DEC]"],
    ).save_pretrained(folder)  # fmt: skip
    return len(scenes)


def _scene_texts() -> list[str]:
    rng = random.Random(0)
    return [describe(make_scene(rng), rng).text for _ in range(200)] + list(_TEXTS) * 20


def random_siglip(
    folder: Path,
    seed: int = 1,
    length: int = 20,
    save_tokenizer: Callable[[Path], int] = save_scene_tokenizer,
) -> Path:
    """A SigLIP; with `save_gemma_tokenizer` a SigLIP 2 in its published layout, with
    `save_sentencepiece_tokenizer` a SigLIP 1."""
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel

    rows = save_tokenizer(_new(folder))
    size = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2}
    text = {
        **size, "num_attention_heads": 2, "vocab_size": rows,
        "max_position_embeddings": length, "projection_size": 48,
    }  # fmt: skip
    vision = {**size, "num_attention_heads": 2, "image_size": 48, "patch_size": 16}
    torch.manual_seed(seed)
    SiglipModel(SiglipConfig(text_config=text, vision_config=vision)).save_pretrained(folder)
    SiglipImageProcessor(size={"height": 48, "width": 48}).save_pretrained(folder)
    return folder


def random_open_clip(folder: Path, name: str = "traced-phrases", seed: int = 0) -> str:
    """A small open_clip model with CLIP's tokenizer; returns its name for `load_scorer`."""
    import open_clip

    vision = {"image_size": 48, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16}
    text = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2}
    configuration = {"embed_dim": 32, "vision_cfg": vision, "text_cfg": text}
    (folder / f"{name}.json").write_text(json.dumps(configuration))
    open_clip.add_model_config(folder)
    torch.manual_seed(seed)
    torch.save(open_clip.create_model(name).state_dict(), folder / "weights.pt")
    return f"open_clip:{name}@{folder / 'weights.pt'}"


#: Our parameter names and those of LAVIS: `backend.features.lavis.checkpoint.convert` maps
#: them back.
_LAVIS_NAMES = (
    ("vision_model.embeddings.class_embedding", "visual_encoder.cls_token"),
    ("vision_model.embeddings.position_embedding", "visual_encoder.pos_embed"),
    ("vision_model.embeddings.patch_embedding.", "visual_encoder.patch_embed.proj."),
    ("vision_model.post_layernorm.", "visual_encoder.norm."),
    ("vision_model.encoder.layers.", "visual_encoder.blocks."),
    (".self_attn.qkv.", ".attn.qkv."),
    (".self_attn.projection.", ".attn.proj."),
    (".layer_norm1.", ".norm1."),
    (".layer_norm2.", ".norm2."),
)


def lavis_names(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights of a BLIP retrieval model under LAVIS's names."""
    renamed = {}
    for name, weight in state.items():
        for ours, theirs in _LAVIS_NAMES if name.startswith("vision_model.") else ():
            name = name.replace(ours, theirs)
        renamed[name] = weight
    return renamed


def random_lavis_checkpoint(folder: Path, seed: int = 0) -> Path:
    """A small BLIP retrieval checkpoint as LAVIS writes it, next to the scenes' vocabulary."""
    from transformers import BlipForImageTextRetrieval

    configuration = blip_configuration()
    # LAVIS reads 35 tokens; BERT has positions for 512.
    configuration.text_config.max_position_embeddings = 64  # pyrefly: ignore[missing-attribute]
    torch.manual_seed(seed)
    model = BlipForImageTextRetrieval(configuration)
    initialise(model)
    torch.save({"model": lavis_names(model.state_dict())}, folder / "model.pth")
    vocab = make_tokenizer().get_vocab()
    (folder / "vocab.txt").write_text("\n".join(sorted(vocab, key=vocab.__getitem__)) + "\n")
    return folder / "model.pth"


def random_clip_with_byte_pairs(folder: Path, seed: int = 0, metaclip: bool = False) -> Path:
    """A CLIP with CLIP's own tokenizer class: `<|endoftext|>` is the highest id."""
    from open_clip.tokenizer import SimpleTokenizer
    from transformers import (
        CLIPConfig,
        CLIPImageProcessor,
        CLIPModel,
        CLIPProcessor,
        CLIPTokenizerFast,
        MetaClip2Config,
        MetaClip2Model,
    )

    simple_tokenizer = SimpleTokenizer()
    merges = [
        pair for pair, _ in sorted(simple_tokenizer.bpe_ranks.items(), key=lambda entry: entry[1])
    ]
    tokenizer = CLIPTokenizerFast(
        vocab={
            token.replace("<start_of_text>", "<|startoftext|>").replace(
                "<end_of_text>", "<|endoftext|>"): number
            for token, number in simple_tokenizer.encoder.items()},
        merges=merges,
    )  # fmt: skip
    size = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2}
    text = {
        **size, "num_attention_heads": 2, "vocab_size": len(tokenizer),
        "max_position_embeddings": 32, "projection_dim": 32,
        "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id,
    }  # fmt: skip
    vision = {**size, "num_attention_heads": 2, "image_size": 48, "patch_size": 16,
              "projection_dim": 32}  # fmt: skip
    torch.manual_seed(seed)
    configuration, architecture = (
        (MetaClip2Config, MetaClip2Model) if metaclip else (CLIPConfig, CLIPModel)
    )
    model = architecture(configuration(text_config=text, vision_config=vision, projection_dim=32))  # pyrefly: ignore[bad-argument-type]
    model.save_pretrained(folder)
    square = {"height": 48, "width": 48}
    CLIPProcessor(
        CLIPImageProcessor(size={"shortest_edge": 48}, crop_size=square), tokenizer
    ).save_pretrained(folder)
    return folder
