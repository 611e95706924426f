"""The same actions for API clients: named Gradio endpoints, and MCP tools.

    from gradio_client import Client

    client = Client("http://127.0.0.1:7860")
    for pair in client.predict("demo", api_name="/queue")["pairs"][:10]:
        whole = client.predict(pair["id"], api_name="/pair")
        if whole["p_error"] > 0.95:
            client.predict(pair["id"], whole["version"], "drop", api_name="/decide")

If login is enabled, API clients must authenticate too: `Client(…, auth=("name", "password"))`.
Answers are plain JSON; a failed call returns an error that explains why. The docstrings below are
shown to callers and language models.
"""

import functools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.review.charts import progress_of
from backend.review.operations import Review
from backend.review.queue_form import START, cleaned, from_fields, typed
from backend.review.views import PairView, SuggestionView, fingerprint_of
from backend.workspace import Cursor, VerdictRow, Workspace
from traced_ui.arguments import checked
from traced_ui.login import reader_of, seen_by
from traced_ui.messages import explained

#: Names of the actions, in listing order.
TOOLS = (
    "datasets", "queue", "next", "pair", "decide", "undo", "redo", "suggest", "check", "similar",
    "progress",
)  # fmt: skip
_MOST = 200


def build(workspace: Workspace, queued: bool = True) -> None:
    """Register the endpoints; called inside the Blocks. `queued`: run them through Gradio's queue;
    False for MCP, because Gradio's MCP server reaches the queue only through its own client, which
    is not logged in."""
    actions = Actions(workspace)
    for name in TOOLS:
        gr.api(
            _with_clear_errors(getattr(actions, name)),
            api_name=name,
            concurrency_limit=4,
            queue=queued,
        )


