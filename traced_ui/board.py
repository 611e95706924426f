"""The review page's requests: verdicts in the background, and one action at a time.

The browser (`board/`) holds the page's state (`page_state.py`) and the next pairs of its queue. It
shows one as soon as a verdict is given, and posts verdicts in the order in which they were given;
posting a verdict twice writes it once, so that a browser that got no answer posts again. Verdicts
that cannot be saved are returned with a reason, which the browser shows until it is acknowledged.
Any other key is one `act`, whose answer redraws the page.

With login enabled, the pairs prefetched by a page are held for its curator, like the one on the
screen: nobody else gets them.
"""

import functools
import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import fastapi
import gradio as gr
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, Field

from backend.engine.detection.localisation import NAMED
from backend.measures import MEASURES, filter_names
from backend.workspace import Workspace
from traced_ui import review_labels, review_page
from traced_ui.keyboard import key_table
from traced_ui.login import curator_of
from traced_ui.messages import explain_on_page, note
from traced_ui.page_actions import (
    ADDED_SCRIPTS,
    ASKING,
    FORMS,
    OPEN_ELSEWHERE,
    SCRIPTS_FOLDER,
    WRITING,
    AnyAction,
    Judgement,
    Parts,
    drawn_pair,
    is_verdict,
)
from traced_ui.page_state import PageState
from traced_ui.review_actions import ALL_KEYS, OpenPage
from traced_ui.review_labels import verdict_label
from traced_ui.templates import render

#: Number of prefetched pairs: at 500 ms per response, enough for twenty verdicts a second;
#: with login fewer, because nobody else gets them meanwhile.
DEPTH, TEAM_DEPTH = 10, 5
#: Maximum number of verdicts in one post; the browser sends more in the next one.
MOST_VERDICTS = 50
MOST_ACTS = 50
_TYPES = {".js": "text/javascript", ".woff2": "font/woff2"}
#: The page's scripts, with those of features and packages, and its font, by file name.
FILES = {
    file.name: file.read_bytes()
    for file in sorted(SCRIPTS_FOLDER.iterdir())
    if file.suffix in _TYPES
} | ADDED_SCRIPTS
#: Scripts that the review page imports when a picture is pasted.
WHEN_USED = ("pasted.js", "smaller.js")
#: Part of their addresses, which lets browsers keep them: other contents have another one.
VERSION = hashlib.blake2b(b"\0".join(FILES.values()), digest_size=8).hexdigest()
FONT = f"""@font-face {{ font-family: Inter; font-weight: 100 900; font-display: swap;
  src: url("board/{VERSION}/inter.woff2") format("woff2"); }}"""


def preload_header(names: Iterable[str]) -> str:
    """The header `Link` of a page: the browser loads these files while it starts Gradio, whose own
    scripts, which it needs first, do not wait for ours."""
    kinds = {
        ".js": "modulepreload; fetchpriority=low",
        ".woff2": 'preload; as=font; type="font/woff2"; crossorigin',
    }  # fmt: skip
    return ", ".join(
        "<" + f"board/{VERSION}/{name}>; rel={kinds[Path(name).suffix]}" for name in names
    )


class Post(BaseModel):
    """What a page sends: verdicts to save, then actions or (`redraw`) the wish to be drawn anew.
    An open page sends one action at a time; one that is left, those that are not confirmed.
    `have`: the marks (versions) of its prefetched pairs, by pair id."""

    state: PageState
    verdicts: list[Judgement] = Field(default_factory=list, max_length=MOST_VERDICTS)
    acts: list[AnyAction] = Field(default_factory=list, max_length=MOST_ACTS)
    redraw: bool = False
    have: dict[int, str] = Field(default_factory=dict, max_length=100)


def add_routes(
    app: fastapi.FastAPI,
    workspace: Workspace,
    answer_elsewhere: Callable[[Post, str | None], bytes] | None = None,
) -> None:
    """Add /review/acts, which takes what the page does and returns what to show, and the page's
    scripts and font. `answer_elsewhere`: answers a post of a curator instead of this process."""
    answer_post = answer_elsewhere or functools.partial(answer_in, workspace)

    @app.post("/review/acts")
    def acts(post: Post, request: fastapi.Request) -> Response:
        return Response(answer_post(post, curator_of(request)), media_type="application/json")

    @app.get("/board/{version}/{name}")
    def file(version: str, name: str) -> Response:
        if version != VERSION or name not in FILES:
            return PlainTextResponse("There is no such file.", status_code=404)
        headers = {"Cache-Control": "private, max-age=31536000, immutable"}
        return Response(FILES[name], media_type=_TYPES[Path(name).suffix], headers=headers)


def asks_the_server(post: Post) -> bool:
    """Whether no other process may answer the post: it asks a language model, or may show a queue
    by meaning, whose model is loaded once, before it is shown (`find-meaning`). A saved view may be
    one of these."""
    came_from = post.state.came_from
    queues = [post.state.filter, *([came_from.filter] if came_from else ())]
    queues += [getattr(act, name, {}) for act in post.acts for name in ("filter", "address")]
    is_asking = any(act.action in (*ASKING, "view") for act in post.acts)
    return is_asking or any(queue.get("meaning") for queue in queues)


def answer_in(workspace: Workspace, post: Post, curator: str | None) -> bytes:
    """The answer to a post of a curator, as JSON. `curator`: None without login."""
    return json.dumps(answer(OpenPage(workspace, post.state, curator), post)).encode()


