"""open_clip: any architecture with a pretrained tag or a weights file.

Named `open_clip:ARCHITECTURE@PRETRAINED`, such as `open_clip:ViT-B-32@laion2b_s34b_b79k`,
`open_clip:ViT-B-32@/path/weights.pt`, or `open_clip:hf-hub:ORGANISATION/NAME`. Text towers of
CLIP's architecture share prefixes as `CLIPModel`'s does; others read padded texts.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F  # noqa: N812

from backend.engine import hub
from backend.engine.hub_cache import OPEN_CLIP_WEIGHTS, snapshot_of
from backend.engine.model_fit import PROBES, check_ids, check_pixels, check_tokenizer, probe
from backend.engine.presets import asked_for_as
from backend.engine.scoring.checkpoints import ADVICE, Family, Request, weights_digest
from backend.engine.scoring.clip import open_causal_session
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.protocol import BoolArray, ImageState, ScorerInfo, Session, Tokens
from backend.engine.scoring.tokens import HubReader, Span, is_word, origins, span_in, words_within
from backend.engine.scoring.towers.causal_text import CausalLayer, CausalText, quick_gelu
from backend.engine.scoring.towers.padded import PaddedSession, PaddedText, padded_to
from backend.engine.scoring.towers.weights import Affine, affine, norm
from backend.errors import ModelMismatch, ModelMissing, ModelUnavailable

PREFIX = "open_clip:"


@dataclass
class BytePairReader:
    """open_clip's own `SimpleTokenizer`, whose vocabulary ships with the package."""

    tokenizer: Any
    context: int

    @property
    def vocabulary(self) -> int:
        return int(self.tokenizer.vocab_size)

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        return [tuple(self.tokenizer.encode(text)[: self.context - 2]) for text in captions]

    def spans(self, caption: str) -> list[Span]:
        """Its tokens are the bytes of the cleaned caption in order, without white space."""
        clean = self.tokenizer.clean_fn
        ranges, text = origins(caption, clean), clean(caption)
        letters = [i for i, letter in enumerate(text) if not letter.isspace()
                   for _ in letter.encode()]  # fmt: skip
        (tokens,) = self.tokenise([caption])
        lengths = [len(self.tokenizer.decoder[token].removesuffix("</w>")) for token in tokens]
        return [
            span_in(ranges, text, letters[start], letters[end - 1] + 1)
            for start, end in pairwise(accumulate(lengths, initial=0))
        ]

    def decode(self, tokens: Tokens) -> str:
        return str(self.tokenizer.decode(list(tokens))).strip()

    def words_read(self, caption: str) -> int:
        return words_within(caption, self.spans(caption), self.context - 2)

    def replaceable(self, whole_words: bool) -> BoolArray:
        is_replaceable = np.zeros(self.vocabulary, np.bool_)
        special = set(self.tokenizer.all_special_ids)
        for token, number in self.tokenizer.encoder.items():
            if number not in special:
                is_replaceable[number] = not whole_words or is_word(token, "</w>")
        return is_replaceable


@dataclass
class OpenClipScorer(DualEncoder):
    """An open_clip model. An image's state is its unit embedding, shape [d]."""

    preprocess: Callable[[Image.Image], torch.Tensor]
    around: tuple[list[int], list[int], int]  #: see `_around`

    def open_session(self) -> Session:
        if self.causal is not None:
            return open_causal_session(self.causal, self.budget(self.causal.bytes_a_token))
        return PaddedSession(self.padded, self.budget(20 * self.padded.width * 4), self.precision)

    @cached_property
    def causal(self) -> CausalText | None:
        tokenizer = self.reader.tokenizer  # pyrefly: ignore[missing-attribute]
        return from_open_clip(self.model, tokenizer, self.dtype)

    @cached_property
    def padded(self) -> PaddedText:
        reader: Any = self.reader
        tower = getattr(self.model, "text", self.model)
        embedding = next(m for m in tower.modules() if isinstance(m, nn.Embedding))
        return PaddedText(
            self.model.encode_text,
            partial(whole_text, around=self.around, context=reader.context),
            embedding,
            len(self.around[0]),
            reader.context,
            int(embedding.embedding_dim),
        )

    def pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        return torch.stack([self.preprocess(image) for image in images])

    def encode_pixels(self, pixels: torch.Tensor) -> list[ImageState]:
        return list(self.model.encode_image(pixels, normalize=True).float().cpu())