def _with_clear_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Convert exceptions into Gradio errors with our explanation, without internal details."""

    sound = checked(function)

    @functools.wraps(function)
    def safe(*given: Any, **named: Any) -> Any:
        try:
            return sound(*given, **named)
        except Exception as problem:
            raise gr.Error(explained(problem), print_exception=False) from None

    return safe


class Actions:
    """Actions for API clients. Verdicts are recorded under the name of the logged-in user."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def datasets(self, request: gr.Request | None = None) -> list[dict[str, Any]]:
        """All datasets with their counts.

        Returns:
            For each dataset its name, the number of pairs, how many are scored and reviewed, and
            how many captions were found wrong.
        """
        return [
            {
                "name": summary.name,
                "pairs": summary.total,
                "scored": summary.scored,
                "reviewed": summary.reviewed,
                "errors_found": summary.errors_found,
            }
            for summary in seen_by(self._workspace, request).datasets()
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
        filters: str = "",
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """A page of the review queue, by default the captions most likely to be wrong first.

        Args:
            dataset: The dataset's name.
            review: unreviewed, decided, disputed or all.
            order: p_error, s_0, gain, icc, disagreement, support (hollow first), weakest,
                specificity, uncertainty, random or position.
            text: Only captions that contain these words.
            meaning: Only captions similar in meaning to this text, nearest first.
            limit: Maximum number of pairs, at most 200.
            after: The `next` of the previous page; empty for the first page.
            filters: More filters as in the address of a queue, for example note=blurry&split=val;
                they override the arguments above.

        Returns:
            `pairs`, each with id, caption, p_error (probability that the caption is wrong), s_0
            (image-text score), gain, support (of its phrases by the image; low is hollow),
            specificity (log-probability, at most 0; low is generic) and verdict; and `next`, null
            on the last page.
        """
        seen = self._review(request)
        dataset_id = self._workspace.find(dataset)
        fields = {**START, "review": review, "order": order, "text": text, "meaning": meaning}
        fields = cleaned({**fields, **typed(filters)})
        filter = seen.filter_of(dataset_id, fields)
        filter = replace(filter, reader=reader_of(request))
        page = seen.queue_page(filter, _place(after), max(1, min(int(limit), _MOST)))
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
                    "support": row.support,
                    "weakest": row.weakest,
                    "specificity": row.specificity,
                    "verdict": row.decision,
                    "enriches": row.enriches,
                    "note": row.note,
                    "version": row.verdict_version,
                    "fingerprint": fingerprint_of(row.external_id, row.caption, row.image_path),
                }
                for row in page.rows
            ],
            "next": json.dumps([following.value, following.pair_id]) if following else None,
        }

    def next(
        self, dataset: str, order: str = "p_error", request: gr.Request | None = None
    ) -> dict[str, Any] | None:
        """The next pair to judge, by default the one most likely to be wrong.

        If login is enabled, it is reserved for you for ten minutes.

        Args:
            dataset: The dataset's name.
            order: p_error, s_0, gain, icc, disagreement, support (hollow first), weakest,
                specificity, uncertainty, random or position.

        Returns:
            The pair, as returned by `pair`, or null if none is left.
        """
        dataset_id = self._workspace.find(dataset)
        reader = reader_of(request)
        fields = cleaned({**START, "order": order})
        filter = replace(from_fields(dataset_id, fields), reader=reader)
        pair_id = (
            self._workspace.accounts.claim_first(filter, reader)
            if reader is not None
            else self._workspace.review.first_pair(filter)
        )
        return None if pair_id is None else self.pair(pair_id, request)

    def pair(self, pair_id: int, request: gr.Request | None = None) -> dict[str, Any]:
        """Everything about one image-caption pair.

        Args:
            pair_id: The pair's id, as in the queue.

        Returns:
            The caption, the dataset's guidelines (Markdown), the probability that the caption is
            wrong, the suspect words with their suspicion from 0 to 1, the scores along the caption
            trajectory, suggested corrections, the current verdict, each phrase with the drop in s
            when it is made meaningless (null: not measured), how specific the caption is, the
            version and the fingerprint to pass to `decide`, and the path of the picture on this
            server.
        """
        return _pair(self._review(request).open_pair(int(pair_id)))

    def decide(
        self,
        pair_id: int,
        version: int,
        verdict: str,
        corrected_caption: str = "",
        suggestion_id: int = 0,
        note: str = "",
        fingerprint: str = "",
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        """Give a verdict on a pair. It is saved when this returns.

        Args:
            pair_id: The pair's id.
            version: The version of the pair that the verdict is based on; if another curator has
                decided the pair since then, nothing is written and an error is returned.
            verdict: correct, drop (wrong, leave the pair out), correction (wrong, use another
                caption), abstract or unsure.
            corrected_caption: The new caption of a correction.
            suggestion_id: Alternatively, the id of one of the pair's suggestions or enrichments.
                With an enrichment, *correction* means that the caption was right and now says
                more; the answer has `enriches`: true.
            note: The reason, or what remains to be done; stored with the verdict, searchable and
                exported.
            fingerprint: That of the pair that the verdict is based on, as in `queue` and `pair`; if
                its caption or picture is another one since then, nothing is written and an error is
                returned.

        Returns:
            The current verdict, with the pair's id and its new version.
        """
        decided = self._review(request).decide(
            int(pair_id),
            int(version),
            verdict,
            corrected_caption or None,
            int(suggestion_id) or None,
            author=self._author(request),
            note=note,
            fingerprint=fingerprint or None,
        )
        return _verdict(decided)

    def undo(self, dataset: str, request: gr.Request | None = None) -> dict[str, Any] | None:
        """Undo your latest verdict in a dataset.

        Args:
            dataset: The dataset's name.

        Returns:
            The current verdict (null: undecided), with the pair's id and its new version, or null
            if there was nothing to undo.
        """
        dataset_id = self._workspace.find(dataset)
        verdict = self._review(request).undo(dataset_id, self._author(request))
        return _verdict(verdict) if verdict is not None else None

    def redo(self, dataset: str, request: gr.Request | None = None) -> dict[str, Any] | None:
        """Redo the verdict that you undid last.

        Args:
            dataset: The dataset's name.

        Returns:
            The current verdict, with the pair's id and its new version, or null if there was
            nothing to redo.
        """
        dataset_id = self._workspace.find(dataset)
        verdict = self._review(request).redo(dataset_id, self._author(request))
        return _verdict(verdict) if verdict is not None else None

    def suggest(self, pair_id: int) -> list[dict[str, Any]]:
        """Suggested corrections for a pair, best first; computed now if there are none yet.

        Args:
            pair_id: The pair's id.

        Returns:
            Each suggestion's id, caption, the score s before and after, and the probability of
            error before and after.
        """
        return [
            _suggestion(suggestion) for suggestion in self._workspace.review.suggest(int(pair_id))
        ]

    def check(self, pair_id: int, caption: str) -> dict[str, Any]:
        """Score another caption for a pair's image, without saving anything.

        Args:
            pair_id: The pair's id.
            caption: The caption to try.

        Returns:
            Its score s, its probability of being wrong, and its suspect words.
        """
        result = self._workspace.review.check_caption(int(pair_id), caption)
        return {
            "s": result.s,
            "p_error": result.p_error,
            "icc": result.icc,
            "suspects": [
                {"word": caption[suspect.start : suspect.end], "suspicion": suspect.score}
                for suspect in result.suspects
            ],
        }

    def similar(self, pair_id: int, way: str = "image") -> list[int]:
        """Pairs similar to this one, nearest first, starting with the pair itself.

        Args:
            pair_id: The pair's id.
            way: image (similar pictures), duplicate (near duplicates only), caption, or confused
                (pictures that this caption fits as well or better).

        Returns:
            Pair ids.
        """
        view = self._workspace.review.open_pair(int(pair_id))
        return list(
            self._workspace.review.search(view.dataset_id, like=f"{way}:{view.pair_id}") or ()
        )

    def progress(self, dataset: str, request: gr.Request | None = None) -> dict[str, Any]:
        """The review progress of a dataset.

        Args:
            dataset: The dataset's name.

        Returns:
            Pairs reviewed, errors found, the precision of flagged pairs, and, once some pairs have
            been decided in the order of the random audit, an estimate of the remaining errors with
            a 95 % interval.
        """
        view = progress_of(seen_by(self._workspace, request).store, self._workspace.find(dataset))
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
        return reader_of(request) or self._workspace.settings.author

    def _review(self, request: gr.Request | None) -> Review:
        return seen_by(self._workspace, request).review


def _place(after: str) -> Cursor | None:
    """Parse the `next` of a page; None for the first page. Raises SettingsError if invalid."""
    if not after:
        return None
    try:
        value, pair_id = json.loads(after)
        is_place = (
            (value is None or (type(value) in (int, float) and math.isfinite(value)))
            and type(pair_id) is int
            and 0 <= pair_id < 2**31
        )
    except (ValueError, TypeError, OverflowError, RecursionError):
        is_place = False
    if not is_place:
        raise SettingsError(
            "'after' is not a queue position: pass the 'next' of the previous page."
        )
    return Cursor(value, pair_id)


def _verdict(verdict: VerdictRow) -> dict[str, Any]:
    """The state of the pair after a verdict, with the field names of `pair`."""
    return {
        "id": verdict.pair_id,
        "version": verdict.version,
        "verdict": verdict.decision,
        "enriches": verdict.enriches,
        "corrected_caption": verdict.corrected_caption,
    }


def _pair(view: PairView) -> dict[str, Any]:
    return {
        "id": view.pair_id,
        "external_id": view.external_id,
        "caption": view.caption,
        "picture": f"/pictures/{view.pair_id}",
        "version": view.version,
        "fingerprint": view.fingerprint,
        "verdict": view.decision,
        "enriches": view.enriches,
        "corrected_caption": view.corrected_caption,
        "note": view.note,
        "guidelines": view.guidelines,
        "picture_issues": list(view.picture_issues),
        "p_error": view.p_error,
        "s_0": view.s_0,
        "gain": view.gain,
        "icc": view.icc,
        "support": view.support,
        "weakest": view.weakest,
        "phrases": (
            None
            if view.phrases is None
            else [
                {
                    "phrase": view.caption[phrase.start : phrase.end],
                    "start": phrase.start,
                    "end": phrase.end,
                    "kind": phrase.kind,
                    "pas": phrase.pas,
                    "spread": phrase.spread,
                }
                for phrase in view.phrases
            ]
        ),
        "specificity": _specificity(view),
        "suspects": [
            {
                "word": view.caption[suspect.start : suspect.end],
                "start": suspect.start,
                "end": suspect.end,
                "suspicion": suspect.score,
            }
            for suspect in view.suspects
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
        "suggestions": [_suggestion(suggestion) for suggestion in view.suggestions],
        "enrichments": [_suggestion(suggestion) for suggestion in view.enrichments],
    }


def _specificity(view: PairView) -> dict[str, Any] | None:
    """How the caption's own picture ranks among similar ones; None if it was not measured."""
    specificity = view.specificity
    if specificity is None:
        return None
    return {
        "log_probability": specificity.log_share,
        "rank": specificity.rank,
        "of": specificity.of,
        "fits_better": list(specificity.better),
        "judged_by": specificity.by,
    }


def _suggestion(suggestion: SuggestionView) -> dict[str, Any]:
    return {
        "id": suggestion.id,
        "caption": suggestion.caption,
        "made_by": suggestion.proposer,
        "s_before": suggestion.s_before,
        "s_after": suggestion.s_after,
        "p_before": suggestion.p_before,
        "p_after": suggestion.p_after,
        "words_changed": suggestion.words_changed,
        "similarity": suggestion.similarity,
    }
