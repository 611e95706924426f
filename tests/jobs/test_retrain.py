"""The training data of a retraining; adopting the detector in use changes nothing."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from backend.errors import TrainingError
from backend.jobs import retrain
from db.queries import pairs as pair_queries
from db.queries import suggestions as suggestion_queries
from db.queries.suggestions import NewSuggestion
from tests.fixtures.shared import SharedFolder
from tests.jobs.copied_pictures import opened, score_copies


def test_an_enriched_caption_is_a_correct_one_in_training(
    shared_folder: SharedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shared_folder("scored-copies", score_copies) / "state", tmp_path / "state")
    workspace = opened(tmp_path / "state")
    with workspace.store.writing() as session:
        pairs = list(pair_queries.iterate_pairs(session, 1))
        suggestion_queries.save_suggestions(
            session,
            [
                NewSuggestion(pairs[place].id, kind, f"a {kind}", 0.1, 0.2, kind=kind)
                for place, kind in enumerate(("boost", "correction"))
            ],
        )
    for pair, kind in zip(pairs, ("boost", "correction"), strict=False):
        (suggestion,) = workspace.review.suggestions(pair.id, kind)
        workspace.review.decide(pair.id, 0, "correction", suggestion_id=suggestion.id)
    for pair, decision in zip(pairs[2:], ("correct", "drop", "abstract", "unsure"), strict=False):
        workspace.review.decide(pair.id, 0, decision)
    learnt: dict[str, int | None] = {}

    def learn(
        captions: list[str], _: Any, labels: list[int | None], *more: Any, **_how: Any
    ) -> Any:
        learnt.update(zip(captions, labels, strict=True))
        raise TrainingError("That is enough.")

    monkeypatch.setattr(retrain, "retrain", learn)
    with pytest.raises(TrainingError, match="enough"):
        workspace.jobs.run("train", 1)
    expected = [0, 1, 0, 1, None, None, None]
    assert [learnt[pair.caption] for pair in pairs[: len(expected)]] == expected
    workspace.store.close()