def whole_text(tokens: Tokens, around: tuple[list[int], list[int], int], context: int) -> list[int]:
    """All ids of a text, padding included. `around`: of `_around`."""
    before, after, filler = around
    ids = [*before, *tokens[: context - len(before) - len(after)], *after]
    return padded_to(ids, context, filler)


def _around(reader: Any, strips_end: bool) -> tuple[list[int], list[int], int]:
    """The ids that the tokenizer puts before and after a caption's own, and its padding id.

    `strips_end`: whether open_clip replaces the separator by 0."""
    tokenizer = reader.tokenizer
    if isinstance(reader, BytePairReader):
        return [int(tokenizer.sot_token_id)], [int(tokenizer.eot_token_id)], 0
    letter = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = whole.index(letter[0])
    after = whole[start + len(letter) :]
    if strips_end:
        after = [0 if token == tokenizer.sep_token_id else token for token in after]
    return whole[:start], after, int(tokenizer.pad_token_id or 0)


@torch.inference_mode(False)
def from_open_clip(model: Any, tokenizer: Any, dtype: torch.dtype) -> CausalText | None:
    """The text tower for prefix sharing; None if it is not of CLIP's architecture."""
    tower = getattr(model, "text", model)
    blocks = getattr(getattr(tower, "transformer", None), "resblocks", None)
    plain = (
        blocks is not None
        and getattr(tower, "attn_mask", None) is not None
        and getattr(tower, "cls_emb", None) is None
        and getattr(tower, "pool_type", getattr(tower, "text_pool_type", "")) in ("argmax", "eos")
        and isinstance(tower.text_projection, (nn.Linear, torch.Tensor))
        and hasattr(tokenizer, "eot_token_id")
        and all(type(block).__name__ == "ResidualAttentionBlock" for block in blocks)
        and all(isinstance(block.ls_1, nn.Identity) for block in blocks)
        and all(type(block.mlp.gelu).__name__ in _ACTIVATIONS for block in blocks)
    )
    if not plain:
        return None
    assert blocks is not None
    projection = tower.text_projection
    if isinstance(projection, nn.Linear):
        if projection.bias is not None:
            return None
        projection = projection.weight.T
    return CausalText(
        token_table=tower.token_embedding.weight.detach(),
        position_table=tower.positional_embedding.detach(),
        layers=[
            CausalLayer(
                norm(block.ln_1, dtype),
                Affine(block.attn.in_proj_weight.detach().to(dtype),
                       block.attn.in_proj_bias.detach().to(dtype)),
                affine(block.attn.out_proj, dtype=dtype),
                norm(block.ln_2, dtype),
                affine(block.mlp.c_fc, dtype=dtype),
                affine(block.mlp.c_proj, dtype=dtype),
            )
            for block in blocks
        ],
        last_norm=norm(tower.ln_final, dtype),
        projection=projection.detach().float().contiguous(),
        heads=int(blocks[0].attn.num_heads),
        activation=_ACTIVATIONS[type(blocks[0].mlp.gelu).__name__],
        begin=int(tokenizer.sot_token_id),
        end=int(tokenizer.eot_token_id),
        dtype=dtype,
    )  # fmt: skip


_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "GELU": F.gelu,
    "QuickGELU": quick_gelu,
}


def reader_of(tokenizer: Any, context: int) -> Any:
    """The reader for a tokenizer from `open_clip.get_tokenizer`."""
    if hasattr(tokenizer, "encoder"):
        return BytePairReader(tokenizer, context)
    inner = tokenizer.tokenizer
    special = int(inner.num_special_tokens_to_add())
    return HubReader(inner, context, len(inner), special, tokenizer.clean_fn)


