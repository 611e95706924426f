"""What a page posts: each verdict is saved for the pair that was seen, or returned."""

from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from backend.engine.constants.part import ConstantPart
from backend.errors import SettingsError
from backend.jobs.scoring.dataset_constants import ConstantChoice, remember_constants
from backend.jobs.scoring.stored_rows import ORIGIN
from backend.review.operations import Review
from backend.review.views import SuggestionView
from backend.verdict_texts import ABOUT_CAPTION
from backend.workspace import QueueFilter, Workspace
from db.column_types import now
from db.models import Hold, Pair
from db.queries import suggestion_queries
from db.queries.ranking_queries import p_error_of
from db.queries.suggestion_queries import NewSuggestion
from tests.engine.detection.made_trajectories import trajectory
from tests.traced_ui.pages import Page, decisions
from tests.traced_ui.samples import pair as sample_pair
from tests.traced_ui.samples import with_changes
from tests.tree import ROOT
from traced_ui import review_page
from traced_ui.board import DEPTH, FILES, TEAM_DEPTH, VERSION
from traced_ui.page_actions import WRITING
from traced_ui.page_state import PageState
from traced_ui.review_labels import LISTED
from traced_ui.review_page import stage
from traced_ui.server import create_app
from traced_ui.templates import percent
from traced_ui.trajectory_chart import steps_list


@pytest.fixture
def page(workspace: Workspace) -> Page:
    return Page(workspace)


def following(page: Page, **more: Any) -> list[int]:
    """The pairs that are prefetched."""
    order: list[int] = page.post(**more)["ahead"]["order"]
    return order


def test_following_pairs_are_drawn_once(page: Page) -> None:
    ready = page.post()["ahead"]
    assert ready["order"]
    assert set(ready["drawn"]) == {str(pair) for pair in ready["order"]}
    for pair in ready["order"]:
        assert f'data-pair="{pair}"' in ready["drawn"][str(pair)]["stage"]
        assert page.view(pair).verdict.decision is None
    marks = {pair: ready["drawn"][str(pair)]["mark"] for pair in ready["order"]}
    assert page.post(have=marks)["ahead"]["drawn"] == {}
    # A colleague decides one of them: the prefetched pair is outdated.
    decided = ready["order"][0]
    page.workspace.review.decide(decided, 0, "correct")
    assert decided not in following(page, have=marks)


def test_verdicts_go_to_the_pairs_that_were_seen(page: Page) -> None:
    first = page.pair
    order = following(page)
    assert len(order) <= DEPTH
    given = [page.verdict(first, "correct"), page.verdict(order[0], "drop")]
    done = page.post(*given, shown=order[1])
    assert "2 verdicts saved" in done["parts"]["toast"]
    assert (done["saved"], done["returned"]) == ([first, order[0]], "")
    assert [page.view(pair).verdict.decision for pair in (first, order[0])] == ["correct", "drop"]
    assert page.pair == order[1]
    assert f'data-target="{order[1]}"' in done["parts"]["queue"]
    # The same post again, because the response was lost: nothing is written again.
    assert not page.post(*given)["returned"]
    assert [page.view(pair).verdict.version for pair in (first, order[0])] == [1, 1]
    # Keys continue from what is on the page.
    page.press("undo")
    assert page.pair == order[0]
    assert page.view(order[0]).verdict.decision is None


def test_a_page_that_is_left_undoes_after_its_verdicts_and_once(page: Page) -> None:
    first, order = page.pair, following(page)
    given = [page.verdict(first, "correct"), page.verdict(order[0], "drop")]
    before = page.state.model_copy(deep=True)
    undo = {"action": "undo", "request": "a" * 32, "dataset": 1}
    again = {**undo, "request": "b" * 32}
    page.post(*given, shown=order[1], acts=[undo, again])
    assert [page.view(pair).verdict.decision for pair in (first, order[0])] == [None, None]
    # No answer came: the next page sends them again, with the history that this one had.
    page.state = before
    page.post(*given, shown=order[1])
    redo = page.request(acts=[undo, again, {"action": "redo", "request": "c" * 32, "dataset": 1}])
    assert redo["state"]["undone"] == [{"tags": [], "pair": order[1], "at": None}]
    assert [page.view(pair).verdict.decision for pair in (first, order[0])] == ["correct", None]
    # It is of another dataset by now: nothing else is taken back.
    page.post(acts=[{**undo, "request": "d" * 32, "dataset": 2}])
    assert page.view(first).verdict.decision == "correct"


