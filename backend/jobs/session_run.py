"""Find the scoring run of a dataset by the session's model."""

from backend.errors import NotScored
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import datasets as dataset_queries
from db.queries import runs as run_queries
from db.queries.runs import RunRow


def scored_by_this_model(store: Store, engine: Engine, dataset_id: int) -> RunRow:
    """The dataset's newest scoring run; NotScored if there is none, or by another model."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "score")
        dataset = dataset_queries.get_dataset(session, dataset_id)
    if run is None:
        raise NotScored(f"'{dataset.name}' is not scored yet. Score it first.")
    info = engine.scorer.info
    if (run.scorer_kind, run.revision) != (info.kind, info.revision):
        raise NotScored(
            f"'{dataset.name}' was scored with {run.scorer_kind} {run.model}, this session uses "
            f"{info.kind} {info.model}. Start with --model {run.model}, or score it again."
        )
    return run
