"""Vague claims are taken out of the captions of a queue."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.features.bulk_edit.applying import BulkEdit
from backend.features.bulk_edit.editing import edit_queue
from backend.review.queue_form import from_text
from backend.workspace import Workspace
from db.queries import claim_queries
from tests.review.test_claims import DOG, ICC, text_of, with_claims
from tests.traced_ui.pages import Page


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = with_claims(tmp_path)
    yield opened
    opened.store.close()


def test_vague_claims_are_counted_and_removed_in_one_step(workspace: Workspace) -> None:
    everything = workspace.review.filter_of(1, from_text("review=all&order=position"))
    assert workspace.store.read(claim_queries.count_claims, 1).vague == 2
    workspace.review.remove_claim(2, 0, DOG)
    edit = BulkEdit(remove_vague=True)
    preview = edit_queue(workspace.store, everything, edit)
    assert (preview.changed, preview.unchanged, text_of(workspace)) == (2, 1, None)
    done = edit_queue(workspace.store, everything, edit, "Ada")
    assert (done.changed, done.refused) == (2, 0)
    assert text_of(workspace) == "A dog runs.\n\nA cat sleeps. It rains."
    assert text_of(workspace, 2) == "A cat sleeps. It rains."
    assert edit_queue(workspace.store, everything, edit).changed == 0, "nothing is left to do"
    workspace.review.undo(1, "Ada")
    assert text_of(workspace) is None
    both = BulkEdit(find="runs", replace="walks", remove_vague=True)
    assert edit_queue(workspace.store, everything, both, "Ada").changed == 2
    assert text_of(workspace) == "A dog walks.\n\nA cat sleeps. It rains."


def test_the_form_counts_the_captions_that_the_filter_for_vague_claims_finds(
    workspace: Workspace,
) -> None:
    page = Page(workspace)
    page.press("filter", filter={"review": "all", "vague": "yes"})
    found = page.shown["queue"].count('data-action="open"')
    page.press("replace")
    assert f"remove vague sentences (of {found} captions in the dataset)" in page.shown["edit"]


def test_a_caption_of_nothing_but_vague_claims_is_left(workspace: Workspace) -> None:
    workspace.store.write(claim_queries.save_numbers, {(1, span[0]): {"icc": 0.1} for span in ICC})
    filter = workspace.review.filter_of(1, from_text("review=all"))
    done = edit_queue(workspace.store, filter, BulkEdit(remove_vague=True))
    assert (done.changed, done.refused) == (1, 1)