def written(page: Page) -> tuple[Any, ...]:
    """What acts of the page can change in the store."""
    review = page.workspace.review
    pairs = [row.pair_id for row in review.queue_page(QueueFilter(1)).rows]
    views = [page.view(pair) for pair in pairs]
    return (
        [replace(view.verdict, history=()) for view in views],
        [(view.wrong_words, view.parts) for view in views], review.tags_of(pairs),
        review.saved_views(1),
        [(part.text, part.is_left_out) for part in review.constants(1)],
    )  # fmt: skip


TRIGGER = ConstantPart(("ohwx",), "begin", 118, 120)


def accept_own_caption_of(page: Page, other: int) -> None:
    """Correct the pair on the page to another one's caption, so that this may get its own."""
    suggestion = NewSuggestion(
        page.pair, "another row", page.view(other).caption, 0.1, 0.9, provenance={ORIGIN: other}
    )
    page.workspace.store.write(suggestion_queries.save_suggestions, [suggestion])
    (row,) = page.workspace.review.suggestions(page.pair)
    page.workspace.review.decide(page.pair, 0, "correction", suggestion_id=row.id)
    assert row.id == 1


def acts_that_write(page: Page, tagged: int) -> dict[str, dict[str, Any]]:
    """What acts need besides the pair on the page; those of a feature, by `acts.py` of its tests.
    `tagged`: the pair with the tag "odd"."""
    pair = page.pair
    selected = [(pair, page.view(pair).verdict.version, page.view(pair).fingerprint)]
    text = "A typed caption."
    acts: dict[str, dict[str, Any]] = {
        "delete-view": {"name": "mine"}, "save-view": {"name": "new"},
        "correction": {"text": text}, "edit-caption": {"text": text}, "save-note": {"note": "why"},
        "mark-word": {"word": 0}, "many": {"pairs": selected, "decision": "drop"},
        "swap": {"target": 1}, "switch-constant": {"name": TRIGGER.text},
        "tag-add": {"edit": {"of": f"{pair},{tagged}", "name": "odd"}},
        "tag-remove": {"edit": {"of": str(tagged), "name": "odd"}},
        "tag-rename": {"edit": {"of": str(tagged), "name": "odd", "new": "other"}},
    }  # fmt: skip
    for path in sorted((ROOT / "tests" / "features").glob("*/acts.py")):
        of_feature = import_module(f"tests.features.{path.parent.name}.acts")
        acts |= of_feature.acts_that_write(page)
    return acts


#: Accepting a suggestion is a verdict like the others.
ELSEWHERE = ("suggestion", "enrich")
NAMED = [name for name in WRITING if name not in ELSEWHERE]


@pytest.mark.parametrize("action", NAMED)
def test_an_act_that_a_left_page_sends_twice_is_done_once(page: Page, action: str) -> None:
    """First when the page is left, and again by the next one, which shows another pair."""
    tagged, elsewhere = following(page)[:2]
    page.press("save-view", name="mine")
    page.press("tag-add", edit={"of": str(tagged), "name": "odd"})
    if action == "redo":
        page.press("undo")
    if action == "swap":
        accept_own_caption_of(page, elsewhere)
    page.workspace.store.write(remember_constants, 1, ConstantChoice(), (TRIGGER,))
    more = acts_that_write(page, tagged).get(action, {})
    act = {**page.seen(page.pair), "action": action, "request": "a" * 32, "dataset": 1, **more}
    nothing, before = written(page), page.state.model_copy(deep=True)
    page.request(acts=[act])
    once, history = written(page), page.state.done
    assert once != nothing, "of a feature: see acts_that_write"
    page.state = before.model_copy(update={"pair": elsewhere})
    page.request(acts=[act])
    assert written(page) == once
    assert [step.tags for step in page.state.done] == [step.tags for step in history]


