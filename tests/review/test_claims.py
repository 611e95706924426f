"""Claims of long captions, as curators judge, correct and remove them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from backend.errors import PairChanged, SettingsError, VerdictConflict
from backend.review.queue_form import from_text
from backend.workspace import Workspace
from db.queries import claim_queries, suggestion_queries, trajectory_queries
from db.queries.claim_queries import ClaimRow
from db.queries.pair_queries import NewPair
from db.queries.statements import set_columns
from db.queries.suggestion_queries import NewSuggestion
from tests.db.building import add_pairs, start_run
from tests.db.test_claims import parts_of
from tests.traced_ui.conftest import workspace_in
from traced_ui.highlighting import excerpt

TEXT = "A dog runs. Simply wonderful.\n\nA cat sleeps. It rains."
DOG, WONDER, CAT, RAIN = (0, 11), (12, 29), (31, 44), (45, 54)
ICC = {DOG: 0.9, WONDER: 0.1, CAT: 0.8, RAIN: 0.7}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = with_claims(tmp_path)
    yield opened
    opened.store.close()


def with_claims(folder: Path) -> Workspace:
    """Two pairs with this caption, divided and scored, and one whose caption is one claim."""
    opened = workspace_in(folder)
    (folder / "pictures").mkdir()
    Image.new("RGB", (32, 32)).save(folder / "pictures" / "a.png")
    texts = [TEXT, TEXT, "A horse."]
    dataset, ids = add_pairs(
        opened.store.opened,
        "long",
        [NewPair(f"p{i}", "a.png", text) for i, text in enumerate(texts)],
    )
    run = start_run(opened.store.opened, dataset)
    with opened.store.writing() as session:
        claims = {pair: [ClaimRow(pair, *span, "sentence") for span in ICC] for pair in ids[:2]}
        claim_queries.save_claims(session, claims)
        for pair in ids[:2]:
            trajectory_queries.save_trajectories(session, run, parts_of(pair, *ICC))
            claim_queries.save_numbers(
                session,
                {(pair, span[0]): {"icc": icc, "p_error": 0.9 if span == CAT else 0.2}
                 for span, icc in ICC.items()},
            )  # fmt: skip
        set_columns(session, {pair: {"vague_claims": 1} for pair in ids[:2]})
    return opened


def text_of(workspace: Workspace, pair: int = 1) -> str | None:
    return workspace.review.open_pair(pair).verdict.corrected_caption


def test_the_most_suspicious_claim_is_selected_until_another_one_is(workspace: Workspace) -> None:
    view = workspace.review.open_pair(1)
    assert view.claim is not None
    assert (view.claim.start, view.claim.end) == CAT
    assert [claim.is_vague for claim in view.claims] == [False, True, False, False]
    assert view.opinion.trajectory is not None
    assert view.opinion.trajectory.caption.text == "A cat sleeps."
    other = workspace.review.open_pair(1, RAIN[0])
    assert other.opinion.trajectory is not None
    assert other.opinion.trajectory.caption.text == "It rains."
    whole = workspace.review.open_pair(3)
    assert (whole.claims, whole.claim) == ((), None)
    rows = workspace.review.queue_page(workspace.review.filter_of(1, {})).rows
    assert workspace.review.leading_claims(rows) == {1: CAT, 2: CAT}
    assert excerpt(TEXT, CAT, 80)[0] == "… A cat sleeps. …"


def test_a_claim_is_labelled_on_what_was_seen(workspace: Workspace) -> None:
    seen = workspace.review.open_pair(1).fingerprint
    workspace.review.label_claim(1, 0, CAT, False, fingerprint=seen)
    view = workspace.review.open_pair(1)
    assert (view.verdict.decision, view.verdict.version) == ("wrong", 1)
    assert [claim.is_right for claim in view.claims] == [None, None, False, None]
    assert view.verdict.history[-1].claim == "A cat sleeps."
    with pytest.raises(VerdictConflict):
        workspace.review.label_claim(1, 0, DOG, True, fingerprint=seen)
    with pytest.raises(PairChanged):
        workspace.review.label_claim(1, 1, DOG, True, fingerprint="another")
    with pytest.raises(PairChanged, match="divided"):
        workspace.review.label_claim(1, 1, (0, 10), True)
    with pytest.raises(PairChanged):
        workspace.review.label_claim(3, 0, (0, 8), True)


def test_claims_are_taken_out_one_after_the_other(workspace: Workspace) -> None:
    first = workspace.review.remove_claim(1, 0, WONDER)
    assert workspace.review.remove_claim(1, 0, WONDER) == first, "its answer was lost"
    assert text_of(workspace) == "A dog runs.\n\nA cat sleeps. It rains."
    workspace.review.remove_claim(1, 1, RAIN)
    assert text_of(workspace) == "A dog runs.\n\nA cat sleeps."
    assert [claim.is_gone for claim in workspace.review.open_pair(1).claims] == [
        False, True, False, True,
    ]  # fmt: skip
    with pytest.raises(SettingsError, match="no longer"):
        workspace.review.remove_claim(1, 2, RAIN)
    workspace.review.remove_claim(1, 2, DOG)
    with pytest.raises(SettingsError, match="Nothing would be left"):
        workspace.review.remove_claim(1, 3, CAT)
    workspace.review.undo(1)
    workspace.review.undo(1)
    assert text_of(workspace) == "A dog runs.\n\nA cat sleeps. It rains."


def test_a_suggestion_replaces_its_claim_and_leaves_other_corrections(workspace: Workspace) -> None:
    proposed = TEXT.replace("A cat sleeps.", "A cow sleeps.")
    row = NewSuggestion(
        1, "guided infill", proposed, 0.1, 0.6, 0.9, 0.1, None, 0.9, {"claim": list(CAT)}
    )
    with workspace.store.writing() as session:
        suggestion_queries.save_suggestions(session, [row])
    (shown,) = workspace.review.open_pair(1).suggestions.corrections
    assert workspace.review.open_pair(1, DOG[0]).suggestions.corrections == (), (
        "they are of another claim"
    )
    workspace.review.remove_claim(1, 0, WONDER)
    for _ in range(2):  # the second time its answer was lost
        workspace.review.decide(1, 1, "correction", suggestion_id=shown.id)
    assert text_of(workspace) == "A dog runs.\n\nA cow sleeps. It rains."
    workspace.review.decide(2, 0, "drop")
    workspace.review.undo(1)
    workspace.review.undo(1)
    workspace.review.undo(1)
    workspace.review.decide(1, 4, "correction", suggestion_id=shown.id)
    assert text_of(workspace) == proposed


def test_queues_filter_by_vague_claims(workspace: Workspace) -> None:
    everything = workspace.review.filter_of(1, from_text("review=all&order=position"))
    vague = workspace.review.filter_of(1, from_text("vague=yes&review=all&order=position"))
    assert [row.pair_id for row in workspace.review.queue_page(vague).rows] == [1, 2]
    plain = workspace.review.filter_of(1, from_text("vague=no&review=all"))
    assert [row.pair_id for row in workspace.review.queue_page(plain).rows] == [3]
    assert workspace.review.queue_values(everything).words["vague"] == (("yes", 2), ("no", 1))
