"""Pictures that a caption fits as well as its own or better, as a queue."""

from backend.errors import SettingsError
from backend.features.specificity import queries
from backend.review.search import PairSearch, SimilarityKind
from db.queries import pair_queries


def _find(search: PairSearch, dataset_id: int, pair_id: int) -> tuple[int, ...]:
    with search.store.reading() as session:
        retrieval = queries.get_retrieval(session, pair_id)
        is_of_dataset = pair_queries.get_pair(session, pair_id).dataset_id == dataset_id
    if retrieval is None or not is_of_dataset:
        raise SettingsError(
            "The specificity of this caption has not been measured.",
            terminal="Run: python app.py score NAME --specificity",
            page="Measure it under Add data: “Measure how specific its captions are”.",
        )
    return (pair_id, *retrieval.better)


KIND = SimilarityKind("confused", _find, "pictures that the caption of {} fits better", "confused")