def test_what_was_done_to_another_dataset_is_not_done_to_this_one(page: Page) -> None:
    every_act = acts_that_write(page, following(page)[0])
    nothing = written(page)
    for action, more in ((name, every_act.get(name, {})) for name in NAMED):
        act = {**page.seen(page.pair), "action": action, "request": "b" * 32, **more}
        message = page.request(acts=[{**act, "dataset": 2}])["parts"]["toast"]
        assert "another dataset" in message, action
    assert written(page) == nothing


def test_a_verdict_that_cannot_be_saved_is_returned_with_its_pair(page: Page) -> None:
    first, order = page.pair, following(page)
    late = page.verdict(first, "drop")
    page.workspace.review.decide(first, 0, "unsure")  # a colleague
    done = page.post(
        late,
        page.verdict(order[0], "drop", fingerprint="another pair"),
        page.verdict(order[1], "become administrator"),
        page.verdict(order[2], "correct"),
        shown=order[3],
    )
    returned = done["returned"]
    for reason in ("changed in the meantime", "no longer in the database", "is not a verdict"):
        assert reason in returned
    assert returned.count("<li ") == 3
    assert f'data-target="{first}"' in returned
    assert done["saved"] == [order[2]]
    stored = [page.view(pair).verdict.decision for pair in (first, *order[:3])]
    assert stored == ["unsure", None, None, "correct"]

    hostile = page.verdict(order[3], "<script>", name="<script>")
    assert "<script" not in page.post(hostile)["returned"]


def test_a_typed_correction_is_posted_like_any_verdict(page: Page) -> None:
    first, order = page.pair, following(page)
    typed = page.verdict(first, "correction", text="  A lighthouse at <dusk>. ")
    assert "Corrected." in page.post(typed, shown=order[0])["parts"]["toast"]
    assert page.view(first).verdict.corrected_caption == "A lighthouse at <dusk>."
    # Again, because the response was lost: the same text is the same verdict.
    assert not page.post(typed)["returned"]
    # A colleague was first: the text is returned with its pair, to be read and copied.
    late = page.verdict(order[0], "correction", text="A lighthouse at <dusk>.")
    page.workspace.review.decide(order[0], 0, "unsure")
    returned = page.post(late, shown=order[1])["returned"]
    assert "A lighthouse at &lt;dusk&gt;." in returned
    assert f'data-returned="{order[0]}"' in returned
    assert page.view(order[0]).verdict.decision == "unsure"
    for text, reason in ((" ", "caption is empty"), (page.view(order[1]).caption, "same as the")):
        wrong = page.verdict(order[1], "correction", text=text)
        assert reason in page.post(wrong)["returned"]


def test_verdicts_are_saved_before_the_page_has_a_state(workspace: Workspace) -> None:
    """After a reload the browser first sends what was not confirmed."""
    page = Page(workspace)
    act = page.verdict(page.pair, "drop")
    reloaded = Page(workspace)
    reloaded.state = PageState()
    done = reloaded.post(act)
    assert (done["saved"], done["ahead"]) == ([act["pair"]], None)
    assert page.view(act["pair"]).verdict.decision == "drop"


def test_posting_verdicts_for_all_pairs_ends_the_queue(page: Page) -> None:
    pair, total = page.pair, len(decisions(page.workspace))
    for left in range(total, 0, -1):
        ahead = page.post(shown=pair)["ahead"]
        assert bool(ahead["order"]) == (left > 1)
        assert ahead["more"] == (left - 1 > DEPTH)
        after = ahead["order"][0] if ahead["order"] else pair
        page.post(page.verdict(pair, "unsure"), shown=after)
        pair = after
    assert decisions(page.workspace) == ["unsure"] * total
    assert "last pair" in page.press("end")


