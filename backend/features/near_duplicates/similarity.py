"""Near duplicates of one picture, as a queue."""

from backend.engine.unit_vectors import NEAR_DUPLICATE
from backend.review.search import PairSearch, SimilarityKind


def _find(search: PairSearch, dataset_id: int, pair_id: int) -> tuple[int, ...]:
    return search.nearest_pictures(dataset_id, pair_id, NEAR_DUPLICATE)


KIND = SimilarityKind(
    "duplicate", _find, "near duplicates of {}", "near-duplicates", "near duplicates"
)
