"""Corrections are prepared once: pairs without corrections are not searched again."""

from pathlib import Path

import pytest

from backend.jobs.scoring.suggest import Corrections
from backend.review.views import SuggestionView
from backend.settings import EMBEDDED_CAPTIONER
from backend.workspace import QueueFilter, Workspace
from tests.checkpoints import drawn_folder
from tests.fixtures.features import needs
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import OpenWorkspace

COUNT = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(drawn_folder(tmp_path_factory.mktemp("data") / "pairs", COUNT, seed=31))


@pytest.fixture(autouse=True)
def all_look_wrong(sizes: Sizes) -> None:
    sizes(SUGGEST_ABOVE=0.0)


def test_nothing_to_suggest_is_remembered_until_the_models_change(
    open_workspace: OpenWorkspace, folder: str, sizes: Sizes
) -> None:
    sizes(SMALLEST_GAIN=9.0)  # no correction improves a caption as much

    def searched(captioner: str) -> int:
        """The number of pairs for which scoring searches corrections."""
        done = [0]
        workspace = open_workspace(captioner=captioner)

        def note(count: int, total: int, message: str) -> None:
            if message == Corrections.name:
                done.append(count)

        workspace.jobs.score(workspace.find_or_import(folder), note)
        assert not any(
            workspace.review.open_pair(n).suggestions.corrections for n in range(1, COUNT + 1)
        )
        return max(done)

    assert searched("none") == COUNT
    assert searched("none") == 0
    assert searched(str(EMBEDDED_CAPTIONER)) == COUNT


def test_only_first_corrections_are_judged_before_a_pair_is_opened(
    open_workspace: OpenWorkspace, folder: str, tmp_path: Path, sizes: Sizes
) -> None:
    def scored(ahead: int | None) -> tuple[Workspace, dict[int, tuple[SuggestionView, ...]]]:
        sizes(JUDGED_AHEAD_IF_SMALL=ahead)
        workspace = open_workspace(tmp_path / f"state-{ahead}")
        workspace.jobs.score(workspace.find_or_import(folder))
        pairs = range(1, COUNT + 1)
        return workspace, {n: workspace.review.open_pair(n).suggestions.corrections for n in pairs}

    _, judged = scored(None)
    workspace, listed = scored(1)
    several = [n for n, rows in listed.items() if len(rows) > 1]
    assert len(several) > 1, "or there is nothing to test"
    for n, rows in listed.items():
        assert {o.caption for o in rows} == {o.caption for o in judged[n]}
        assert [o.p_after is None for o in rows] == [False, True, True][: len(rows)]
        assert workspace.review.complete(n) == (n in several)
        opened = workspace.review.open_pair(n).suggestions.corrections
        p_after = [o.p_after or 0.0 for o in judged[n]]
        assert [o.p_after for o in opened] == pytest.approx(p_after, abs=1e-5)
        assert {o.id for o in opened} == {o.id for o in rows}
        assert p_after == sorted(p_after), "in the order of the number that is shown"
        assert not workspace.review.complete(n), "nothing is left to compute"


@needs("corrections")
def test_a_rule_considers_corrections_that_are_not_judged_yet(
    workspace: Workspace, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backend.features.corrections import correct_queue

    dataset = workspace.find_or_import(folder)
    workspace.jobs.score(dataset)
    prepared = {
        n for n in range(1, COUNT + 1) if workspace.review.open_pair(n).suggestions.corrections
    }
    assert prepared
    # Nothing new is proposed: the rule has only what was prepared.
    monkeypatch.setattr(correct_queue.judge, "proposals_of", lambda contexts, _: [{}])
    rule = correct_queue.Rule(1.0, 1e-6)
    engine = workspace.engines.of_dataset(dataset)
    report = correct_queue.correct(workspace.store, engine, QueueFilter(dataset), rule=rule)
    assert report.accepted == len(prepared)
