"""The same actions for programs: named endpoints over Gradio's own interface, and as MCP tools.

    from gradio_client import Client

    client = Client("http://127.0.0.1:7860")
    for pair in client.predict("demo", api_name="/queue")["pairs"][:10]:
        whole = client.predict(pair["id"], api_name="/pair")
        if whole["p_error"] > 0.95:
            client.predict(pair["id"], whole["version"], "drop", api_name="/decide")

Where people log in, so do programs: `Client(…, auth=("name", "password"))`. Answers are plain JSON;
what cannot be done comes back as an error that says why. The docstrings below are what callers and
language models get to read.
"""

import functools
import json
from collections.abc import Callable
from typing import Any

import gradio as gr

from backend.pipeline.queue_fields import START, cleaned, from_fields
from backend.views import PairView, SuggestionView
from backend.workspace import Cursor, Workspace
from traced_ui.messages import explained

_MOST = 200


def build(workspace: Workspace) -> None:
    """Register the endpoints; called inside the Blocks."""
    actions = Actions(workspace)
    for function in (
        actions.datasets,
        actions.queue,
        actions.next,
        actions.pair,
        actions.decide,
        actions.undo,
        actions.redo,
        actions.suggest,
        actions.check,
        actions.similar,
        actions.progress,
    ):
        gr.api(_told(function), api_name=function.__name__, concurrency_limit=4)


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    """Problems become Gradio's errors, with our explanation and nothing of the program's inside."""

    @functools.wraps(function)
    def safe(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except Exception as problem:
            raise gr.Error(explained(problem), print_exception=False) from None

    return safe


class Actions:
    """What programs can do. A verdict bears the name of who has logged in."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def datasets(self) -> list[dict[str, Any]]:
        """All datasets with their counts.

        Returns:
            For each dataset its name, the number of pairs, how many are scored and reviewed, and
            how many captions were found wrong.
        """
        return [
            {
                "name": one.name,
                "pairs": one.total,
                "scored": one.scored,
                "reviewed": one.reviewed,
                "errors_found": one.errors_found,
            }
            for one in self._workspace.datasets()
        ]

    def queue(
        self,
        dataset: str,
        review: str = "unreviewed",
        order: str = "p_error",
        text: str = "",
        meaning: str = "",
        limit: int = 20,
        after: str = "",
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """A page of the review queue, by default the captions most likely to be wrong first.

        Args:
            dataset: The dataset's name.
            review: unreviewed, decided, disputed or all.
            order: p_error, s_0, gain, icc, disagreement, uncertainty, lot or position.
            text: Only captions that contain these words.
            meaning: Only captions that mean something like this, nearest first.
            limit: How many pairs, at most 200.
            after: The `next` of the page before; empty for the first page.

        Returns:
            `pairs`, each with id, caption, p_error (probability that the caption is wrong), s_0
            (image-text score), gain and verdict; and `next`, null on the last page.
        """
        found = self._workspace.find(dataset)
        fields = {**START, "review": review, "order": order, "text": text, "meaning": meaning}
        filter = from_fields(found, cleaned(fields), self._workspace.search(found, meaning))
        if request is not None and request.username:
            filter = self._workspace.handed(filter, request.username)
        cursor = Cursor(*json.loads(after)) if after else None
        page = self._workspace.queue_page(filter, cursor, max(1, min(int(limit), _MOST)))
        following = page.next_cursor
        return {
            "pairs": [
                {
                    "id": row.pair_id,
                    "external_id": row.external_id,
                    "caption": row.caption,
                    "p_error": row.p_error,
                    "s_0": row.s_0,
                    "gain": row.gain,
                    "icc": row.icc,
                    "verdict": row.decision,
                    "version": row.verdict_version,
                }
                for row in page.rows
            ],
            "next": json.dumps([following.value, following.pair_id]) if following else None,
        }

    def next(
        self, dataset: str, order: str = "p_error", request: gr.Request | None = None
    ) -> dict[str, Any] | None:
        """The next pair to judge, by default the one most likely to be wrong.

        Where people log in, it is handed to nobody else for ten minutes.

        Args:
            dataset: The dataset's name.
            order: p_error, s_0, gain, icc, disagreement, uncertainty, lot or position.

        Returns:
            The pair, as `pair` gives it, or null when nothing is left.
        """
        found = self._workspace.find(dataset)
        filter = from_fields(found, cleaned({**START, "order": order}))
        reader = request.username if request is not None else None
        pair_id = (
            self._workspace.take_next(filter, reader)
            if reader
            else self._workspace.first_pair(filter)
        )
        return None if pair_id is None else self.pair(pair_id, request)

    def pair(self, pair_id: int, request: gr.Request | None = None) -> dict[str, Any]:
        """Everything about one image-caption pair.

        Args:
            pair_id: The pair's id, as in the queue.

        Returns:
            The caption, the probability that it is wrong, the suspect words with their suspicion
            from 0 to 1, the scores along the caption trajectory, suggested corrections, the verdict
            that holds, the version to decide on, and the path of the picture on this server.
        """
        reader = request.username if request is not None else None
        return _pair(self._workspace.open_pair(int(pair_id), reader or None))

    def decide(
        self,
        pair_id: int,
        version: int,
        verdict: str,
        corrected_caption: str = "",
        suggestion_id: int = 0,
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """Give a verdict on a pair. It is saved when this returns.

        Args:
            pair_id: The pair's id.
            version: The version of the pair that was looked at; if somebody has decided since then,
                nothing is written and the answer is an error.
            verdict: correct, drop (wrong, leave the pair out), correction (wrong, use another
                caption), abstract or unsure.
            corrected_caption: The new caption of a correction.
            suggestion_id: Or the id of one of the pair's suggestions.

        Returns:
            The pair as it stands now.
        """
        view = self._workspace.decide(
            int(pair_id),
            int(version),
            verdict,
            corrected_caption or None,
            int(suggestion_id) or None,
            author=self._author(request),
        )
        return _pair(view)

    def undo(self, dataset: str, request: gr.Request | None = None) -> dict[str, Any] | None:
        """Take back your newest verdict in a dataset.

        Args:
            dataset: The dataset's name.

        Returns:
            The pair as it stands now, or null if there was nothing to take back.
        """
        view = self._workspace.undo(self._workspace.find(dataset), self._author(request))
        return _pair(view) if view is not None else None

    def redo(self, dataset: str, request: gr.Request | None = None) -> dict[str, Any] | None:
        """Give the verdict again that you took back last.

        Args:
            dataset: The dataset's name.

        Returns:
            The pair as it stands now, or null if there was nothing to give again.
        """
        view = self._workspace.redo(self._workspace.find(dataset), self._author(request))
        return _pair(view) if view is not None else None

    def suggest(self, pair_id: int) -> list[dict[str, Any]]:
        """Suggested corrections for a pair, the best first; computed now if there are none yet.

        Args:
            pair_id: The pair's id.

        Returns:
            Each suggestion's id, caption, the score s before and after, and the probability of
            error before and after.
        """
        return [_suggestion(one) for one in self._workspace.suggest(int(pair_id))]

    def check(self, pair_id: int, caption: str) -> dict[str, Any]:
        """Score another caption for a pair's image, without saving anything.

        Args:
            pair_id: The pair's id.
            caption: The caption to try.

        Returns:
            Its score s, its probability of being wrong, and its suspect words.
        """
        found = self._workspace.check_caption(int(pair_id), caption)
        return {
            "s": found.s,
            "p_error": found.p_error,
            "icc": found.icc,
            "suspects": [
                {"word": caption[one.start : one.end], "suspicion": one.score}
                for one in found.suspects
            ],
        }

    def similar(self, pair_id: int, way: str = "image") -> list[int]:
        """Pairs like this one, the nearest first; the pair itself is the first of them.

        Args:
            pair_id: The pair's id.
            way: image (similar pictures), duplicate (near duplicates alone) or caption.

        Returns:
            Ids of pairs.
        """
        view = self._workspace.open_pair(int(pair_id))
        return list(self._workspace.search(view.dataset_id, like=f"{way}:{view.pair_id}") or ())

    def progress(self, dataset: str) -> dict[str, Any]:
        """How far the review of a dataset has come.

        Args:
            dataset: The dataset's name.

        Returns:
            Pairs reviewed, errors found, the precision of what was flagged, and, once some pairs
            have been decided in the order of the random audit, an estimate with a 95 % interval of
            the errors that remain.
        """
        view = self._workspace.progress(self._workspace.find(dataset))
        rest = view.remaining
        return {
            "pairs": view.total,
            "reviewed": view.reviewed,
            "errors_found": view.errors_found,
            "precision_of_flagged": view.precision_of_flagged,
            "errors_remaining": (
                {"about": rest.errors, "low": rest.low, "high": rest.high} if rest else None
            ),
        }

    def _author(self, request: gr.Request | None) -> str:
        name = request.username if request is not None else None
        return name or self._workspace.settings.author


def _pair(view: PairView) -> dict[str, Any]:
    return {
        "id": view.pair_id,
        "external_id": view.external_id,
        "caption": view.caption,
        "picture": f"/pictures/{view.pair_id}",
        "version": view.version,
        "verdict": view.decision,
        "corrected_caption": view.corrected_caption,
        "p_error": view.p_error,
        "s_0": view.s_0,
        "gain": view.gain,
        "icc": view.icc,
        "suspects": [
            {
                "word": view.caption[one.start : one.end],
                "start": one.start,
                "end": one.end,
                "suspicion": one.score,
            }
            for one in view.suspects
        ],
        "trajectory": (
            [
                {
                    "step": step,
                    "s": float(view.trajectory.scores[step]),
                    "c": float(view.trajectory.similarities[step]),
                    "caption": view.trajectory.caption_at(step),
                }
                for step in range(view.trajectory.steps + 1)
            ]
            if view.trajectory is not None
            else []
        ),
        "suggestions": [_suggestion(one) for one in view.suggestions],
    }


def _suggestion(one: SuggestionView) -> dict[str, Any]:
    return {
        "id": one.id,
        "caption": one.caption,
        "made_by": one.proposer,
        "s_before": one.s_before,
        "s_after": one.s_after,
        "p_before": one.p_before,
        "p_after": one.p_after,
        "words_changed": one.words_changed,
        "similarity": one.similarity,
    }
