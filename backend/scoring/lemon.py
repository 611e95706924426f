"""LEMoN: do a pair's neighbours say the same? (Zhang et al. 2024, arXiv 2407.18941)

On top of any scorer that embeds images and captions. With cosine distances d_X between images, d_Y
between captions and d_mm between an image and a caption, and the dataset's other pairs (x_j, y_j):

    d_1 = d_mm(x, y)
    d_n = mean over x's k nearest images of
          d_Y(y, y_j) · exp(-τ1n d_X(x, x_j) - τ2n d_mm(x_j, y_j))
    d_m = mean over y's k nearest captions of
          d_X(x, x_j) · exp(-τ1m d_Y(y, y_j) - τ2m d_mm(x_j, y_j))

and s = -(d_1 + β d_n + γ d_m): higher is better, as everywhere here. A pair is never its own
neighbour. Along a trajectory the image stays, so its neighbours are found once; a candidate's
nearest captions are found for each candidate.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from backend.errors import ModelMismatch, SettingsError
from backend.scoring.cosine import CosineSession, gains_of
from backend.scoring.dual_encoder import DualEncoder
from backend.scoring.protocol import (
    FloatArray,
    ImageState,
    ScorerInfo,
    Session,
    TokenReader,
    Tokens,
)
from backend.scoring.work import Work


@dataclass(frozen=True)
class LemonParameters:
    """k and the six weights. The defaults are LEMoN_FIX; LEMoN_OPT fits the six to labels."""

    neighbours: int = 30
    beta: float = 5.0
    gamma: float = 5.0
    tau_1n: float = 0.1
    tau_2n: float = 5.0
    tau_1m: float = 0.1
    tau_2m: float = 5.0

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


class NeighbourBank:
    """The dataset's pairs as unit vectors, searched exactly (faiss, inner product).

    `images` and `captions`: shape [pairs, d]; `keys`: what each pair is called outside, ascending.
    """

    def __init__(self, keys: Sequence[int], images: FloatArray, captions: FloatArray) -> None:
        import faiss

        self.keys = np.asarray(keys, np.int64)
        if np.any(np.diff(self.keys) <= 0):
            raise ValueError("keys must be ascending, each of them once")
        self.images = np.ascontiguousarray(images, np.float32)
        self.captions = np.ascontiguousarray(captions, np.float32)
        self.mismatch = 1 - (self.images * self.captions).sum(1)  #: d_mm of every pair
        self._by_image = faiss.IndexFlatIP(images.shape[1])
        self._by_caption = faiss.IndexFlatIP(captions.shape[1])
        self._by_image.add(self.images)
        self._by_caption.add(self.captions)

    def __len__(self) -> int:
        return len(self.keys)

    def row_of(self, key: int) -> int:
        """The pair's row, -1 if it is not among them."""
        row = int(np.searchsorted(self.keys, key))
        return row if row < len(self.keys) and self.keys[row] == key else -1

    def near_images(self, vectors: FloatArray, count: int, own: Sequence[int]) -> NDArray[np.int64]:
        """Rows of the nearest images, nearest first, without row own[i]; [n, ≤ count]."""
        return self._near(self._by_image, vectors, count, own)

    def near_captions(
        self, vectors: FloatArray, count: int, own: Sequence[int]
    ) -> NDArray[np.int64]:
        return self._near(self._by_caption, vectors, count, own)

    def _near(
        self, index: Any, vectors: FloatArray, count: int, own: Sequence[int]
    ) -> NDArray[np.int64]:
        most = min(count, len(self) - 1)
        _, found = index.search(np.ascontiguousarray(vectors, np.float32), most + 1)
        own_row = np.asarray(own, np.int64)[:, None]
        # The pair itself moves to the end, then the last of each row is left out.
        order = np.argsort(found == own_row, axis=1, kind="stable")
        rows: NDArray[np.int64] = np.take_along_axis(found, order, 1)[:, :most]
        return rows


@dataclass(frozen=True)
class LemonState:
    """An image's vector [d], its pair's row in the bank (-1: none), its nearest images' rows."""

    vector: torch.Tensor
    own: int
    near: NDArray[np.int64]