def test_no_pair_is_prefetched_for_two_people(workspace: Workspace) -> None:
    ada, ben = Page(workspace, curator="Ada"), Page(workspace, curator="Ben")
    first, order = ada.pair, following(ada)
    of_ben = {ben.pair, *following(ben)}
    assert len(order) == TEAM_DEPTH
    assert set(ada.state.held) == {first, *order}
    assert not set(ada.state.held) & of_ben
    # A verdict releases its pair, and another one is held at the end of the prefetched pairs.
    done = ada.post(ada.verdict(first, "drop"), shown=order[0])
    assert not done["returned"]
    assert set(ada.state.held) == {order[0], *done["ahead"]["order"]}
    assert first not in ada.state.held
    assert not set(ada.state.held) & of_ben
    # Also while the picture of the next pair is loading: the page shows the decided one until then.
    loading, order = ada.pair, following(ada)
    assert not ada.post(ada.verdict(loading, "drop"), shown=loading)["returned"]
    assert set(order) <= set(ada.state.held)
    assert workspace.accounts.hold(loading, "Cid")
    ada.post(shown=order[0])
    # Redraws by the server keep the prefetched pairs; going elsewhere releases them.
    before = ada.state.held
    ada.press("next")
    assert ada.state.held == before
    ada.press("open", target=first)
    assert ada.state.held == [first]
    assert following(ben), "what is not ready any more is for others"


def test_nothing_is_saved_under_the_name_of_who_logged_in_meanwhile(workspace: Workspace) -> None:
    """In another tab: cookies are those of the browser."""
    page = Page(workspace, curator="Ada")
    first, waiting = page.pair, page.verdict(page.pair, "drop")
    page.curator = "Ben"
    done = page.post(waiting)
    assert (done["saved"], "Ada" in done["returned"]) == ([], True)
    assert done["ahead"] is None
    assert "Ben is logged in" in page.press("correct")
    assert "Ben is logged in" in page.press("undo")
    assert page.view(first).verdict.history == ()
    page.send("visit", dataset=1)
    of_ben = page.pair
    page.press("correct")
    assert [act.author for act in page.view(of_ben).verdict.history] == ["Ben"]


def test_a_pair_that_a_colleague_has_taken_meanwhile_is_reported(workspace: Workspace) -> None:
    """Holds expire after a long break."""
    ada = Page(workspace, curator="Ada")
    order = following(ada)
    with workspace.store.writing() as session:
        session.execute(update(Hold).values(expires_at=now() - timedelta(seconds=1)))
    assert workspace.accounts.hold_each([ada.pair, order[0]], "Ben") == [ada.pair, order[0]]
    back = ada.post()
    assert "A colleague has this pair open" in back["parts"]["toast"]
    assert order[0] not in back["ahead"]["order"]


