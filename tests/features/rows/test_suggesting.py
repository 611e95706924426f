"""The caption of another row is suggested, and accepting it asks whether to swap."""

import pytest

from backend.errors import SettingsError
from backend.features.rows.suggesting import PROPOSER
from backend.jobs.scoring.suggest import likely_wrong
from backend.review.views import BetterPicture
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.fixtures.demo import demo_pairs, true_captions
from tests.jobs.opening import VECTORS
from traced_ui.api_records import Pair
from traced_ui.review_page import stage
from traced_ui.templates import render

#: Pairs, and those whose captions are exchanged in a ring.
PAIRS, RING = 100, (10, 35, 60, 85, 20, 45, 70, 95, 30, 55)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The demo's true captions, ten of them in a ring; scored with suggestions."""
    folder = tmp_path_factory.mktemp("ring")
    captions = true_captions(PAIRS)
    for row, following in zip(RING, (*RING[1:], RING[0]), strict=True):
        captions[row] = true_captions(PAIRS)[following]
    demo_pairs(folder / "pairs", captions)
    settings = {**VECTORS, "captioner": "none"}
    workspace = Workspace(load_settings({"data_directory": str(folder / "state"), **settings}))
    workspace.jobs.score(workspace.find_or_import(str(folder / "pairs")))
    return workspace


def test_a_caption_points_to_the_picture_that_it_fits_better(workspace: Workspace) -> None:
    """First, because what is decided points nowhere."""
    right = others = 0
    for place, row in enumerate(RING):
        view = workspace.review.open_pair(row + 1)
        if view.opinion.better_picture is None:
            continue
        is_right = view.opinion.better_picture.pair_id == RING[(place + 1) % len(RING)] + 1
        right, others = right + is_right, others + (not is_right)
        assert view.opinion.better_picture.likeness > view.opinion.better_picture.own_likeness
        assert view.opinion.better_picture.external_id
        html = str(stage(view))
        assert f'data-action="open" data-target="{view.opinion.better_picture.pair_id}"' in html
        assert f"pictures/{view.opinion.better_picture.pair_id}?" in html
        assert Pair.of(view).better_picture is not None
    assert right >= 3
    assert others <= 1
    # Once more, the same is said, and nothing of captions that are likely right.
    before = better_pictures(workspace)
    workspace.jobs.run("rows", 1)
    assert better_pictures(workspace) == before
    suspects = set(likely_wrong(workspace.store, 1))
    assert {pair for pair, better in before.items() if better is not None} <= suspects
    assert len(suspects) < PAIRS


def better_pictures(workspace: Workspace) -> dict[int, BetterPicture | None]:
    """By pair, the picture that its caption fits better."""
    pairs = range(1, PAIRS + 1)
    return {pair: workspace.review.open_pair(pair).opinion.better_picture for pair in pairs}


def test_own_captions_are_suggested_and_may_be_swapped(workspace: Workspace) -> None:
    truths = true_captions(PAIRS)
    right = 0
    swapped_ids = set[int]()
    for row in RING:
        pair_id = row + 1
        suggestions = workspace.review.suggestions(pair_id)
        (suggestion,) = [each for each in suggestions if each.proposer == PROPOSER] or [None]
        if suggestion is None:
            continue
        partner = workspace.review.swap_partner(suggestion.id)
        right += suggestion.caption == truths[row]
        if partner is None or pair_id in swapped_ids:
            continue
        view = workspace.review.open_pair(pair_id)
        workspace.review.decide(
            pair_id, view.verdict.version, "correction", suggestion_id=suggestion.id
        )
        verdict = workspace.review.swap(suggestion.id, "Ada")
        assert (verdict.pair_id, verdict.corrected_caption) == (partner.id, view.caption)
        swapped_ids |= {pair_id, partner.id}
        assert workspace.review.swap_partner(suggestion.id) is None
        with pytest.raises(SettingsError):
            workspace.review.swap(suggestion.id, "Ada")
    assert right >= 3
    assert swapped_ids


def test_only_a_caption_that_has_a_row_of_its_own_asks_whether_to_swap() -> None:
    report = {"verdict": "Corrected.", "name": "a"}
    asking = {**report, "swap": "12", "partner": "<b>b</b>"}
    assert 'data-action="swap"' not in render("review/saved.html", saved=[report], is_last=False)
    html = render("review/saved.html", saved=[report, asking], is_last=False)
    assert 'data-action="swap" data-target="12"' in html
    assert "<b>" not in html
