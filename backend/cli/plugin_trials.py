"""Try plug-ins on a small picture and a caption, so that `doctor` names one that gives what nobody
can use before a job does. Models are not tried: only they know what they need."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from backend.datasets.export_formats import ExportFormat
from backend.datasets.export_row import ExportRow, Target
from backend.engine.captions import Caption
from backend.engine.correction.suggestion import CorrectionContext, Proposer
from backend.engine.detection.types import SuspectWord
from backend.engine.scoring.checkpoints import Family, Request
from backend.engine.scoring.function_scorer import FunctionScorer
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.measure_captions import checked_number
from backend.measures import Measure
from backend.plugins import Plugin
from backend.review.added_filters import AddedFilter, try_filter

_CAPTION = "a small red square"


def trial(plugin: Plugin) -> str:
    """What is wrong with what the plug-in gives; "" if nothing is, or if it cannot be tried."""
    trials: Mapping[type, Callable[[Any], object]] = {
        Family: _score, Proposer: _propose, Measure: _measure, ExportFormat: _export,
        AddedFilter: try_filter,
    }  # fmt: skip
    try:
        trials.get(type(plugin.value), lambda _: None)(plugin.value)
    except Exception as error:  # of whatever its author wrote
        return f"Tried on a small picture: {type(error).__name__}: {error}"
    return ""


def _picture() -> Image.Image:
    return Image.new("RGB", (64, 64), (200, 40, 40))


def _score(family: Family) -> None:
    kind = family.kinds[0]
    if not family.named(kind):
        return  # its models have weights
    scorer = family.load(Request(kind, kind, "cpu", "float32"))
    if isinstance(scorer, FunctionScorer):
        texts = scorer.reader.tokenise([_CAPTION, "a dog"])
        scorer.open_session().score([(scorer.encode_images([_picture()])[0], texts)])


def _propose(proposer: Proposer) -> None:
    caption = Caption.parse(_CAPTION)
    scores = np.array([0.2, 0.5], np.float32)
    first_step = np.array([0.2, 0.2, 0.5, 0.3], np.float32)
    trajectory = Trajectory(caption, scores, np.ones(2, np.float32), (2,), first_step, whole=False)
    suspects = tuple(SuspectWord(start, end, 0.9) for start, end in caption.spans[2:3])
    proposing = proposer.start(CorrectionContext(_picture(), None, trajectory, suspects, 0.9))
    for _ in proposing:
        proposing.close()  # it asks the captioner, and there is none
        return


def _measure(measure: Measure) -> None:
    if measure.compute is not None:
        checked_number(measure, measure.compute(_CAPTION, _picture), "the caption of a trial")


def _export(each: ExportFormat) -> None:
    if isinstance(each.writer, str):
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "part").mkdir()
        _picture().save(place / "a.png")
        row = ExportRow("1", place / "a.png", _CAPTION, _CAPTION)
        each.write([row], Target(place / "part", place / "out", place))
