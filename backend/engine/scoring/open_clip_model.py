"""open_clip: any architecture with a pretrained tag or a weights file.

Named `open_clip:ARCHITECTURE@PRETRAINED`, such as `open_clip:ViT-B-32@laion2b_s34b_b79k`,
`open_clip:ViT-B-32@/path/weights.pt`, or `open_clip:hf-hub:ORGANISATION/NAME`. Text towers of
CLIP's architecture share prefixes as `CLIPModel`'s does; others read padded texts.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F  # noqa: N812

from backend.engine import hub
from backend.engine.hub_cache import commit_of
from backend.engine.model_fit import check_pixels, check_tokenizer, probe
from backend.engine.scoring.checkpoints import ADVICE, Family, Request
from backend.engine.scoring.clip import open_causal_session
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.protocol import BoolArray, ImageState, ScorerInfo, Session, Tokens
from backend.engine.scoring.revision import weights_digest
from backend.engine.scoring.tokens import HubReader, is_word, words_within
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

    def spans(self, caption: str) -> list[tuple[int, int]]:
        """Found by searching the caption for each token in turn: the tokenizer has no offsets."""
        (tokens,) = self.tokenise([caption])
        lower, place, spans = caption.lower(), 0, []
        for token in tokens:
            piece = self.decode((token,))
            start = lower.find(piece, place) if piece else -1
            if start < 0:  # removed or altered by the tokenizer's cleaning: an empty span
                spans.append((place, place))
                continue
            place = start + len(piece)
            spans.append((start, place))
        return spans

    def decode(self, tokens: Tokens) -> str:
        return str(self.tokenizer.decode(list(tokens))).strip()

    def words_read(self, caption: str) -> int:
        return words_within(caption, self.spans(caption), self.context - 2)

    def replaceable(self, whole_words: bool) -> BoolArray:
        allowed = np.zeros(self.vocabulary, np.bool_)
        special = set(self.tokenizer.all_special_ids)
        for token, number in self.tokenizer.encoder.items():
            if number not in special:
                allowed[number] = not whole_words or is_word(token, "</w>")
        return allowed


@dataclass
class OpenClipScorer(DualEncoder):
    """An open_clip model. An image's state is its unit embedding, shape [d]."""

    preprocess: Callable[[Image.Image], torch.Tensor]

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
        around = _around(reader)

        def whole(tokens: Tokens) -> Sequence[int]:
            before, behind, filler = around
            ids = [*before, *tokens[: reader.context - len(before) - len(behind)], *behind]
            return padded_to(ids, reader.context, filler)

        return PaddedText(
            self.model.encode_text, whole, embedding, len(around[0]), reader.context,
            int(embedding.embedding_dim),
        )  # fmt: skip

    def pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        return torch.stack([self.preprocess(image) for image in images])

    def _see(self, pixels: torch.Tensor) -> list[ImageState]:
        return list(self.model.encode_image(pixels, normalize=True).float().cpu())


def _around(reader: Any) -> tuple[list[int], list[int], int]:
    """The ids that the tokenizer puts before and after a caption's own, and its padding id."""
    tokenizer = reader.tokenizer
    if isinstance(reader, BytePairReader):
        return [int(tokenizer.sot_token_id)], [int(tokenizer.eot_token_id)], 0
    letter = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = whole.index(letter[0])
    return whole[:start], whole[start + len(letter) :], int(tokenizer.pad_token_id or 0)


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
    return HubReader(inner, context, len(inner))


