"""LEMoN: is a pair consistent with its neighbours? (Zhang et al. 2024, arXiv 2407.18941)

Built on any scorer that embeds images and captions. With distances d_X between images, d_Y between
captions and d_mm between an image and a caption, and the neighbours' pairs (x_j, y_j):

    d_1 = d_mm(x, y)
    d_n = mean over x's k nearest images of
          d_Y(y, y_j) · exp(-τ1n D_X(x, x_j) - τ2n d_mm(x_j, y_j))
    d_m = mean over y's k nearest captions of
          d_X(x, x_j) · exp(-τ1m D_Y(y, y_j) - τ2m d_mm(x_j, y_j))

and s = -(d_1 + β d_n + γ d_m): higher is better, as for all scorers. As in the authors' code
(github.com/MLforHealth/LEMoN), D = -cos in the weights where d = 1 - cos, which the published
hyperparameters assume, and neighbours come from the training part of a dataset that has one.
A pair is never its own neighbour. The image is fixed along a trajectory, so its neighbours are
found once; the nearest captions are found for each candidate.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from backend.engine.scoring.cosine import CosineSession, gains_of
from backend.engine.scoring.dual_encoder import DualEncoder, EmbeddingScore
from backend.engine.scoring.forwarding import ForwardingSession
from backend.engine.scoring.protocol import (
    FloatArray,
    ImageState,
    InSessions,
    PairSource,
    ScorerInfo,
    Session,
    Tokens,
)
from backend.errors import ModelMismatch, SettingsError
from backend.features.lemon.lemon_fit import (
    OBJECTIVES,
    LabelledPairs,
    LemonParameters,
    NeighbourBank,
)


@dataclass(frozen=True)
class LemonState:
    """An image's vector [d], its pair's row in the bank (-1: none), the nearest images' rows
    [k]."""

    vector: torch.Tensor
    own_row: int
    near: NDArray[np.int64]


@dataclass
class LemonScorer(InSessions):
    """LEMoN built on `base`, whose states must be embeddings. Requires a bank before scoring."""

    base: DualEncoder
    parameters: LemonParameters = field(default_factory=LemonParameters)
    bank: NeighbourBank | None = None
    _prepared_for: Hashable = None  #: `identity` of the pairs in the bank

    def __post_init__(self) -> None:
        if self.base.info.kind == "blip-itm":
            raise ModelMismatch("LEMoN needs embeddings; with BLIP, build it on blip-itc.")
        self._unfitted, self.reader = self.parameters, self.base.reader

    @property
    def info(self) -> ScorerInfo:
        return replace(
            self.base.info,
            kind="lemon",
            parameters={**self.base.info.parameters, **self.parameters.as_dict()},
            compares_pairs=True,
        )

    def neighbours(self) -> NeighbourBank:
        """The bank. Raises SettingsError if there is none, or if it has fewer than 3 pairs."""
        if self.bank is None or len(self.bank) < 3:
            raise SettingsError(
                "LEMoN compares a pair with the others in its dataset, and here there are none, or "
                "too few.",
                terminal="Score a dataset with it: python app.py score DATASET --scorer lemon.",
                page="Choose another model.",
            )
        return self.bank

    def prepare(self, pairs: PairSource) -> None:
        """Index all pairs as neighbours, and fit the parameters if labels are given.

        Raises TrainingError if there are too few labels.
        """
        if self._prepared_for == pairs.identity:
            return
        base = self.base.info
        parts = list(pairs.vectors(f"{base.kind}-{base.revision}", self._embed))
        keys = np.array([key for part, _, _ in parts for key in part], np.int64)
        if not len(keys):
            return
        images = np.concatenate([part[1] for part in parts])
        captions = np.concatenate([part[2] for part in parts])
        training = pairs.training_keys()
        rows = np.arange(len(keys)) if training is None else np.flatnonzero(np.isin(keys, training))
        self.bank = NeighbourBank(keys[rows].tolist(), images[rows], captions[rows])
        labels = pairs.labels()
        if labels is None:
            self.parameters = self._unfitted
        else:
            is_labelled = np.isin(
                keys, list(labels)
            )  # pairs whose image cannot be read have no vectors
            self.parameters = OBJECTIVES[pairs.objective](
                self.neighbours(),
                LabelledPairs(
                    keys[is_labelled], images[is_labelled], captions[is_labelled],
                    np.array([labels[key] for key in keys[is_labelled].tolist()], np.bool_),
                ),
                self._unfitted,
            )  # fmt: skip
        self._prepared_for = pairs.identity

    def _embed(
        self, images: Sequence[Image.Image], captions: Sequence[str]
    ) -> tuple[FloatArray, FloatArray]:
        texts = self.base.text_embeddings(captions)
        vectors = self.base.image_embeddings(self.base.encode_images(images))
        return texts[:0] if vectors is None else vectors, texts

    @property
    def prepared(self) -> tuple[NeighbourBank, LemonParameters]:
        return self.neighbours(), self.parameters

    def take_over(self, preparation: tuple[NeighbourBank, LemonParameters]) -> None:
        self.bank, self.parameters = preparation

    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        return [self._state(vector, -1) for vector in self.base.encode_images(images)]

    def of_pair(self, state: LemonState, key: int) -> LemonState:
        """The state as pair `key` of the bank, which is then excluded from its own neighbours."""
        return self._state(state.vector, self.neighbours().row_of(key))

    def image_embeddings(self, states: Sequence[LemonState]) -> FloatArray | None:
        return self.base.image_embeddings([state.vector for state in states])

    def _state(self, vector: torch.Tensor, own_row: int) -> LemonState:
        near = np.zeros((1, 0), np.int64)
        if self.bank is not None:
            count = self.parameters.neighbours
            near = self.bank.near_images(vector.numpy()[None], count, [own_row])
        return LemonState(vector, own_row, near[0])

    def open_session(self) -> Session:
        session = self.base.open_session()
        assert isinstance(session, CosineSession)
        return LemonSession(session, self.neighbours(), self.parameters)


class LemonSession(ForwardingSession):
    def __init__(
        self, session: CosineSession, bank: NeighbourBank, parameters: LemonParameters
    ) -> None:
        super().__init__(session)
        self._cosines = session
        self._bank = bank
        self._parameters = parameters

    def score(self, requests: Sequence[tuple[LemonState, Sequence[Tokens]]]) -> list[FloatArray]:
        # Embeds all candidates in one call of the base session; its cosines are discarded.
        self._cosines.score([(state.vector, texts) for state, texts in requests])
        similarities = []
        for state, texts in requests:
            if not texts:
                similarities.append(np.zeros(0, np.float32))
                continue
            vectors = self.embed(texts)
            near = self._near_captions(vectors, state)
            scores = lemon_scores(
                torch.from_numpy(vectors), state, near, self._bank, self._parameters
            )
            similarities.append(scores.numpy().astype(np.float32))
        return similarities

    def replacement_gains(self, requests: Sequence[tuple[LemonState, Tokens]]) -> list[FloatArray]:
        """Gains with the neighbours held fixed: their selection is not differentiable."""
        with torch.enable_grad():
            vectors, leaves, table = self._cosines.vectors_with_gradients(
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
        own_rows = [state.own_row] * len(vectors)
        return self._bank.near_captions(vectors, self._parameters.neighbours, own_rows)


def lemon_scores(
    captions: torch.Tensor,
    state: LemonState,
    near_captions: NDArray[np.int64],
    bank: NeighbourBank,
    parameters: LemonParameters,
) -> torch.Tensor:
    """s of captions [n, d] for one image, in double precision; near_captions: [n, k]. Shape [n]."""
    p = parameters

    def of_bank(vectors: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(vectors).double()

    # In double precision: exponents of τ up to 20 would magnify rounding errors.
    captions, image = captions.double(), state.vector.double()
    d_1 = p.distance(captions @ image)
    image_weight = torch.exp(
        -p.tau_1n * p.gap(of_bank(bank.images[state.near]) @ image)
        - p.tau_2n * p.distance(of_bank(bank.matches[state.near]))
    )
    caption_distances = p.distance(captions @ of_bank(bank.captions[state.near]).T)
    d_n = (caption_distances * image_weight).mean(1)
    near = of_bank(bank.captions[near_captions])
    caption_weight = torch.exp(
        -p.tau_1m * p.gap((near * captions[:, None]).sum(2))
        - p.tau_2m * p.distance(of_bank(bank.matches[near_captions]))
    )
    image_distances = p.distance(of_bank(bank.images[near_captions]) @ image)
    d_m = (image_distances * caption_weight).mean(1)
    return -(d_1 + p.beta * d_n + p.gamma * d_m)


SCORE = EmbeddingScore("lemon", LemonScorer)