@dataclass(frozen=True)
class Files:
    """What open_clip is to load, all of it on this machine.

    `architecture`: the name of one of its configurations, or local-dir:FOLDER; `text`: the
    configuration of the text tower; `folder`: of the weights' repository, if they are from the
    hub; `options`: further arguments of `create_model_and_transforms`."""

    architecture: str
    text: dict[str, Any]
    folder: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)


def load_open_clip(request: Request) -> OpenClipScorer:
    """The open_clip model of that name. Raises as `load_scorer` does."""
    import open_clip

    name, _, device, precision = request
    try:
        with hub.failures_explained("The model", name.rpartition("@")[2], ADVICE):
            files = files_of(name)
            model, _, preprocess = open_clip.create_model_and_transforms(
                files.architecture, device="cpu", **files.options
            )
            tokenizer = _tokenizer(files)
    except (ModelMismatch, ModelMissing):
        raise
    except ModelUnavailable as problem:
        raise ModelUnavailable(f"'{name}': {problem}") from problem
    context = int(tokenizer.context_length)  # text towers of transformers have positions for more
    reader = reader_of(tokenizer, context)
    around = _around(reader, getattr(tokenizer, "strip_sep_token", False))
    _check(name, model, tokenizer, reader, preprocess)
    texts = list(PROBES)
    reading = [whole_text(tokens, around, context) for tokens in reader.tokenise(texts)]
    check_ids(name, reading, tokenizer(texts, context_length=context).tolist())
    info = ScorerInfo(
        kind="open-clip",
        model=name,
        revision=weights_digest(model),
        device=device,
        precision=precision,
    )
    return OpenClipScorer(info, model.eval().to(device), reader, preprocess, around)


def files_of(model: str) -> Files:
    """The files of the open_clip model of that name. By name open_clip itself would query the hub
    at each load, so it is given files. Raises ModelMissing, ModelMismatch or ModelUnavailable."""
    import open_clip

    architecture, _, tag = model.removeprefix(PREFIX).partition("@")
    if architecture.startswith(("hf-hub:", "local-dir:")):
        place = architecture.partition(":")[2]
        folder = Path(place) if architecture.startswith("local-dir:") else _snapshot(model, place)
        if _weights_in(folder, OPEN_CLIP_WEIGHTS) is None:
            raise _missing(model, place)
        towers = json.loads((folder / "open_clip_config.json").read_text("utf-8"))["model_cfg"]
        if ":" in str(towers["vision_cfg"].get("timm_model_name", "")):
            # timm would take it for a folder of this machine, or a model to download.
            raise ModelUnavailable("its configuration names a picture tower elsewhere.")
        return _with_text_tower(Files(f"local-dir:{folder}", towers["text_cfg"], folder))
    configuration = open_clip.get_model_config(architecture)
    if configuration is None:
        raise ModelUnavailable(f"open_clip has no architecture '{architecture}'. {ADVICE}")
    text, settings = configuration["text_cfg"], open_clip.get_pretrained_cfg(architecture, tag)
    if settings:
        name, file = os.path.split(settings["hf_hub"])  # OWNER/NAME/ or OWNER/NAME/FILE
        folder = _snapshot(model, name)
        choices = (file.replace(".bin", ".safetensors"), file) if file else OPEN_CLIP_WEIGHTS
        weights = _weights_in(folder, choices)
        if weights is None:
            raise _missing(model, name)
        options = {
            "pretrained": str(weights),
            "image_mean": settings["mean"], "image_std": settings["std"],
            "image_interpolation": settings["interpolation"],
            "image_resize_mode": settings["resize_mode"],
        }  # fmt: skip
        return _with_text_tower(Files(architecture, text, folder, options))
    if not tag:
        tags = ", ".join(open_clip.list_pretrained_tags_by_model(architecture)) or "none"
        raise ModelMismatch(
            f"'{model}' names no weights. Add @ and a tag ({tags}) or a file of weights."
        )
    if not Path(tag).is_file():
        raise ModelUnavailable(f"There is no file '{tag}' (of '{model}'). {ADVICE}")
    return _with_text_tower(Files(architecture, text, None, {"pretrained": tag}))


