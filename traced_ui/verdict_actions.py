"""Verdicts on a pair and its claims, what they are given by, and what takes them back.

A verdict names the pair, its version and the fingerprint of what was on the screen, and is written
to that pair or to none: curators must not judge pairs that they have not seen.
"""

from typing import Any

from pydantic import Field

from backend.counts import count_of
from backend.datasets.reading.pair_checks import pair_name
from backend.engine.captions import Caption
from backend.errors import SettingsError, TracedError, VerdictConflict
from backend.review.queue import sampling_of
from backend.verdict_texts import DECISIONS, saved_text
from backend.workspace import VerdictRow
from traced_ui import review_labels, review_page
from traced_ui.highlighting import explained_abstractness
from traced_ui.messages import explain_on_page, note
from traced_ui.page_actions import (
    MOST_CHARACTERS,
    VERDICTS,
    Judgement,
    PageAction,
    Parts,
    Selection,
    Target,
    TypedText,
    changed_meanwhile,
    drawn_pair,
    is_verdict,
    message_part,
    on,
)
from traced_ui.page_state import Step, newest
from traced_ui.tag_actions import TagActions
from traced_ui.templates import render

_IS_NOT_DESCRIBED = (
    "Nothing has suggested a caption yet: find errors under Add data, “With a captioner” ticked if "
    "the model has none of its own."
)
_IS_LATE = "That was meant for the previous pair; nothing was written."
_HAS_VERDICT = "Your verdict on {} was not saved: the pair has one, and another pair is shown now."


class MarkedWord(PageAction):
    """The number of a word of the caption."""

    word: int = -1


class ClaimQuestion(PageAction):
    """The characters of a claim; None: of the most suspicious one."""

    claim: tuple[int, int] | None = None


class JointVerdict(Selection):
    decision: str = ""
    note: str = Field("", max_length=MOST_CHARACTERS)


