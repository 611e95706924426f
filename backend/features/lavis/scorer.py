"""LAVIS itself as a scorer, in a separate process.

`--model lavis:NAME[/TYPE][@CHECKPOINT]`, such as `lavis:blip_image_text_matching/base`. LAVIS pins
libraries from 2022 that conflict with ours, so one long-lived worker (`worker.py`) runs in the
environment created by `make lavis`. A message is a frame: a length, a JSON header and raw bytes.
"""

import contextlib
import os
import struct
import subprocess
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from backend.engine.scoring.checkpoints import Family, Request
from backend.engine.scoring.cleaning import BLIP_CAPTION
from backend.engine.scoring.protocol import (
    FloatArray,
    ImageState,
    Independent,
    ScorerInfo,
    Session,
    TokenReader,
    Tokens,
    Work,
)
from backend.engine.scoring.tokens import HubReader
from backend.errors import ModelUnavailable
from backend.features.lavis.worker import read_frame, write_frame

PREFIX = "lavis:"
_ROOT = Path(__file__).resolve().parents[3]
_PYTHON = _ROOT / ".venv-lavis" / "bin" / "python"
#: Nothing is downloaded without consent; the worker blocks downloads from outside the hub.
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
_WORKER = Path(__file__).with_name("worker.py")


class LavisWorker:
    """The worker process and its protocol: one request at a time, each with one response.

    Raises ModelUnavailable if the environment is missing or the model cannot be loaded."""

    def __init__(self, model: str, kind: str, device: str, python: Path = _PYTHON) -> None:
        if not python.is_file():
            raise ModelUnavailable(
                f"'{model}' needs the LAVIS environment, which does not exist. Create it with: "
                "make lavis"
            )
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            # -P: keep this folder off sys.path, so that its modules cannot shadow installed ones.
            [str(python), "-E", "-P", str(_WORKER), model.removeprefix(PREFIX), kind, device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **OFFLINE},
        )
        self._finish = weakref.finalize(self, _end, self._process)
        self.about, _ = self.ask({"do": "hello"})

    def ask(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> tuple[Any, list[bytes]]:
        """Send one request and return its response.

        Raises ModelUnavailable if the worker reports an error or has exited."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            try:
                write_frame(self._process.stdin, header, blobs)
                answer, arrays = read_frame(self._process.stdout)
            except (OSError, EOFError, struct.error) as problem:
                raise ModelUnavailable(
                    f"The LAVIS process has ended (status {self._process.poll()}). Its output is "
                    "above; the same command starts it again."
                ) from problem
        if "error" in answer:
            raise ModelUnavailable(f"LAVIS: {answer['error']}")
        return answer, arrays

    def close(self) -> None:
        self._finish()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):  # already exited, with an unread request
            process.stdin.close()  # the worker exits when its standard input closes
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@dataclass(eq=False)
class LavisState:
    """An image encoded by the worker, which frees it once this handle is garbage-collected."""

    handle: int


@dataclass
class LavisScorer(Independent):
    info: ScorerInfo
    reader: TokenReader
    worker: LavisWorker
    _gone: list[int] = field(default_factory=list)

    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        states: list[ImageState] = []
        for image in images:
            forget = self._gone[:]
            del self._gone[: len(forget)]
            answer, _ = self.worker.ask(
                {"do": "encode", "size": image.size, "forget": forget}, [image.tobytes()]
            )
            state = LavisState(int(answer["handle"]))
            weakref.finalize(state, self._gone.append, state.handle)
            states.append(state)
        return states

    def image_embeddings(self, states: Sequence[ImageState]) -> FloatArray | None:
        return None  # embeddings stay in the worker process

    def open_session(self) -> Session:
        return LavisSession(self.worker)


@dataclass
class LavisSession:
    """Requests equal texts of one image once per round; everything else is left to LAVIS."""

    worker: LavisWorker
    live: int = 16
    work: Work = field(default_factory=Work)
    embedding_work: Work = field(default_factory=Work)

    def score(self, requests: Sequence[tuple[LavisState, Sequence[Tokens]]]) -> list[FloatArray]:
        distinct = [(state, list(dict.fromkeys(texts))) for state, texts in requests]
        payload = [{"handle": state.handle, "texts": texts} for state, texts in distinct]
        answer, _ = self.worker.ask({"do": "score", "requests": payload})
        by_image = []
        for (_, texts), (_, once), scores in zip(requests, distinct, answer["scores"], strict=True):
            score_by_text = dict(zip(once, scores, strict=True))
            by_image.append(np.array([score_by_text[text] for text in texts], np.float32))
            self.work.sequences += len(once)
        return by_image

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        answer, blobs = self.worker.ask({"do": "embed", "texts": list(texts)})
        return np.frombuffer(blobs[0], np.float32).reshape(answer["shape"]).copy()

    def replacement_gains(self, requests: Sequence[tuple[LavisState, Tokens]]) -> list[FloatArray]:
        gains = []
        for state, text in requests:
            answer, blobs = self.worker.ask({"do": "gains", "handle": state.handle, "text": text})
            gains.append(np.frombuffer(blobs[0], np.float32).reshape(answer["shape"]).copy())
        return gains


def load_lavis(request: Request) -> LavisScorer:
    """Start the worker. Raises ModelUnavailable if its environment or weights are missing."""
    model, kind, device, _ = request
    scorer_kind = kind or ("blip-itc" if "feature_extractor" in model else "blip-itm")
    worker = LavisWorker(model, scorer_kind, device)
    about = worker.about
    from transformers import BertTokenizerFast

    tokenizer = BertTokenizerFast(vocab={word: i for i, word in enumerate(about["vocabulary"])})
    reader = HubReader(tokenizer, int(about["context"]), int(about["rows"]))
    info = ScorerInfo(scorer_kind, model, str(about["revision"]), device)
    return LavisScorer(info, reader, worker)


#: All models of LAVIS 1.0.2 that score captions name `blip_caption` as their text processor.
FAMILY = Family(
    ("blip-itm", "blip-itc"),
    load_lavis,
    named=lambda model: model.startswith(PREFIX),
    cleaning=BLIP_CAPTION,
)
