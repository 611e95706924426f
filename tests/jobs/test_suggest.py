"""Corrections are prepared once: pairs without corrections are not searched again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from backend.engine.correction.suggestion import CorrectionContext
from backend.jobs import correct_queue, suggest
from backend.review.views import SuggestionView
from backend.settings import load_settings
from backend.workspace import QueueFilter, Workspace
from tests.checkpoints import drawn_pairs
from tests.datasets.folders import image_folder
from tests.fixtures.sizes import Sizes

COUNT = 6


def drawn(path: Path) -> Path:
    made = drawn_pairs(COUNT, seed=31)
    rows = [{"file_name": f"{n}.png", "caption": text} for n, (_, text) in enumerate(made)]
    folder = image_folder(path / "pairs", rows, ())
    for n, (image, _) in enumerate(made):
        image.save(folder / f"{n}.png")
    return folder


def test_nothing_to_suggest_is_remembered_until_the_classifier_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes
) -> None:
    folder = drawn(tmp_path)
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    sizes(SUGGEST_ABOVE=0.0)
    batch_sizes: list[int] = []

    def in_vain(_: Any, contexts: Sequence[CorrectionContext], *__: Any, **___: Any) -> list[Any]:
        batch_sizes.append(len(contexts))
        return [[] for _ in contexts]

    monkeypatch.setattr(suggest.judge, "suggest_all", in_vain)
    dataset = workspace.find_or_import(str(folder))
    workspace.jobs.score(dataset)
    assert sum(batch_sizes) == COUNT
    workspace.jobs.score(dataset)
    assert sum(batch_sizes) == COUNT, "nobody is asked twice"
    # A different classifier suspects different words.
    monkeypatch.setattr(suggest, "_prepared_by", lambda *_: "prepared otherwise")
    workspace.jobs.score(dataset)
    assert sum(batch_sizes) == 2 * COUNT
    workspace.store.close()


def test_only_first_corrections_are_judged_before_a_pair_is_opened(
    tmp_path: Path, sizes: Sizes
) -> None:
    folder = drawn(tmp_path)
    sizes(SUGGEST_ABOVE=0.0)
    listed: dict[int | None, dict[int, tuple[SuggestionView, ...]]] = {}
    for ahead in (None, 1):
        sizes(JUDGED_AHEAD_IF_SMALL=ahead)
        settings = {"data_directory": str(tmp_path / f"state-{ahead}")}
        workspace = Workspace(load_settings(settings, {}))
        dataset = workspace.find_or_import(str(folder))
        workspace.jobs.score(dataset)
        review = workspace.review
        listed[ahead] = {n: review.open_pair(n).suggestions for n in range(1, COUNT + 1)}
        if ahead is None:
            workspace.store.close()
    several = [n for n, rows in listed[1].items() if len(rows) > 1]
    assert len(several) > 1, "or there is nothing to test"
    for n, rows in listed[1].items():
        everything = listed[None][n]
        assert [o.caption for o in rows] == [o.caption for o in everything]
        assert [o.p_after is None for o in rows] == [False, True, True][: len(rows)]
        assert review.complete(n) == (n in several)
        opened = review.open_pair(n).suggestions
        p_after = [o.p_after for o in everything]
        assert [o.p_after for o in opened] == pytest.approx(p_after, abs=1e-5)
        assert [o.id for o in opened] == [o.id for o in rows]
        assert not review.complete(n), "nothing is left to compute"
    workspace.store.close()


def test_a_rule_considers_corrections_that_are_not_judged_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes
) -> None:
    folder = drawn(tmp_path)
    sizes(SUGGEST_ABOVE=0.0)
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    dataset = workspace.find_or_import(str(folder))
    workspace.jobs.score(dataset)
    prepared = {n for n in range(1, COUNT + 1) if workspace.review.open_pair(n).suggestions}
    assert prepared
    # Nothing new is proposed: the rule has only what was prepared.
    monkeypatch.setattr(correct_queue.judge, "proposals_of", lambda contexts, _: [{}])
    rule = correct_queue.Rule(1.0, 1e-6)
    engine = workspace.engines.of_dataset(dataset)
    report = correct_queue.correct(workspace.store, engine, QueueFilter(dataset), rule=rule)
    assert report.accepted == len(prepared)
    workspace.store.close()
