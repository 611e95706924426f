"""An open review page without a browser: it sends what the browser would."""

import json
import re
from typing import Any

from backend.review.views import PairView
from backend.workspace import QueueFilter, Workspace
from traced_ui.board import Post, answer_in
from traced_ui.page_state import PageState


class Page:
    """One open page: presses keys with what it shows. `shown`: its parts as HTML."""

    def __init__(
        self, workspace: Workspace, dataset: int | None = 1, /, curator: str | None = None,
        **query: str,
    ) -> None:  # fmt: skip
        self.workspace, self.curator = workspace, curator
        self.state = PageState()
        self.shown: dict[str, str] = {}
        self.send("visit", dataset=dataset, address=query)

    @property
    def pair(self) -> int:
        """The pair that the page shows."""
        assert self.state.pair is not None
        return self.state.pair

    @property
    def listed(self) -> list[int]:
        """The pairs of the left column, in order."""
        return [int(pair) for pair in re.findall(r'id="row-(\d+)"', self.shown["queue"])]

    def send(self, action: str, **more: Any) -> str:
        """Let the server perform an action; returns the message on the page afterwards."""
        return str(self.request(acts=[{"action": action, **more}])["parts"].get("toast", ""))

    def press(self, action: str, **more: Any) -> str:
        """The same for a key on the pair that is shown, as it is now."""
        seen = {} if self.state.pair is None else self.seen(self.pair)
        message = self.send(action, **{**seen, **more})
        if action in ("suggest", "richer"):  # only asked; the page then draws what is stored
            self.request(redraw=True)
        return message

    def post(self, *verdicts: dict[str, Any], shown: int | None = None, **more: Any) -> Any:
        """Save verdicts in the background, while the page shows the pair `shown`."""
        if shown is not None:
            self.state.pair = shown
        return self.request(verdicts=list(verdicts), **more)

    def verdict(self, pair: int, action: str, **changed: Any) -> dict[str, Any]:
        """A verdict on a pair as it is now."""
        return {**self.seen(pair), "action": action, **changed}

    def request(self, **body: Any) -> Any:
        """The server's answer; the page shows it."""
        state = self.state.model_dump()
        post = Post.model_validate({"state": state, **body})
        result = json.loads(answer_in(self.workspace, post, self.curator))
        self.state = PageState.model_validate(result["state"])
        self.shown |= result["parts"]
        return result

    def view(self, pair: int) -> PairView:
        """The pair in the store."""
        return self.workspace.review.open_pair(pair)

    def seen(self, pair: int) -> dict[str, Any]:
        """How an act names a pair on the screen."""
        view = self.view(pair)
        return {
            "author": self.state.author, "pair": pair, "version": view.verdict.version,
            "fingerprint": view.fingerprint, "name": view.name,
        }  # fmt: skip


def decisions(workspace: Workspace) -> list[str | None]:
    """The decisions of the first dataset, in the order of import."""
    rows = workspace.review.queue_page(QueueFilter(1, order="position", descending=False)).rows
    return [row.decision for row in rows]