def load_open_clip(request: Request) -> OpenClipScorer:
    """The open_clip model of that name. Raises as `load_scorer` does."""
    import open_clip

    model, _, device, precision = request
    architecture, _, pretrained = model.removeprefix(PREFIX).partition("@")
    known = open_clip.list_pretrained_tags_by_model(architecture)
    is_path = bool(Path(pretrained).suffix) and pretrained not in known
    if is_path and not Path(pretrained).is_file():
        raise ModelUnavailable(f"There is no file '{pretrained}' (of '{model}'). {ADVICE}")
    if not is_path:
        _check_downloaded(model, architecture, pretrained)
    try:
        with hub.explained("The model", pretrained or model, ADVICE), _without_network():
            loaded, _, preprocess = open_clip.create_model_and_transforms(
                architecture, pretrained=pretrained or None, device="cpu"
            )
            tokenizer = open_clip.get_tokenizer(architecture)
    except ModelMismatch:
        raise
    except ModelUnavailable as problem:
        raise ModelUnavailable(f"'{model}': {problem}") from problem
    if not pretrained and "hf-hub:" not in architecture and "local-dir:" not in architecture:
        known = ", ".join(open_clip.list_pretrained_tags_by_model(architecture)) or "none"
        raise ModelMismatch(
            f"'{model}' names no weights. Add @ and a tag ({known}) or a file of weights."
        )
    context = int(getattr(loaded, "context_length", None) or loaded.text.context_length)
    reader = reader_of(tokenizer, context)
    _check(model, loaded, tokenizer, reader, preprocess)
    info = ScorerInfo(
        kind="open-clip",
        model=model,
        revision=weights_digest(loaded),
        device=device,
        context_words_note=f"at most {context} tokens; the rest of a caption is not read",
        precision=precision,
    )
    return OpenClipScorer(info, loaded.eval().to(device), reader, preprocess)


def hub_name_of(model: str) -> str:
    """The hub repository of an open_clip model; "" if there is none.

    >>> hub_name_of("open_clip:hf-hub:timm/ViT-B-16-SigLIP")
    'timm/ViT-B-16-SigLIP'
    """
    import open_clip

    architecture, _, tag = model.removeprefix(PREFIX).partition("@")
    if architecture.startswith("hf-hub:"):
        return architecture.removeprefix("hf-hub:")
    known = open_clip.get_pretrained_cfg(architecture, tag) if tag else {}
    return os.path.split(known.get("hf_hub", ""))[0]  # OWNER/NAME/ or OWNER/NAME/FILE


def _check_downloaded(model: str, architecture: str, pretrained: str) -> None:
    """Raises ModelMissing if open_clip would have to download the weights."""
    name = hub_name_of(f"{PREFIX}{architecture}@{pretrained}")
    if name and not commit_of(name):
        raise ModelMissing(f"The weights of '{model}' ({name}) have not been downloaded.", model)


@contextmanager
def _without_network() -> Iterator[None]:
    """Restricts open_clip to local files; by default every load queries the hub for updates."""
    import open_clip.pretrained as library

    real = library.hf_hub_download, library.download_pretrained_from_url
    library.hf_hub_download = partial(real[0], local_files_only=True)
    library.download_pretrained_from_url = _downloaded_before
    try:
        yield
    finally:
        library.hf_hub_download, library.download_pretrained_from_url = real


def _downloaded_before(url: str, cache_dir: str | None = None) -> str:
    """open_clip's cached download of `url`. Raises ModelUnavailable if there is none."""
    folder = Path(cache_dir or Path.home() / ".cache" / "clip")
    path = folder / Path(url).name
    if not path.is_file():
        raise ModelUnavailable(f"'{path}' does not exist. Download {url} and put the file there.")
    return str(path)


def _check(model: str, loaded: Any, tokenizer: Any, reader: Any, preprocess: Any) -> None:
    """Raises ModelMismatch if tokenizer or preprocessing do not fit the model."""
    text = getattr(loaded, "text", loaded)
    table = next(m for m in text.modules() if isinstance(m, torch.nn.Embedding))
    rows = int(getattr(loaded, "vocab_size", 0) or table.num_embeddings)
    if isinstance(reader, HubReader):
        check_tokenizer(model, tokenizer.tokenizer, rows)
    elif reader.vocabulary != rows:
        raise ModelMismatch(
            f"The tokenizer of '{model}' has {reader.vocabulary:,} tokens, the model {rows:,}."
        )
    size = loaded.visual.image_size
    height = size[0] if isinstance(size, (tuple, list)) else size
    check_pixels(model, preprocess(probe())[None].numpy(), int(height))


FAMILY = Family(
    ("open-clip",),
    load_open_clip,
    named=lambda model: model.startswith(PREFIX),
    embedding="open-clip",
)