@dataclass
class LemonScorer:
    """LEMoN on top of `base`, whose states must be embeddings. Needs a bank before it scores."""

    base: DualEncoder
    parameters: LemonParameters
    bank: NeighbourBank | None = None
    prepared_for: tuple[int, int] | None = None  #: (dataset, its pairs) that the bank holds

    def __post_init__(self) -> None:
        if self.base.info.kind == "blip-itm":
            raise ModelMismatch("LEMoN needs embeddings; with BLIP, build it on blip-itc.")

    @cached_property
    def info(self) -> ScorerInfo:
        return replace(self.base.info, kind="lemon")

    @property
    def reader(self) -> TokenReader:
        return self.base.reader

    def neighbours(self) -> NeighbourBank:
        """The bank. Raises SettingsError if there is none, or too small a one."""
        if self.bank is None or len(self.bank) < 3:
            raise SettingsError(
                "LEMoN compares a pair with the others of its dataset, and there are none (or too "
                "few) here. Score a dataset with it: python app.py score DATASET --scorer lemon."
            )
        return self.bank

    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        return [self._state(vector, -1) for vector in self.base.encode_images(images)]

    def of_pair(self, state: LemonState, key: int) -> LemonState:
        """The same image as part of a pair that is in the bank: not its own neighbour."""
        return self._state(state.vector, self.neighbours().row_of(key))

    def image_embeddings(self, states: Sequence[LemonState]) -> FloatArray | None:
        return self.base.image_embeddings([state.vector for state in states])

    def _state(self, vector: torch.Tensor, own: int) -> LemonState:
        near = np.zeros((1, 0), np.int64)
        if self.bank is not None:
            count = self.parameters.neighbours
            near = self.bank.near_images(vector.numpy()[None], count, [own])
        return LemonState(vector, own, near[0])

    def open_session(self) -> Session:
        session = self.base.open_session()
        assert isinstance(session, CosineSession)
        return LemonSession(session, self.neighbours(), self.parameters)

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        session = self.open_session()
        return session.score(
            [(state, self.reader.tokenise(captions)) for state, captions in requests]
        )

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        return self.base.text_embeddings(captions)


class LemonSession:
    def __init__(
        self, session: CosineSession, bank: NeighbourBank, parameters: LemonParameters
    ) -> None:
        self._session = session
        self._bank = bank
        self._parameters = parameters

    @property
    def work(self) -> Work:
        return self._session.work

    @property
    def embedding_work(self) -> Work:
        return self._session.embedding_work

    @property
    def live(self) -> int:
        return self._session.live

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        return self._session.embed(texts)

    def score(self, requests: Sequence[tuple[LemonState, Sequence[Tokens]]]) -> list[FloatArray]:
        # The base learns all candidates in one call; its cosines are d_1 and not needed again.
        self._session.score([(state.vector, texts) for state, texts in requests])
        found = []
        for state, texts in requests:
            if not texts:
                found.append(np.zeros(0, np.float32))
                continue
            vectors = self._session.embed(texts)
            near = self._near_captions(vectors, state)
            scores = lemon_scores(
                torch.from_numpy(vectors), state, near, self._bank, self._parameters
            )
            found.append(scores.numpy().astype(np.float32))
        return found

    def replacement_gains(self, requests: Sequence[tuple[LemonState, Tokens]]) -> list[FloatArray]:
        """With the neighbours of the text as it is: which they are has no gradient."""
        with torch.enable_grad():
            vectors, leaves, table = self._session.vectors_with_gradients(
                [text for _, text in requests]
            )
            total = torch.zeros(())
            for row, (state, _) in enumerate(requests):
                vector = vectors[row : row + 1].cpu()
                near = self._near_captions(vector.detach().numpy(), state)
                total = (
                    total + lemon_scores(vector, state, near, self._bank, self._parameters).sum()
                )
            return gains_of(total, leaves, table)

    def _near_captions(self, vectors: FloatArray, state: LemonState) -> NDArray[np.int64]:
        own = [state.own] * len(vectors)
        return self._bank.near_captions(vectors, self._parameters.neighbours, own)


def lemon_scores(
    captions: torch.Tensor,
    state: LemonState,
    near_captions: NDArray[np.int64],
    bank: NeighbourBank,
    parameters: LemonParameters,
) -> torch.Tensor:
    """s of captions [n, d] for one image; near_captions: [n, k]. Shape [n]."""
    p = parameters
    image = state.vector.clone()
    d_1 = 1 - captions @ image
    image_gap = 1 - torch.from_numpy(bank.images[state.near]) @ image
    image_weight = torch.exp(
        -p.tau_1n * image_gap - p.tau_2n * torch.from_numpy(bank.mismatch[state.near])
    )
    d_n = ((1 - captions @ torch.from_numpy(bank.captions[state.near]).T) * image_weight).mean(1)
    near = torch.from_numpy(bank.captions[near_captions])
    caption_gap = 1 - (near * captions[:, None]).sum(2)
    caption_weight = torch.exp(
        -p.tau_1m * caption_gap - p.tau_2m * torch.from_numpy(bank.mismatch[near_captions])
    )
    d_m = ((1 - torch.from_numpy(bank.images[near_captions]) @ image) * caption_weight).mean(1)
    return -(d_1 + p.beta * d_n + p.gamma * d_m)
