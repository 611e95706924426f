"""The language model's correction of one pair, when a curator asks for corrections."""

from backend.features.corrections import correct_queue
from backend.loaded_models import Engine
from backend.review.ask_models import SuggestionSource
from backend.store import Store
from db.queries.queue_filter import QueueFilter


def _suggest(store: Store, engine: Engine, dataset_id: int, pair_id: int) -> None:
    if engine.chat_model is not None:
        pair_alone = QueueFilter(dataset_id, among=(pair_id,))
        correct_queue.correct(store, engine, pair_alone, check=True)


SOURCE = SuggestionSource(_suggest)