def test_a_pair_that_somebody_decides_while_it_is_listed_is_not_prefetched(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, ben = Page(workspace, curator="Ada"), Page(workspace, curator="Ben")
    hold_each = workspace.accounts.hold_each
    decided = []

    def decide_one(pairs: list[int], *rest: Any) -> list[int]:
        if not decided:
            decided.append(pairs[-1])
            ben.post(ben.verdict(pairs[-1], "drop"))
        return hold_each(pairs, *rest)

    monkeypatch.setattr(type(workspace.accounts), "hold_each", lambda _, *rest: decide_one(*rest))
    order = ada.post()["ahead"]["order"]
    assert decided[0] not in order


def test_a_pair_that_somebody_decides_while_it_is_found_is_passed_by(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = Page(workspace, curator="Ada")
    expected, following_pair = following(ada)[:2]
    ada.press("open", target=ada.pair)  # holds no other pair
    hold_neighbour, decided = workspace.accounts.hold_neighbour, []

    def decide_first(filter: QueueFilter, pair: int, curator: str, *rest: Any, **more: Any) -> Any:
        if curator == "Ada" and not decided:
            decided.append(expected)
            workspace.review.decide(expected, 0, "drop")
        return hold_neighbour(filter, pair, curator, *rest, **more)

    monkeypatch.setattr(
        type(workspace.accounts), "hold_neighbour",
        lambda _, *given, **more: decide_first(*given, **more),
    )  # fmt: skip
    ada.press("next")
    assert decided == [expected]
    assert ada.view(expected).verdict.decision == "drop"
    assert ada.pair == following_pair


def test_a_pair_is_held_until_its_verdict_is_stored(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the server shows the next pair."""
    ada = Page(workspace, curator="Ada")
    first, save, is_free = ada.pair, type(workspace.review).decide, []

    def take_before(*given: Any, **more: Any) -> Any:
        is_free.append(workspace.accounts.hold(first, "Ben"))
        return save(*given, **more)

    monkeypatch.setattr(type(workspace.review), "decide", take_before)
    ada.press("correct")
    assert is_free == [False]
    assert ada.view(first).verdict.decision == "correct"
    assert ada.pair != first
    following(ada)
    assert workspace.accounts.hold(first, "Ben"), "whose opinion may be wanted"


def test_a_page_that_waits_for_scores_opens_the_queue_once_there_are_some(
    workspace: Workspace,
) -> None:
    page = Page(workspace)
    first = page.pair
    page.press("next")
    assert page.state.waiting
    waiting = page.pair
    page.request(redraw=True)
    assert page.pair == waiting, "there are none yet"
    with workspace.store.writing() as session:
        session.execute(update(Pair).values({p_error_of(session, 1).key: 0.5}))
    page.request(redraw=True)
    assert page.pair == first
    page.press("next")
    page.request(redraw=True)
    assert page.pair == waiting, "the curator is at work"


def test_a_post_is_checked_before_anything_is_done(workspace: Workspace) -> None:
    client = TestClient(create_app(workspace, 1))
    act = {"action": "drop", "pair": 1, "version": 0, "fingerprint": ""}
    post = {"state": {"dataset": 1, "pair": 1}, "verdicts": [act]}
    for wrong in (
        {}, {**post, "verdicts": [act] * 51}, {**post, "acts": [{}]}, {**post, "acts": [act] * 51},
        {**post, "state": {"pair": "x"}},
        {**post, "state": {"visited": [1] * 201}}, {**post, "state": {"after": {"value": "x"}}},
    ):  # fmt: skip
        assert client.post("/review/acts", json=wrong).status_code == 422
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert client.post("/review/acts", json=post, headers=foreign).status_code == 403
    form = client.post("/review/acts", data={"acts": "undo"})
    assert form.status_code == 422
    assert "no longer in the database" in client.post("/review/acts", json=post).json()["returned"]
    assert decisions(workspace).count("drop") == 0


def test_scripts_have_addresses_that_change_with_them(workspace: Workspace) -> None:
    client = TestClient(create_app(workspace, 1))
    for name, script in FILES.items():
        served = client.get(f"/board/{VERSION}/{name}")
        assert (served.content, served.status_code) == (script, 200)
        assert "immutable" in served.headers["cache-control"]
    assert client.get("/board/0/main.js").status_code == 404
    page = client.get("/", headers={"Accept-Encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip"
    # Not the font, nor the scripts of pasted pictures.
    assert page.headers["link"].count("rel=modulepreload; fetchpriority=low") == len(FILES) - 3
    other = client.get("/progress", headers={"Accept-Encoding": "gzip"})
    assert other.headers["content-encoding"] == "gzip"
    assert other.headers["link"].count("modulepreload") == 1  # the bar
    assert client.get(f"/board/{VERSION}/..%2fserver.py").status_code == 404


def test_a_pair_says_what_is_deferred(page: Page) -> None:
    view = page.view(page.pair)
    judged = SuggestionView(1, "A red dog", "guided infill", 0.1, 0.4, 0.9, 0.2, 1, 0.8)
    waiting = replace(judged, id=2, p_after=None)
    assert "data-deferred" not in stage(with_changes(view, corrections=(judged,)))
    markup = stage(with_changes(view, corrections=(judged, waiting)))
    assert "data-deferred" in markup
    assert markup.count(f"{percent(0.9)} → ") == 1
    # Nothing can be computed without a classifier.
    unknown = replace(waiting, p_before=None)
    assert "data-deferred" not in stage(with_changes(view, corrections=(unknown,)))
    whole = trajectory("a red dog", [0.1, -0.2, 0.1], 0.5)
    assert "data-deferred" not in stage(with_changes(view, trajectory=whole))
    assert "data-deferred" in stage(with_changes(view, trajectory=whole.first_step()))
    assert "data-rest" in steps_list(whole.first_step())
    assert "data-rest" not in steps_list(whole)


def test_what_is_deferred_and_cannot_be_computed_says_why(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a model nothing is being computed."""
    problem = SettingsError("The model is not on this machine.")

    def refuse(review: Review, pair: int) -> bool:
        raise problem

    monkeypatch.setattr(Review, "complete", refuse)
    parts = page.request(acts=[{"action": "complete", "pair": page.pair}])["parts"]
    assert (parts["rest"], "stored" in parts) == (str(problem), False)


def test_a_picture_without_a_caption_waits_for_one(page: Page) -> None:
    with page.workspace.store.writing() as session:
        session.execute(update(Pair).where(Pair.id == page.pair).values(caption=""))
    described = SuggestionView(1, "A red dog", "described anew", 0.0, 0.9, None, None)
    view = with_changes(page.view(page.pair), corrections=(described,))
    markup = stage(view)
    assert "no caption yet" in markup
    assert markup.count(" disabled") == 3
    assert "match 0.90" in markup
    assert "0 were errors" in page.shown["queue"]
    assert "There is no caption to judge yet" in page.press("correct")
    page.press("drop")
    assert page.view(view.pair_id).verdict.decision == "drop"
    assert page.workspace.review.counts(1).errors_found == 0


def test_any_verdict_about_captions_waits_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    before = stage(sample_pair("")).count(" disabled")
    monkeypatch.setattr(review_page, "ABOUT_CAPTION", (*ABOUT_CAPTION, "unsure"))
    assert stage(sample_pair("")).count(" disabled") == before + 1


def test_all_captions_of_a_picture_are_one_key_apart(page: Page) -> None:
    by_name = {page.view(pair).external_id: pair for pair in [page.pair, *following(page)]}
    page.send("open", target=by_name["ok-one-pixel"])
    assert "captions of this picture" not in page.shown["steps"]
    assert "the only caption" in page.press("next-caption")
    first = by_name["ok-1"]
    siblings = [row.pair_id for row in page.view(first).picture.captions]
    assert {page.view(pair).picture.name for pair in siblings} == {"a.png"}
    page.workspace.review.decide(siblings[1], 0, "drop")
    page.send("open", target=first)
    captions_tab = page.shown["steps"].partition(f"{len(siblings)} captions of this picture")[2]
    assert [f'data-target="{pair}"' in captions_tab for pair in siblings] == [True] * len(siblings)
    assert f"<small>{LISTED['drop']}</small>" in captions_tab
    for following_one in (*siblings[1:], first):
        page.press("next-caption")
        assert page.pair == following_one


def test_words_that_the_other_captions_contradict_are_named(page: Page) -> None:
    first = {page.view(pair).external_id: pair for pair in [page.pair, *following(page)]}["ok-1"]
    red_one, *others = [row.pair_id for row in page.view(first).picture.captions]

    def caption(pair: int, text: str) -> None:
        version = page.view(pair).verdict.version
        page.workspace.review.decide(pair, version, "correction", corrected_caption=text)

    for pair in others:
        caption(pair, "A brown <dog> and a cat.")
    caption(red_one, "A red dog.")
    page.send("open", target=red_one)
    assert "“red”: people describe the dog differently" in page.shown["steps"]
    page.workspace.review.decide(red_one, page.view(red_one).verdict.version, "drop")
    page.send("open", target=others[0])
    assert "differently" not in page.shown["steps"]


def test_what_a_colleague_holds_is_left_out_of_what_is_to_be_decided_only(
    workspace: Workspace,
) -> None:
    ada = Page(workspace, curator="Ada")
    row = f'id="row-{ada.pair}"'
    assert row not in Page(workspace, curator="Ben").shown["queue"]
    assert row in Page(workspace, curator="Ben", review="all").shown["queue"]
