"""The models of a session, loaded once and used by one thread at a time.

Loading is lazy: the first page is there before the first model is.
"""

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from PIL import Image

from backend import concreteness, memory
from backend.captions import Caption
from backend.concreteness.contributions import Contribution, contributions
from backend.correction.by_language_model import Corrector
from backend.correction.captioner import Captioner, load_captioner
from backend.embeddings import embed
from backend.errors import ModelUnavailable
from backend.language_models import ChatEndpoint, ChatModel, Spending
from backend.scoring.loading import load_scorer
from backend.scoring.protocol import FloatArray, ImageState, Scorer
from backend.settings import Settings
from backend.trajectories.driver import run_trajectories
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import Trajectory


@dataclass
class Engine:
    """Scorer and captioner behind one lock, the small text models behind another.

    Models are not made for several threads, and two of them at once only fight for the same cores:
    whoever holds `lock` computes. What reads text alone (`text_lock`) takes milliseconds and need
    not wait for a batch of trajectories. Nobody who holds `text_lock` asks for `lock`.
    """

    settings: Settings
    lock: threading.RLock = field(default_factory=threading.RLock)
    text_lock: threading.RLock = field(default_factory=threading.RLock)
    _scorer: Scorer | None = None
    _captioner: Captioner | None = None
    _captioner_problem: str = ""
    #: What a corrector's questions have cost, and what they may cost.
    spending: Spending = field(default_factory=Spending)
    _corrector: Corrector | None = None

    def __post_init__(self) -> None:
        memory.keep_little()

    @property
    def scorer(self) -> Scorer:
        """The scorer; raises ModelUnavailable if it cannot be loaded."""
        with self.lock:
            if self._scorer is None:
                self._scorer = load_scorer(
                    self.settings.model,
                    self.settings.kind,
                    self.settings.device,
                    self.settings.precision,
                )
            return self._scorer

    @property
    def exploring(self) -> Exploring:
        """How trajectories are made in this session."""
        return self.settings.exploring

    @property
    def captioner(self) -> Captioner | None:
        """The captioner, or None with `captioner_problem` saying why there is none.

        Suggestions from the trajectory work without it, so a missing captioner stops nothing.
        """
        with self.lock:
            name = self.settings.captioner_model
            if self._captioner is None and name and not self._captioner_problem:
                try:
                    self._captioner = load_captioner(name, self.scorer.info.device)
                except ModelUnavailable as problem:
                    self._captioner_problem = str(problem)
            return self._captioner

    @property
    def corrector(self) -> Corrector | None:
        """The vision-language model that corrects, or None if none is named: nobody is asked
        anything unless a person has said whom. Raises ModelUnavailable."""
        with self.lock:
            if self._corrector is None and self.settings.corrector:
                self._corrector = Corrector(self._language_model(), self.settings.corrector_mode)  # type: ignore[arg-type]  # checked by load_settings
            return self._corrector

    def _language_model(self) -> ChatModel:
        name, answers = str(self.settings.corrector), self.settings.data_directory / "answers"
        if self.settings.corrector_url:
            return ChatEndpoint(
                self.settings.corrector_url, name, cache=answers,
                timeout=self.settings.corrector_timeout, spending=self.spending,
            )  # fmt: skip
        from backend.language_models.local import load_local

        return load_local(
            name, self.scorer.info.device, self.settings.quantise, answers, self.spending  # type: ignore[arg-type]
        )  # fmt: skip

    @property
    def captioner_problem(self) -> str:
        return self._captioner_problem

    def meanings(self, captions: Sequence[str]) -> FloatArray:
        """Sentence embeddings, unit vectors [captions, MEANING_WIDTH]."""
        with self.text_lock:
            return embed(captions)

    def image_embeddings(self, states: Sequence[ImageState]) -> FloatArray | None:
        """Unit vectors [states, d] by which images are compared; None if the scorer has none."""
        with self.lock:
            return self.scorer.image_embeddings(states)

    def concreteness(self, captions: Sequence[str]) -> list[float]:
        """ICC of each caption in [0, 1]; higher is more concrete."""
        with self.text_lock:
            return concreteness.score_captions(list(captions), self.settings.concreteness)

    def why_abstract(self, caption: str) -> tuple[float, tuple[Contribution, ...]]:
        """The caption's ICC, and what each word adds to it."""
        with self.text_lock:
            return contributions(caption, self.settings.concreteness)

    def warm_up(self) -> None:
        """Load what reads text, if it can be loaded; who needs it in earnest is told why not."""
        with contextlib.suppress(ModelUnavailable):
            self.concreteness(["A dog"])

    def trajectories(
        self,
        pairs: Sequence[tuple[ImageState, str]],
        keys: Sequence[int] | None = None,
        exploring: Exploring | None = None,
    ) -> list[Trajectory]:
        """One trajectory per (image state, caption), in order.

        `keys` name the pairs that they belong to, for scorers that compare pairs with each other.
        `exploring`: as this session's settings say, unless a run was made in another way.
        """
        with self.lock:
            if keys is not None:
                states = [self.scorer.of_pair(s, k) for (s, _), k in zip(pairs, keys, strict=True)]
            else:
                states = [state for state, _ in pairs]
            parsed = [
                (state, Caption.parse(caption))
                for state, (_, caption) in zip(states, pairs, strict=True)
            ]
            found = dict(run_trajectories(self.scorer, parsed, exploring or self.exploring))
        memory.give_back()
        return [found[index] for index in range(len(pairs))]

    def encode(self, images: Sequence[Image.Image]) -> list[ImageState]:
        with self.lock:
            return self.scorer.encode_images(images)