def _with_text_tower(files: Files) -> Files:
    """A text tower of transformers is configured from a local folder, without weights of its
    own. Raises ModelMissing."""
    name = files.text.get("hf_model_name")
    if not name:
        return files
    folder = name if Path(name).is_dir() else str(_snapshot(name, name))
    text = {**files.text, "hf_model_name": folder, "hf_model_pretrained": False}
    return replace(files, options={**files.options, "text_cfg": text})


#: What a configuration may say about its tokenizer. Others would be options of transformers, such
#: as the permission to run the code beside it.
_TOKENIZER_OPTIONS = ("clean", "strip_sep_token", "language")


def _tokenizer(files: Files) -> Any:
    """open_clip's tokenizer for these files. Raises ModelMissing."""
    import open_clip
    from open_clip.tokenizer import HFTokenizer

    name = files.text.get("hf_tokenizer_name")
    if not name:
        return open_clip.get_tokenizer(files.architecture)
    beside = files.folder is not None and (files.folder / "tokenizer_config.json").is_file()
    folder = name if Path(name).is_dir() else files.folder if beside else _snapshot(name, name)
    return HFTokenizer(
        str(folder),
        context_length=files.text.get("context_length", open_clip.tokenizer.DEFAULT_CONTEXT_LENGTH),
        tokenizer_mode=files.text.get("tokenizer_mode"),
        local_files_only=True,
        **{
            name: value for name, value in files.text.get("tokenizer_kwargs", {}).items()
            if name in _TOKENIZER_OPTIONS
        },
    )  # fmt: skip


def _snapshot(model: str, name: str) -> Path:
    """The downloaded repository `name` of `model`. Raises ModelMissing."""
    folder = snapshot_of(name)
    if folder is None:
        raise _missing(model, name)
    return folder


def _missing(model: str, name: str) -> ModelMissing:
    return ModelMissing(
        f"The weights of '{model}' ({name}) have not been downloaded.", asked_for_as(model)
    )


def _weights_in(folder: Path, files: Sequence[str]) -> Path | None:
    """The first of these files that exists."""
    return next((folder / file for file in files if (folder / file).is_file()), None)


def hub_name_of(model: str) -> str:
    """The hub repository of the weights that a model's tag names; "" if there is none.

    >>> hub_name_of("open_clip:ViT-B-32@laion2b_s34b_b79k"), hub_name_of("open_clip:ViT-B-32")
    ('laion/CLIP-ViT-B-32-laion2B-s34B-b79K', '')
    """
    import open_clip

    architecture, _, tag = model.removeprefix(PREFIX).partition("@")
    settings = open_clip.get_pretrained_cfg(architecture, tag) if tag else {}
    return os.path.split(settings.get("hf_hub", ""))[0]  # OWNER/NAME/ or OWNER/NAME/FILE


def _check(model: str, network: Any, tokenizer: Any, reader: Any, preprocess: Any) -> None:
    """Raises ModelMismatch if tokenizer or preprocessing do not fit the model."""
    text = getattr(network, "text", network)
    table = next(m for m in text.modules() if isinstance(m, torch.nn.Embedding))
    rows = int(getattr(network, "vocab_size", 0) or table.num_embeddings)
    if isinstance(reader, HubReader):
        check_tokenizer(model, tokenizer.tokenizer, rows)
    elif reader.vocabulary != rows:
        raise ModelMismatch(
            f"The tokenizer of '{model}' has {reader.vocabulary:,} tokens, the model {rows:,}."
        )
    size = network.visual.image_size
    height = size[0] if isinstance(size, (tuple, list)) else size
    check_pixels(model, preprocess(probe())[None].numpy(), int(height))


FAMILY = Family(
    ("open-clip",),
    load_open_clip,
    named=lambda model: model.startswith(PREFIX),
    embedding="open-clip",
)
