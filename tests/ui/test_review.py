"""What keys and clicks do, on a real store: nothing is written that nobody has seen."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from backend.workspace import QueueFilter, Workspace
from traced_ui.desk import Desk


@dataclass
class Request:
    """As much of a Gradio request as the desk looks at."""

    session_hash: str = "one"
    query_params: dict[str, str] = field(default_factory=dict)
    username: str | None = None


class Page:
    """One open page: presses keys as the browser would, with what it last showed."""

    def __init__(self, desk: Desk, dataset_id: int = 1, session: str = "one", **query: str) -> None:
        self.desk, self.dataset_id = desk, dataset_id
        self.request = Request(session, query)
        self.shown = desk.open(dataset_id, self.request)

    @property
    def seat(self) -> Any:
        return self.desk.seats.of(self.request)

    def press(self, action: str, **more: Any) -> str:
        """The message on the page afterwards."""
        view = self.desk.workspace.open_pair(self.seat.pair_id)
        event = {"action": action, "pair": view.pair_id, "version": view.version, **more}
        self.shown = self.desk.act(event, self.dataset_id, self.request)
        return str(self.shown.toast)


@pytest.fixture
def desk(workspace: Workspace) -> Desk:
    return Desk(workspace)


def decisions(workspace: Workspace) -> list[str | None]:
    rows = workspace.queue_page(QueueFilter(1, order="position", descending=False)).rows
    return [row.decision for row in rows]


def test_a_verdict_is_saved_and_the_next_pair_is_there(desk: Desk) -> None:
    page = Page(desk)
    first = page.seat.pair_id
    assert "Saved" in page.press("correct")
    assert desk.workspace.open_pair(first).decision == "correct"
    assert page.seat.pair_id != first


def test_a_key_for_a_pair_that_is_gone_from_the_page_writes_nothing(desk: Desk) -> None:
    page = Page(desk)
    first = page.seat.pair_id
    page.press("correct")
    told = page.press("drop", pair=first, version=1)
    assert "nothing was written" in told
    assert decisions(desk.workspace).count("drop") == 0


def test_a_pair_that_another_page_decided_is_not_overwritten(desk: Desk) -> None:
    one, two = Page(desk, session="one"), Page(desk, session="two")
    pair = one.seat.pair_id
    assert two.seat.pair_id == pair
    one.press("correct")
    told = two.press("drop", version=0)
    assert "decided in the meantime" in told
    assert desk.workspace.open_pair(pair).decision == "correct"
    assert f'data-pair="{pair}" data-version="1"' in two.shown.stage  # as it is now
    assert "Saved" in two.press("drop")
    assert desk.workspace.open_pair(pair).decision == "drop"


def test_all_pairs_by_key_and_back_again(desk: Desk) -> None:
    page = Page(desk)
    total = len(decisions(desk.workspace))
    for _ in range(total):
        told = page.press("unsure")
    assert "last pair" in told
    assert decisions(desk.workspace) == ["unsure"] * total
    for _ in range(total):
        page.press("undo")
    assert decisions(desk.workspace) == [None] * total
    assert "nothing to undo" in page.press("undo")
    page.press("redo")
    assert decisions(desk.workspace).count("unsure") == 1


def test_an_own_correction(desk: Desk) -> None:
    page = Page(desk)
    pair = page.seat.pair_id
    assert "nothing changed" in page.press(
        "correction", text=desk.workspace.open_pair(pair).caption
    )
    assert "is empty" in page.press("correction", text="  ")
    page.press("correction", text="  A better <b>caption</b>.  ")
    assert desk.workspace.open_pair(pair).corrected_caption == "A better <b>caption</b>."


@pytest.mark.parametrize(
    "event",
    [
        {"action": "no-such-thing"},
        {"action": "suggestion-9"},
        {"action": "open", "target": 10**9},
        {"action": "step", "step": 7},
        {"action": "step-forward"},
        {"action": "filter", "filter": {"order": "magic"}},
        {"action": "filter", "filter": {"minimum_p": "abc"}},
        {"action": "correction"},
        {},
    ],
)
def test_no_event_breaks_the_page(desk: Desk, event: dict[str, Any]) -> None:
    page = Page(desk)
    page.press(event.pop("action", ""), **event)
    assert decisions(desk.workspace).count(None) == len(decisions(desk.workspace))
    page.press("next")


def test_next_and_previous_stay_within_the_queue(desk: Desk) -> None:
    page = Page(desk)
    first = page.seat.pair_id
    assert "first pair" in page.press("previous")
    page.press("next")
    assert page.seat.pair_id != first
    page.press("previous")
    assert page.seat.pair_id == first


def test_search_finds_text_case_aside_and_hostile_text_stays_text(desk: Desk) -> None:
    page = Page(desk)
    page.press("filter", filter={"review": "all", "order": "position", "text": "ONERROR"})
    queue, stage = page.shown.queue, page.shown.stage
    assert "1 pairs" in queue
    assert "<img src=x" not in queue + stage
    assert "&lt;img src=x onerror=alert(1)&gt;" in stage


def test_a_link_opens_its_pair_and_a_dead_link_the_queue(desk: Desk) -> None:
    pair = Page(desk).seat.pair_id + 3
    assert Page(desk, session="two", pair=str(pair)).seat.pair_id == pair
    for dead in ("99999", "x", ""):
        assert Page(desk, session=f"s{dead}", pair=dead).seat.pair_id is not None


def test_no_dataset_says_what_to_do(desk: Desk) -> None:
    shown = desk.open(None, Request("none"))
    assert "No dataset yet" in shown.stage


def test_unscored_pairs_say_so(desk: Desk) -> None:
    assert "Not scored yet" in Page(desk).shown.steps


def test_a_queue_can_be_kept_opened_and_forgotten(desk: Desk) -> None:
    page = Page(desk)
    page.press("filter", filter={"review": "all", "order": "position", "icc_to": ""})
    assert "Saved as &#x27;as it came&#x27;" in page.press("save-view", name=" as it  came ")
    page.press("filter", filter={"review": "all", "order": "s_0"})
    assert page.seat.filter["order"] == "s_0"
    page.press("view", name="as it came")
    assert page.seat.filter == {"review": "all", "order": "position"}
    assert "as it came" in page.shown.queue
    page.press("view", name="no such view")
    assert page.seat.filter == {"review": "unreviewed", "order": "p_error"}
    page.press("delete-view", name="as it came")
    assert "as it came" not in page.shown.queue
    assert "characters" in page.press("save-view", name="   ")
    assert "no number" in page.press("filter", filter={"s_0_from": "much"})


def test_a_link_opens_its_queue_and_nonsense_the_usual_one(desk: Desk) -> None:
    first = Page(desk, session="a", review="all", order="position")
    assert first.seat.filter == {"review": "all", "order": "position"}
    assert "order=position" in first.shown.queue
    for number, wrong in enumerate(({"order": "x"}, {"p_error_from": "x"})):
        page = Page(desk, 1, f"w{number}", **wrong)
        assert page.seat.filter == {"review": "unreviewed", "order": "p_error"}
    # Once on the page, the reader's own filters count, whatever the address said.
    first.press("filter", filter={"review": "decided"})
    desk.open(1, first.request)
    assert first.seat.filter["review"] == "decided"


def test_a_word_is_called_wrong_and_right_again(desk: Desk) -> None:
    page = Page(desk)
    pair = page.seat.pair_id
    page.press("mark-word", word=1)
    assert len(desk.workspace.open_pair(pair).wrong_words) == 1
    assert 'aria-pressed="true"' in page.shown.stage.split('data-word="1"')[1][:80]
    page.press("mark-word", word=1)
    assert desk.workspace.open_pair(pair).wrong_words == ()
    assert "no word" in page.press("mark-word", word=500)
    assert "nothing was written" in page.press("mark-word", word=0, pair=pair + 1)


def test_many_pairs_at_once_and_one_undo(desk: Desk) -> None:
    page = Page(desk)
    page.press("grid")
    assert 'class="picks"' in page.shown.stage
    rows = desk.workspace.queue_page(QueueFilter(1, "unreviewed")).rows
    assert "Select pairs first" in page.press("drop")
    assert decisions(desk.workspace).count("drop") == 0
    chosen = [[row.pair_id, row.verdict_version] for row in rows[:3]]
    assert "3 pairs saved" in page.press("many", decision="drop", pairs=chosen)
    assert decisions(desk.workspace).count("drop") == 3
    told = page.press("many", decision="correct", pairs=[chosen[0], [rows[3].pair_id, 0]])
    assert "1 pairs saved" in told
    assert "left alone" in told
    page.press("undo")
    assert "3 verdicts at once" in page.press("undo")
    assert decisions(desk.workspace).count("drop") == 0
    for wrong in ([], [["x", 1]], [[10**9, 0]]):
        page.press("many", decision="drop", pairs=wrong)
    page.press("many", decision="correction", pairs=chosen)
    assert set(decisions(desk.workspace)) == {None}
    page.press("open", target=rows[0].pair_id)
    assert 'class="picks"' not in page.shown.stage
