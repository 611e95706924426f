"""Estimate the time, disk space and memory that scoring a dataset will take: the remaining work of
each stage times what a unit costs, measured on a few pairs. Nothing is stored."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.counts import count_of
from backend.engine import memory
from backend.engine.detection.types import detector_for
from backend.engine.embeddings import MEANING_WIDTH
from backend.jobs.scoring.dataset_constants import constants_in
from backend.jobs.scoring.dataset_models import depth_for, division_for
from backend.jobs.scoring.dataset_pairs import prepare_scorer
from backend.jobs.scoring.detect import Copies
from backend.jobs.scoring.known_pictures import check_pictures
from backend.jobs.scoring.score_dataset import run_key, seconds_of, stages_of
from backend.jobs.scoring.stage import PAIRS, Sample, Scoring, pairs_to_measure
from backend.jobs.scoring.suggest import Corrections
from backend.jobs.scoring.trajectory_stages import CompleteTrajectories, Completion, Trajectories
from backend.jobs.scoring.workers import Devices, Workers, choose_processes
from backend.loaded_models import Engine
from backend.progress import Progress, duration, no_progress
from backend.store import Store
from db.queries import pair_queries, run_queries
from db.queries.dataset_queries import DatasetRow


@dataclass(frozen=True)
class Estimate:
    """The remaining work for a dataset, in seconds and bytes.

    `copies`: noisy copies of captions that a first detector is trained on; 0 where there is one.
    `suggestions`: pairs that will usually look wrong and get corrections. `trajectories`: which
    pairs get whole ones (`depth.Depth.name`), at first or, `whole` of them, after their first
    steps. `processes`: how many will share the work and need `memory` together. `seconds` is the
    sum of the parts.
    """

    model: str
    device: str
    pairs: int
    copies: int
    measured: int
    trajectories_seconds: float
    copies_seconds: float
    captioner_seconds: float
    texts_seconds: float
    disk: int
    memory: int
    training_seconds: float = 0.0
    suggestions: int = 0
    suggestions_seconds: float = 0.0
    trajectories: str = "all"
    whole: int = 0
    whole_seconds: float = 0.0
    processes: int = 1
    #: See `backend.jobs.own_captions`.
    warning: str = ""

    @property
    def seconds(self) -> float:
        return (
            self.trajectories_seconds + self.copies_seconds + self.captioner_seconds
            + self.texts_seconds + self.training_seconds + self.suggestions_seconds
            + self.whole_seconds
        )  # fmt: skip

    def in_words(self) -> str:
        """The remaining work and what each part of it takes."""
        by = f" ({self.processes} processes)" if self.processes > 1 else ""
        parts = [f"trajectories {duration(self.trajectories_seconds)}"]
        if self.whole:
            whole = f"whole ones of {self.whole:,} pairs ({self.trajectories})"
            parts.append(f"{whole} {duration(self.whole_seconds)}")
        if self.copies:
            copies = f"{self.copies:,} noisy copies for the first detector"
            parts.append(f"{copies} {duration(self.copies_seconds)}")
        if self.training_seconds:
            parts.append(f"its training {duration(self.training_seconds)}")
        if self.captioner_seconds:
            parts.append(f"what the captioner expects {duration(self.captioner_seconds)}")
        parts.append(f"texts {duration(self.texts_seconds)}")
        if self.suggestions:
            wrong = f"corrections of about {self.suggestions:,} pairs that look wrong"
            parts.append(f"{wrong} {duration(self.suggestions_seconds)}")
        warning = f" {self.warning}" if self.warning else ""
        return (
            f"About {duration(self.seconds)} for {count_of(self.pairs, 'pair')} on "
            f"{self.device}{by}, measured on {self.measured}: {', '.join(parts)}. "
            f"{self.disk / 1e6:,.0f} MB of disk, {self.memory / 1e9:.1f} GB of memory."
            f"{warning}"
        )


def estimate(
    store: Store,
    engine: Engine,
    dataset: DatasetRow,
    progress: Progress = no_progress,
    anyway: bool = False,
    suggestions: bool = True,
    devices: Devices | None = None,
) -> Estimate:
    """Measure `PAIRS` of the dataset's pairs, in this process alone; `anyway`, `suggestions` and
    `devices` as for scoring. Raises ModelUnavailable, UnknownPictures, and ImageError if none of
    their pictures can be read."""
    progress(0, PAIRS, "Loading the model")
    with store.reading() as session:
        total = pair_queries.totals(session, dataset.id)[0]
        is_new = run_queries.latest_run(session, dataset.id, "score") is None
    depth = depth_for(engine.settings, total, is_new)
    detector_for(engine.settings.detector, depth.is_whole)  # refuse now, not in an hour
    run = store.read(run_queries.find_run, **run_key(engine, dataset.id))
    root = Path(dataset.root)
    workers = Workers(engine, root)
    scoring = Scoring(
        store, engine, dataset.id, root, total, depth, run, workers, suggestions,
        division=division_for(engine.settings, is_new),
        constants=constants_in(dataset.models),
    )  # fmt: skip
    if not anyway:
        check_pictures(store, engine, dataset, scoring.run_id)
    unscored_count, pairs = pairs_to_measure(scoring, anyway)
    prepare_scorer(store, engine, dataset.id, progress)
    # Warm-up is not counted.
    Sample(engine, root, pairs[:1], scoring.division, scoring.constants).trajectories(
        depth.is_whole
    )
    progress(len(pairs), PAIRS, "Measuring pairs")
    sample = Sample(engine, root, pairs, scoring.division, scoring.constants)
    scoring.claims_each = sample.claims_each
    stages = stages_of(scoring)
    units = {type(stage): stage.remaining() for stage in stages}
    units[Trajectories] = unscored_count  # without pictures that the model does not know
    devices_used = choose_processes(devices, engine, unscored_count + units[Copies])
    processes = len(devices_used.names) if devices_used is not None else 1
    parts: dict[str, Any] = dict.fromkeys((stage.part for stage in stages), 0.0)
    for stage in stages:
        parts[stage.part] += seconds_of(stage, units[type(stage)], sample, processes)
    info, row = engine.scorer.info, sample.stored_bytes
    vectors = 0 if sample.vectors is None else 4 * sample.vectors.shape[1]
    return Estimate(
        model=info.model,
        device=info.device,
        pairs=unscored_count,
        copies=units[Copies],
        measured=len(pairs),
        disk=round((row + vectors + 4 * MEANING_WIDTH) * unscored_count + row * units[Copies]),
        memory=memory.resident() * processes,
        suggestions=units.get(Corrections, 0),
        trajectories=depth.name,
        whole=units[Completion] + units[CompleteTrajectories],
        processes=processes,
        training_seconds=sum(stage.undivided_seconds() for stage in stages),
        **parts,
    )