def answer(page: OpenPage, post: Post) -> dict[str, Any]:
    """Save the verdicts, perform the actions, and draw what follows.

    In the result, `state` is the page's new state; `parts`: HTML by place; `saved`: the pairs whose
    verdicts are saved; `returned`: verdicts that are not, as HTML; `ahead`: the pairs after the one
    on the page (see `prefetch`), None after an action.
    """
    saved_pairs, refusals = [], []
    for verdict in post.verdicts:
        try:
            saved_pairs.append((verdict.pair, page.save(verdict)))
        except Exception as error:
            refusals.append(
                {
                    "pair": verdict.pair or 0,
                    "name": verdict.name,
                    "label": verdict_label(verdict.action),
                    "text": verdict.text,
                    "reason": explain_on_page(error),
                }
            )
    if saved_pairs:
        reports = [report for _, report in saved_pairs]
        page.toast = render("review/saved.html", saved=reports, is_last=False)
    parts: Parts = {"toast": page.toast}
    ahead = None
    for act in post.acts:
        before = page.state.pair
        parts = page.perform(act)
        is_given = is_verdict(act.action) and before != page.state.pair
        saved_pairs += [(before, {})] if is_given else []
    if not post.acts and page.state.dataset is not None:
        try:
            page.check_author(page.state.author)
            if post.redraw:
                page.refresh()
                parts = page.parts()
            page.filter()  # may wait for a model, and is kept: no transaction stays open for that
            # A team's holds are written in between.
            with nullcontext() if page.is_team else page.workspace.store.snapshot():
                if not page.state.grid and page.state.pair is not None:
                    decided = {act.pair for act in post.verdicts if is_verdict(act.action)}
                    ahead = prefetch(page, post.have, is_leaving=page.state.pair in decided)
                if not post.redraw:
                    parts = {"queue": page.draw_queue()[0], "toast": page.toast}
        except Exception as error:  # the verdicts are already saved
            parts = {"toast": note(explain_on_page(error), "error")}
    return {
        "state": page.state.model_dump(mode="json"),
        "parts": parts,
        "saved": [pair for pair, _ in saved_pairs],
        "returned": render("review/returned_pairs.html", returned=refusals) if refusals else "",
        "ahead": ahead,
    }


def prefetch(page: OpenPage, have: dict[int, str], is_leaving: bool = False) -> dict[str, Any]:
    """The pairs that follow the one on the page: `order` lists them, `drawn` contains those that
    the page does not have yet, `more`: whether the queue continues after them. `is_leaving`: the
    one on the page has been decided, and is not held any longer."""
    state, filter = page.state, page.filter()
    assert state.pair is not None
    assert state.place is not None
    depth = TEAM_DEPTH if page.is_team else DEPTH
    with page.workspace.store.snapshot():
        rows = page.review.following(filter, state.place, depth + 1)
        has_more, rows = len(rows) > depth, rows[:depth]
        sample: set[int] = set()
        if state.is_mixed:
            before = None if state.pair in state.sampled else state.pair
            shown = {state.pair, state.place, *state.sampled, *state.skipped}
            rows, sample = page.review.mix_random(filter, rows, before, shown)
    if page.is_team:
        following_pairs = [row.pair_id for row in rows]
        held_pairs = page.workspace.accounts.hold_each(
            following_pairs if is_leaving else [state.pair, *following_pairs],
            page.author, state.held,
        )  # fmt: skip
        state.held = list(held_pairs)
        if not is_leaving and state.pair not in held_pairs:
            page.toast += note(OPEN_ELSEWHERE)
        rows = tuple(row for row in rows if row.pair_id in held_pairs)
    scoring = functools.cache(page.workspace.jobs.last_scoring)
    pairs, order = {}, []
    with page.workspace.store.snapshot():
        for row in rows:
            is_sampled = row.pair_id in sample
            mark = f"{row.verdict_version} {row.p_error} {row.s_0}{' sampled' * is_sampled}"
            if row.p_error is None and (job := scoring(filter.dataset_id)) is not None:
                mark += f" {job.status}"
            if have.get(row.pair_id) != mark:
                view = page.review.open_pair(row.pair_id)
                if view.verdict.version != row.verdict_version:
                    continue  # somebody else has just decided it
                parts = drawn_pair(view, scoring, is_sampled)
                pairs[str(row.pair_id)] = {"mark": mark, "sampled": is_sampled, **parts}
            order.append(row.pair_id)
    return {"order": order, "drawn": pairs, "more": has_more}


def importing(script: str) -> str:
    """In the browser: one of the scripts. With the whole address: Chromium resolves an import in
    cached code at the page that cached it."""
    return f'import(new URL("board/{VERSION}/{script}", document.baseURI).href)'


def starting(script: str) -> str:
    """In the browser: start one of the scripts with its component."""
    return f"""{importing(script)}
    .then((script) => script.start(element, trigger));"""


def build(dataset_id: int | None) -> None:
    """Build the page. `dataset_id`: the dataset of an address that names none."""
    board = render(
        "review/board.html",
        keys=json.dumps(key_table(ALL_KEYS)),
        decisions=" ".join(review_labels.DECISIONS),
        writing=" ".join(WRITING),
        forms=" ".join(FORMS),
        asking=" ".join(ASKING),
        scripts=" ".join(ADDED_SCRIPTS),
        dataset=dataset_id,
        toolbar=review_page.toolbar(),
        measures=[MEASURES[name] for name in filter_names()],
        named=NAMED,
    )
    gr.HTML(board, js_on_load=starting("main.js"), apply_default_css=False, padding=False)
