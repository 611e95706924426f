"""A stand-in for LAVIS's process: our BLIP with the same weights. Frames pass through JSON and
bytes as on the pipe, so that the session's requests take their real form."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from backend.engine.scoring.protocol import Scorer
from backend.features.lavis.scorer import LavisScorer


class StandIn:
    """Answers `encode`, `score` and `embed` as the worker does."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._states: dict[int, Any] = {}

    def ask(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> tuple[Any, list[bytes]]:
        question = json.loads(json.dumps(header))
        session = self._scorer.open_session()
        if question["do"] == "encode":
            for handle in question["forget"]:
                del self._states[handle]
            image = Image.frombytes("RGB", tuple(question["size"]), blobs[0])
            handle = max(self._states, default=0) + 1
            (self._states[handle],) = self._scorer.encode_images([image])
            return {"handle": handle}, []
        if question["do"] == "embed":
            vectors = session.embed([tuple(text) for text in question["texts"]])
            return {"shape": vectors.shape}, [vectors.astype(np.float32).tobytes()]
        assert question["do"] == "score"
        requests = [
            (self._states[request["handle"]], [tuple(text) for text in request["texts"]])
            for request in question["requests"]
        ]
        return {"scores": [scores.tolist() for scores in session.score(requests)]}, []


def through_a_worker(scorer: Scorer) -> LavisScorer:
    """The same model as a scorer whose requests go to another process."""
    info = replace(scorer.info, model="lavis:blip_image_text_matching", auxiliary="")
    return LavisScorer(info, scorer.reader, StandIn(scorer))  # pyrefly: ignore[bad-argument-type]
