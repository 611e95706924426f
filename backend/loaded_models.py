"""The models of a session, loaded once and used by one thread at a time.

Loading is lazy, including libraries such as torch: the first page is shown before the first model
is loaded. Datasets scored with other models have their own engines in addition to the session's;
all share one cache with least-recently-used eviction.
"""

import contextlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from PIL import Image

from backend import plugins
from backend.engine import memory, threads
from backend.engine.captions import Caption
from backend.engine.claims.claim import Claim
from backend.engine.claims.division import Division
from backend.engine.claims.finding import find_claims
from backend.engine.concreteness.scoring import Contribution, contributions
from backend.engine.constants.part import ConstantPart
from backend.engine.embeddings import embed
from backend.engine.english.phrases import grammar_of
from backend.engine.expectation import Expectation, expectations
from backend.engine.language_models.chat_model import ChatModel
from backend.engine.language_models.spending import Spending
from backend.engine.scoring.cleaning import Reading, parse_reading
from backend.engine.scoring.protocol import FloatArray, ImageState, Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import (
    ModelMissing,
    ModelUnavailable,
    OutOfMemory,
    SettingsError,
    check_model_packages,
)
from backend.settings import Settings

if TYPE_CHECKING:
    from backend.engine.correction.captioner import Captioner


@dataclass(frozen=True)
class ChosenChatModel(ABC):
    """A language model that the settings or a page name, not loaded yet. Equal choices are one
    model, so it has to be hashable."""

    name: str

    @abstractmethod
    def open(self, engine: "Engine") -> ChatModel:
        """Load it, or prepare to ask its server, with the engine's settings, which name the folder
        of its answers, and its spending. Raises ModelUnavailable."""


@dataclass(frozen=True)
class ChatModels:
    """One way to reach language models (plug-ins of the group `chat_models`). `choose(settings)`:
    the model that a session asks, None if nobody names one of these. `page`: the address of the
    page on which one can be named, "" for none."""

    choose: Callable[[Settings], ChosenChatModel | None]
    page: str = ""


def _chosen_chat_model(settings: Settings) -> ChosenChatModel | None:
    choices = (models.choose(settings) for models in plugins.load("chat_models", ChatModels))
    return next((choice for choice in choices if choice is not None), None)


class ModelCache:
    """LRU cache of loaded models. Use with the engines' lock held."""

    def __init__(self, budget: float) -> None:
        """`budget`: bytes of weights to hold; a single model in use may exceed it."""
        self.budget = budget
        self._models: dict[Hashable, tuple[Any, int]] = {}  # least recently used first

    def get(self, key: Hashable, load: Callable[[], Any]) -> Any:
        """The model under `key`, loaded if necessary; evicted models are freed as soon as they are
        no longer in use."""
        if key in self._models:
            self._models[key] = self._models.pop(key)
        else:
            model = load()
            module = getattr(model, "model", None)
            is_shared = module is not None and any(
                getattr(other, "model", None) is module for other, _ in self._models.values()
            )
            self._models[key] = model, 0 if is_shared else bytes_of(model)
            self._let_go(key)
        return self._models[key][0]

    def _let_go(self, newest: Hashable) -> None:
        for key in list(self._models):
            if key == newest or sum(size for _, size in self._models.values()) <= self.budget:
                break
            del self._models[key]
        memory.release(at_once=True)

    def __len__(self) -> int:
        return len(self._models)


def bytes_of(wrapper: Any) -> int:
    """Memory of a model's weights; 0 for one in another process or on a server."""
    model = getattr(wrapper, "model", None)
    for module in (model, getattr(model, "model", None)):
        if callable(parameters := getattr(module, "parameters", None)):
            return sum(weight.numel() * weight.element_size() for weight in parameters())
    return 0


def model_cache_for(settings: Settings) -> ModelCache:
    """A cache of the size in the settings, by default half of this machine's memory."""
    if settings.model_memory is not None:
        return ModelCache(settings.model_memory * 1e9)
    import psutil

    return ModelCache(psutil.virtual_memory().total / 2)