class VerdictActions(TagActions):
    def save(self, act: Judgement) -> dict[str, str]:
        """Write a verdict, whatever the page shows now; returns what the page reports about it.
        Raises TracedError, with nothing written."""
        self.check_author(act.author)
        if act.action in review_labels.CLAIM_ACTS:
            return self._save_claim(act)
        is_accepted = is_verdict(act.action) and act.action not in DECISIONS
        if act.pair is None or (
            act.suggestion is None if is_accepted else act.action not in DECISIONS
        ):
            raise SettingsError(f"'{act.action}' is not a verdict.")
        decision = "correction" if is_accepted else act.action
        suggestion = act.suggestion if is_accepted else None
        text = (act.text or "") if act.action == "correction" else None
        verdict = self.review.decide(
            act.pair, act.version, decision, text, suggestion, author=self.author, note=act.note,
            fingerprint=act.fingerprint, sampling=self._sampling_of(act.pair),
        )  # fmt: skip
        self.state.advance()
        name = act.name or self.review.open_pair(act.pair).name
        report = {"verdict": _now(verdict), "name": name}
        partner = self.review.swap_partner(suggestion) if suggestion is not None else None
        if suggestion is not None and partner is not None:
            partner_name = pair_name(partner.external_id, partner.image_path, partner.caption)
            report |= {"swap": str(suggestion), "partner": partner_name}
        return report

    @on("swap", writes=True)
    def _swap(self, act: Target) -> Parts | None:
        """Give another pair the caption that its own has replaced here."""
        verdict = self.review.swap(act.target or 0, self.author, act.request)
        self.state.advance()
        name = self.review.open_pair(verdict.pair_id).name
        report = {"verdict": _now(verdict), "name": name}
        self.toast += render("review/saved.html", saved=[report], is_last=False)
        return {"queue": self.draw_queue()[0], "toast": self.toast}

    def _save_claim(self, act: Judgement) -> dict[str, str]:
        """Label a claim of the caption, or take it out; returns what the page reports about it."""
        if act.pair is None or act.claim is None:
            raise SettingsError(f"'{act.action}' names no claim.")
        common: dict[str, Any] = {
            "author": self.author, "fingerprint": act.fingerprint,
            "sampling": self._sampling_of(act.pair),
        }  # fmt: skip
        if act.action == "claim-remove":
            self.review.remove_claim(act.pair, act.version, act.claim, **common)
        else:
            is_right = {"claim-right": True, "claim-wrong": False, "claim-clear": None}[act.action]
            self.review.label_claim(act.pair, act.version, act.claim, is_right, **common)
        self.state.advance()
        name = act.name or self.review.open_pair(act.pair).name
        return {"verdict": review_labels.CLAIM_ACTS[act.action], "name": name}

    @on("claim")
    def _select_claim(self, act: Target) -> Parts:
        """Draw the pair with another claim selected."""
        view = self.review.open_pair(self.pair_of(act), act.target)
        scoring = self.workspace.jobs.last_scoring
        return drawn_pair(view, scoring, view.pair_id in self.state.sampled)

    def _sampling_of(self, pair: int) -> str:
        """How the pair has come to be shown; "": by a link, or in another dataset."""
        if pair not in (self.state.pair, *self.state.visited, *self.state.sampled):
            return ""
        try:
            return sampling_of(self.filter(), pair, self.state.sampled)
        except TracedError:  # a filter that has become invalid
            return ""

    def _suggestion(self, act: Judgement) -> int | None:
        """The id of an accepted suggestion: named by the page, or the one with that number; None if
        the verdict accepts none."""
        if act.suggestion is not None or act.action in DECISIONS:
            return act.suggestion
        kind, _, number = act.action.rpartition("-")
        view = self._open_pair(act.pair or 0)
        suggestions = view.suggestions.enrichments if kind == "enrich" else view.helpful_suggestions
        if not 0 < int(number or 0) <= len(suggestions):
            raise SettingsError(f"There is no suggestion {number} for this pair.")
        return suggestions[int(number) - 1].id

    @on(*VERDICTS, writes=True)
    def _decide(self, act: Judgement) -> Parts | None:
        """A verdict after which the server shows the next pair: where the browser has not
        prefetched it, and on pairs that have been decided. On another pair than the one on the
        page, it was given on a page that was left."""
        state = self.state
        is_shown = act.pair is not None and act.pair == state.pair
        if not is_shown and act.request is None:
            return message_part(note(_IS_LATE))
        if not act.meant and (question := self._question(act)):
            name = act.name or "a pair"
            return message_part(question if is_shown else note(_HAS_VERDICT.format(name)))
        if not is_shown:
            report = self.save(act.model_copy(update={"suggestion": self._suggestion(act)}))
            self.toast += render("review/saved.html", saved=[report], is_last=False)
            return {"queue": self.draw_queue()[0], "toast": self.toast}
        # Queried before the verdict, which may remove the pair from the queue; until it is stored,
        # the pair is nobody else's.
        following = self._neighbour("next", stays=True)
        try:
            report = self.save(act.model_copy(update={"suggestion": self._suggestion(act)}))
        except VerdictConflict as problem:
            # A curator who is asked to check again must see the current state of the pair.
            self.say(explain_on_page(problem), "warning")
            return None
        if following is None:
            following = self._first()
        is_last = following is None or following == state.pair
        self.toast += render("review/saved.html", saved=[report], is_last=is_last)
        if following != state.pair:
            state.show(following)
        return None

    def _question(self, act: Judgement) -> str:
        """Ask before changing a verdict that this queue does not show: a curator going through
        undecided pairs probably meant the next one. "" if there is nothing to ask."""
        if act.pair is None or not act.version:
            return ""
        view = self.review.open_pair(act.pair)
        if view.verdict.version != act.version:
            return ""  # decided by another curator meanwhile: reported as a conflict
        if review_page.contradicts_labels(view, act.action):
            return review_page.question(view, act.action)
        if view.verdict.decision is None or self._shows(view.pair_id):
            return ""
        return review_page.question(view, act.action)

    @on("save-note", writes=True)
    def _annotate(self, act: Judgement) -> Parts | None:
        """Save the note with the pair's existing verdict."""
        if act.pair is None:
            raise SettingsError("The note names no pair.")
        try:
            self.review.annotate(
                act.pair, act.version, act.note, author=self.author, fingerprint=act.fingerprint
            )
        except VerdictConflict as problem:
            self.say(explain_on_page(problem), "warning")
            return None
        self.state.advance()
        self.say("The note is saved. Press Z to undo.", "good")
        return None

    @on("mark-word", writes=True)
    def _mark(self, act: MarkedWord) -> Parts | None:
        if act.pair is None:
            raise SettingsError("The marked word names no pair.")
        is_marked = self.review.mark_word(
            act.pair, act.word, self.author, act.fingerprint, act.request
        )
        view = self._open_pair(act.pair)
        start, end = Caption.parse(view.caption).spans[act.word]
        message = "is marked as wrong" if is_marked else "is no longer marked"
        toast = note(f"“{view.caption[start:end][:60]}” {message}.", "good")
        if view.pair_id != self.state.pair:
            return message_part(toast)
        is_sampled = view.pair_id in self.state.sampled
        return {"stage": drawn_pair(view, is_sampled=is_sampled)["stage"], "toast": toast}

    @on("edit-caption", writes=True)
    def _edit_caption(self, act: Judgement) -> None:
        """Save a caption that was edited in the table, as a correction of its pair."""
        try:
            report = self.save(act.model_copy(update={"action": "correction"}))
        except TracedError as problem:  # the table is drawn anew, with what is stored
            self.say(f"{explain_on_page(problem)} You wrote: {act.text}", "warning")
        else:
            self.toast += render("review/saved.html", saved=[report], is_last=False)
            if self.state.pair == act.pair and not self._shows(act.pair or 0):
                self.state.pair = self._first()

    @on("undo", writes=True)
    def _undo(self, act: PageAction) -> Parts | None:
        state = self.state
        last = state.done[-1] if state.done else Step()
        if last.tags:
            again = Step(tags=self._change_tags(last.tags, "Undone", act.request), pair=state.pair)
        else:
            verdict = self.review.undo(int(state.dataset or 0), self.author, act.request)
            if verdict is None:
                return message_part(note("There is nothing to undo."))
            again = Step(pair=state.pair)
            state.pair = verdict.pair_id
            now = "Each is as before." if verdict.together > 1 else _now(verdict)
            self.say(f"Undone{_many(verdict)}. {now}", "good")
        state.done, state.undone = state.done[:-1], newest([*state.undone, again])
        return None

    @on("redo", writes=True)
    def _redo(self, act: PageAction) -> Parts | None:
        """Redo the verdict and return to where the curator was: if the page stayed on the decided
        pair, the next key would change its verdict."""
        state = self.state
        last = state.undone[-1] if state.undone else Step()
        back = Step()
        if last.tags:
            back = Step(tags=self._change_tags(last.tags, "Redone", act.request))
        else:
            is_tagged = not state.undone and bool(state.done) and bool(state.done[-1].tags)
            verdict = (
                None if is_tagged
                else self.review.redo(int(state.dataset or 0), self.author, act.request)
            )  # fmt: skip
            if verdict is None:
                return message_part(note("There is nothing to redo."))
            state.pair = verdict.pair_id
            before = verdict.pair_id if verdict.claim is not None else last.pair
            if verdict.claim is None and before in (None, verdict.pair_id):
                before = self._neighbour("next") or self._first()
            state.pair = before or verdict.pair_id
            name = self.review.open_pair(verdict.pair_id).name
            self.say(f"Redone{_many(verdict)}: {name}. {_now(verdict)}", "good")
        state.done, state.undone = newest([*state.done, back]), state.undone[:-1]
        return None

    @on("history")
    def _toggle_history(self, act: PageAction) -> Parts:
        """Show what can be undone, or hide it."""
        self.state.shows_history = not self.state.shows_history
        return {"queue": self.draw_queue()[0]}

    @on("suggest")
    def _suggest(self, act: ClaimQuestion) -> Parts:
        pair = self.pair_of(act)
        if self.review.suggest(pair, act.claim[0] if act.claim is not None else None):
            return message_part("")
        if not self.review.open_pair(pair).caption:
            return message_part(note(_IS_NOT_DESCRIBED))
        return message_part(note("No known edit improves the match."))

    @on("check")
    def _check(self, act: TypedText) -> Parts:
        """Score the curator's own edit while it is being typed."""
        if not (act.text or "").strip():
            return {"check": ""}
        try:
            view = self.review.open_pair(self.pair_of(act))
            result = self.review.check_caption(view.pair_id, act.text or "")
        except TracedError as error:
            return {"check": note(explain_on_page(error), "error")}
        return {"check": review_page.check_view(view, result)}

    @on("complete")
    def _complete(self, act: PageAction) -> Parts:
        """Compute what is deferred until a pair is looked at: its later steps, the probabilities of
        its corrections, and the words that make its caption abstract. The page keeps what it shows
        if the models are busy; below the steps it says if they, the pair or its picture cannot be
        used."""
        parts: Parts = {}
        try:
            pair = self.pair_of(act)
            if self.review.complete(pair):
                parts["stored"] = "yes"
            if self.review.open_pair(pair).opinion.looks_abstract:
                words = self.review.why_abstract(pair)
                busy = render("models_busy.html")
                parts["abstract"] = busy if words is None else explained_abstractness(words)
        except TracedError as error:
            parts["rest"] = explain_on_page(error)
        return parts

    @on("many", writes=True)
    def _decide_many(self, act: JointVerdict) -> None:
        """Record one verdict for all pairs selected in the grid."""
        outcome = self.review.decide_many(
            [(pair, version) for pair, version, _ in act.pairs],
            act.decision,
            author=self.author,
            note=act.note,
            fingerprints={pair: fingerprint for pair, _, fingerprint in act.pairs if fingerprint},
            request_id=act.request,
        )
        self.say(
            f"{saved_text(act.decision, False, None)} {count_of(len(outcome.written))} saved. "
            f"Press Z to undo them all.{changed_meanwhile(len(outcome.passed_over))}",
            "good",
        )
        self.open_rest()


def _many(verdict: VerdictRow) -> str:
    text = f", {verdict.together:,} pairs at once" if verdict.together > 1 else ""
    if verdict.claim is not None:
        text = ": the label of a claim"
    return text + (f"; {verdict.left_alone:,} changed since stay" if verdict.left_alone else "")


def _now(verdict: VerdictRow) -> str:
    return saved_text(verdict.decision, verdict.enriches, verdict.suggestion_id)
