"""What is found is said in Review and Progress, beside the errors left."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.features.rows.mending import look, mend
from backend.jobs import notices
from backend.progress import no_progress
from backend.review.charts import progress_of
from backend.store import Store
from db.queries import dataset_queries
from tests.features.rows.pairs import DrawnPairs, store_pairs
from traced_ui.progress import cards_html, expected_html


@pytest.fixture
def store(sqlite_store: Any) -> Store:
    return Store(sqlite_store)


@pytest.fixture
def shifted(store: Store, tmp_path: Path) -> tuple[Any, int]:
    drawn = DrawnPairs(100)
    drawn.move(np.roll(range(100), 1).tolist())
    engine, dataset_id, _ = store_pairs(store, tmp_path, drawn)
    return engine, dataset_id


def test_everything_that_speaks_of_the_dataset_says_it(
    store: Store, shifted: tuple[Any, int]
) -> None:
    engine, dataset_id = shifted
    notices.look(store, engine, dataset_id, no_progress)
    (notice,) = notices.notices_of(store, dataset_id)
    assert notice.page == "rows"
    view = progress_of(store, dataset_id)
    assert view.notices == (notice,)
    for html in (cards_html(view, 1), expected_html(view, 1)):
        assert 'data-page="rows"' in html
    mend(store, engine, dataset_id, "Ada")
    assert progress_of(store, dataset_id).notices == ()


def test_what_cannot_be_compared_is_no_failure_of_scoring(
    store: Store, shifted: tuple[Any, int]
) -> None:
    engine, dataset_id = shifted
    engine.scorer.info.compares_pairs = True
    notices.look(store, engine, dataset_id, no_progress)
    assert notices.notices_of(store, dataset_id) == ()


def test_nothing_is_said_of_pictures_that_the_model_does_not_know(
    store: Store, tmp_path: Path
) -> None:
    """Noise is as unlike all captions as captions of other pictures are."""
    drawn = DrawnPairs(100)
    drawn.move(np.random.default_rng(0).permutation(100).tolist())
    engine, dataset_id, _ = store_pairs(store, tmp_path, drawn)
    assert look(store, engine, dataset_id).findings
    store.write(dataset_queries.remember_models, dataset_id, {dataset_queries.UNFAMILIAR: True})
    report = look(store, engine, dataset_id)
    assert (report.findings, report.compared, len(report.reasons)) == ((), 0, 1)
    assert notices.notices_of(store, dataset_id) == ()


def test_a_look_that_is_repeated_is_one_run(store: Store, shifted: tuple[Any, int]) -> None:
    engine, dataset_id = shifted
    assert look(store, engine, dataset_id) == look(store, engine, dataset_id)