@dataclass
class Engine:
    """Scorer and captioner behind one lock, the small text models behind another.

    Models are not thread-safe, and two of them at once only compete for the same cores: hold `lock`
    to compute. Text models (`text_lock`) take milliseconds and need not wait for a batch of
    trajectories. Never acquire `lock` while holding `text_lock`.
    """

    settings: Settings
    lock: threading.RLock = field(default_factory=threading.RLock)
    text_lock: threading.RLock = field(default_factory=threading.RLock)
    #: Spending on the requests to a language model, and its budget.
    spending: Spending = field(default_factory=Spending)
    model_cache: ModelCache | None = None
    _captioner_problem: str = ""
    _parameters: int | None = None
    _siblings: dict[Settings, "Engine"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        memory.limit_heap()
        self._siblings[self.settings] = self

    def with_settings(self, settings: Settings) -> "Engine":
        """The engine with these settings that shares lock, model cache and spending with this
        one; the same one for the same settings."""
        with self.lock:
            if settings not in self._siblings:
                self._siblings[settings] = Engine(
                    settings, self.lock, self.text_lock, self.spending, self._model_cache,
                    _siblings=self._siblings,
                )  # fmt: skip
            return self._siblings[settings]

    def for_one_job(self, settings: Settings) -> "Engine":
        """Like `with_settings`, but not remembered: for settings of one job, such as its folder."""
        return Engine(settings, self.lock, self.text_lock, self.spending, self._model_cache)

    @property
    def _model_cache(self) -> ModelCache:
        if self.model_cache is None:
            self.model_cache = model_cache_for(self.settings)
        return self.model_cache

    @property
    def scorer(self) -> Scorer:
        """The scorer; raises ModelUnavailable if it cannot be loaded."""
        settings = self.settings
        with self.lock:
            key = ("scorer", settings.model, settings.kind, settings.device, settings.precision,
                   self._reading)  # fmt: skip
            scorer: Scorer = self._model_cache.get(key, self._load_scorer)
            return scorer

    def _load_scorer(self) -> Scorer:
        from backend.engine.scoring.loading import load_scorer

        settings = self.settings
        return load_scorer(
            settings.model, settings.kind, settings.device, settings.precision,
            self._reading,
        )  # fmt: skip

    @cached_property
    def _reading(self) -> Reading:
        """How the scorer reads captions; the same for models that do not differ in it."""
        check_model_packages()
        from backend.engine.scoring.loading import reading_with_effect

        text = self.settings.text
        return reading_with_effect(
            self.settings.model, "as-trained" if text is None else parse_reading(text)
        )

    @property
    def parameters(self) -> int | None:
        """The scorer's number of parameters; None if it runs in a separate process (LAVIS)."""
        model = getattr(self.scorer, "model", None)
        if self._parameters is None and model is not None:
            self._parameters = sum(weight.numel() for weight in model.parameters())
        return self._parameters

    @property
    def is_small(self) -> bool:
        """Whether a second thread, on the CPU, costs the scorer more than it gains."""
        return (
            self.parameters is not None
            and self.parameters < threads.SMALL
            and self.scorer.info.device == "cpu"
        )

    @property
    def exploring(self) -> Exploring:
        """How trajectories are computed in this session."""
        return self.settings.exploring

    @property
    def captioner(self) -> "Captioner | None":
        """The captioner, or None with `captioner_problem` saying why there is none.

        A page works without it; scoring refuses.
        Raises OutOfMemory: what a command computes must not depend on how much memory was free.
        """
        with self.lock:
            name = self.settings.captioner_model
            if not name or self._captioner_problem:
                return None
            from backend.engine.correction.captioner_loading import load_captioner

            device = self.scorer.info.device
            try:
                captioner: Captioner = self._model_cache.get(
                    ("captioner", name, device), lambda: load_captioner(name, device, self.scorer)
                )
            except ModelMissing:
                raise  # requested and available: fail now, instead of silently omitting results
            except ModelUnavailable as problem:
                self._captioner_problem = str(problem)
                return None
            return captioner

    @property
    def chat_model(self) -> ChatModel | None:
        """The language model that this session may ask, or None if none is named: nothing is ever
        sent to a model by default. Raises ModelUnavailable."""
        choice = _chosen_chat_model(self.settings)
        if choice is None:
            if name := self.settings.corrector:
                raise SettingsError(f"Nothing that is installed here asks the model '{name}'.")
            return None
        with self.lock:
            model: ChatModel = self._model_cache.get(
                ("chat model", choice, self.settings.device), lambda: choice.open(self)
            )
            return model

    @property
    def chat_model_name(self) -> str | None:
        """The name of that model; None without one."""
        choice = _chosen_chat_model(self.settings)
        return choice.name if choice is not None else None

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
            from backend.engine.concreteness.scoring import score_captions

            return score_captions(list(captions), self.settings.concreteness)

    def why_abstract(self, caption: str) -> tuple[float, tuple[Contribution, ...]]:
        """The caption's ICC, and the contribution of each word."""
        with self.text_lock:
            return contributions(caption, self.settings.concreteness)

    def warm_up(self) -> None:
        """Load what reads texts, if possible, before somebody waits for it, in a process that
        answers people; errors are reported only when it is needed."""
        grammar_of(Caption.parse("A dog"))  # with which a picture's captions are compared
        with contextlib.suppress(ModelUnavailable, OutOfMemory):
            self.concreteness(["A dog"])
        memory.settle()

    @contextlib.contextmanager
    def computing(self) -> Iterator[Scorer]:
        """The scorer, for this thread alone, with its share of the cores; memory is returned
        afterwards."""
        with self.lock:
            self._share_cores()
            yield self.scorer
        memory.release()

    def trajectories(
        self,
        pairs: Sequence[tuple[ImageState, str]],
        keys: Sequence[int] | None = None,
        exploring: Exploring | None = None,
    ) -> list[Trajectory]:
        """One trajectory per (image state, caption), in order.

        `keys`: ids of the pairs, for scorers that compare pairs with each other. `exploring`: by
        default the session's settings; pass a run's own to match it.
        """
        with self.computing() as scorer:
            if keys is not None:
                states = [scorer.of_pair(s, k) for (s, _), k in zip(pairs, keys, strict=True)]
            else:
                states = [state for state, _ in pairs]
            inputs = [
                (state, Caption.parse(caption))
                for state, (_, caption) in zip(states, pairs, strict=True)
            ]
            by_index = dict(run_trajectories(scorer, inputs, exploring or self.exploring))
        return [by_index[index] for index in range(len(pairs))]

    def claims(
        self, caption: str, division: Division, constants: Sequence[ConstantPart] = ()
    ) -> tuple[Claim, ...]:
        """The caption's claims, none longer than the scorer reads where it can be divided, without
        these constant parts."""
        reader = self.scorer.reader
        return find_claims(
            caption,
            division,
            lambda text: reader.words_read(text) == len(Caption.parse(text)),
            constants,
        )

    def expectations(self, pairs: Sequence[tuple[Image.Image, str]]) -> list[Expectation]:
        """The captioner's expectations for the words of each (image, caption), in order; empty
        without a captioner."""
        with self.lock:
            captioner = self.captioner
            if captioner is None:
                return []
            self._share_cores()
            result = expectations(captioner, pairs)
        memory.release()
        return result

    def encode(self, images: Sequence[Image.Image]) -> list[ImageState]:
        with self.lock:
            self._share_cores()
            return self.scorer.encode_images(images)

    def _share_cores(self) -> None:
        """Set torch's number of threads for the calling thread's next computation: torch keeps it
        per thread, and it depends on the load of other programs."""
        if self.scorer.info.device != "cpu" or (parameters := self.parameters) is None:
            return
        import torch

        thread_count = threads.threads_for(
            parameters,
            threads.cores(),
            threads.others_load(torch.get_num_threads()),
            os.environ.get("OMP_NUM_THREADS"),
        )
        if thread_count != torch.get_num_threads():
            torch.set_num_threads(thread_count)
