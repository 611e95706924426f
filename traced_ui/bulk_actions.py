"""One verdict or edit for many pairs."""

from dataclasses import replace

from backend.engine.bulk_edit import BulkEdit
from backend.errors import QueueChanged, SettingsError
from backend.jobs.reports import JobView
from backend.review.caption_edits import edit_captions
from backend.review.queue_form import as_query, id_in
from backend.review.queue_rules import RuleReport
from backend.verdict_texts import saved_text
from traced_ui import review_page
from traced_ui.messages import explain_on_page
from traced_ui.page_actions import PageAction, PageActions, Parts, on
from traced_ui.templates import count_of

#: Maximum number of captions that a page edits synchronously.
MOST_EDITED = 100_000


class BulkActions(PageActions):
    @on("many", writes=True)
    def _decide_many(self, act: PageAction) -> None:
        """Record one verdict for all pairs selected in the grid."""
        outcome = self.review.decide_many(
            [(pair, version) for pair, version, _ in act.pairs],
            act.decision,
            author=self.author,
            note=act.note,
            fingerprints={pair: fingerprint for pair, _, fingerprint in act.pairs if fingerprint},
            request_id=act.request,
        )
        message = f"{saved_text(act.decision, False, None)} {count_of(len(outcome.written))} saved."
        self._say(
            f"{message} Press Z to undo them all.{_passed_over(len(outcome.passed_over))}", "good"
        )
        self.state.after = None
        self.state.advance()
        self.state.pair = self._first()

    @on("replace")
    def _edit_form(self, act: PageAction) -> Parts:
        scope = "selected" if act.pairs else "queue"
        return {"edit": review_page.bulk_edit({"scope": scope}, vague=self._vague_claims())}

    @on("edit-preview")
    @on("edit-apply", writes=True)
    def _edit(self, act: PageAction) -> Parts:
        """Preview an edit of many captions, or apply it."""
        scope = str(act.edit.get("scope"))
        if scope not in review_page.EDIT_SCOPES:
            raise SettingsError(f"There is no '{scope[:40]}' to edit.")
        pairs = tuple(card.pair for card in act.pairs)
        if scope == "selected" and not pairs:
            raise SettingsError("No pair is selected: choose some in the grid (G).")
        if scope == "queue":
            self.check_queue()
            self.bring_skipped_back()
        fields = self._queue_of(act) if scope == "queue" else {"review": "all", "order": "position"}
        filter = self.review.filter_of(int(self.state.dataset or 0), fields)
        if scope == "selected":
            filter = replace(filter, among=pairs)
        if self.review.queue_count(filter, MOST_EDITED + 1) > MOST_EDITED:
            raise SettingsError(
                f"There are more than {MOST_EDITED:,} captions. Narrow the queue with filters, and "
                "edit it in several steps."
            )
        texts = {
            name: str(act.edit.get(name) or "") for name in ("find", "replace", "prefix", "suffix")
        }
        edit = BulkEdit(**texts, is_regex=bool(act.edit.get("regex")),
                        ignore_case=bool(act.edit.get("case")),
                        remove_vague=bool(act.edit.get("vague")))  # fmt: skip
        author = self.author if act.action == "edit-apply" else None
        report = edit_captions(self.workspace.store, filter, edit, author, request_id=act.request)
        if author is None:
            form = review_page.bulk_edit(act.edit, report, self._vague_claims())
            return {"toast": self.toast, "edit": form}
        self.state.after = None
        self.state.advance()
        self._say(
            f"{count_of(report.changed, 'caption')} changed. Press Z to undo them all."
            + _passed_over(report.passed_over),
            "good",
        )
        return {**self.parts(), "edit": ""}

    def _vague_claims(self) -> int:
        return self.review.claim_counts(int(self.state.dataset or 0)).vague

    def _queue_of(self, act: PageAction) -> dict[str, str]:
        """The queue that was shown when the act was sent: the page may have been left since."""
        return act.filter or self.state.filter

    @on("rule", "rule-preview")
    @on("rule-apply", writes=True)
    def _rule(self, act: PageAction) -> Parts:
        """Preview one verdict for all pairs of the queue, or give it: only what was previewed."""
        self.check_queue()
        self.bring_skipped_back()
        if act.action == "rule":
            return {"toast": self.toast, "edit": review_page.queue_rule({})}
        dataset, queue = int(self.state.dataset or 0), as_query(self._queue_of(act))
        decision, replaces = str(act.edit.get("decision")), bool(act.edit.get("replaces"))
        if decision not in review_page.DECISIONS:
            raise SettingsError(f"'{decision[:40]}' cannot be given to many pairs at once.")
        number, _, previewed_rule = str(act.edit.get("seen", "")).partition(" ")
        this_rule = f"{decision} {replaces} {queue}"
        try:
            if act.action == "rule-apply":
                if previewed_rule != this_rule:
                    raise QueueChanged("This is another queue or verdict than you saw: look again.")
                outcome = self.workspace.decide_all(
                    dataset,
                    queue,
                    decision,
                    id_in(number) or 0,
                    self.author,
                    replaces,
                    act.request,
                )
                self._say(_decided_all(outcome), "good")
                self.state.after = None
                self.state.advance()
                self.state.pair = self._first()
                return {**self.parts(), "edit": ""}
        except QueueChanged as problem:
            self._say(explain_on_page(problem), "warning")
        plan = self.review.preview_rule(dataset, queue, self.author, replaces)
        form = review_page.queue_rule(act.edit, plan, f"{plan.number} {this_rule}")
        return {"toast": self.toast, "edit": form}


def _passed_over(count: int) -> str:
    if not count:
        return ""
    return f" {count:,} had been changed in the meantime and were left alone."


def _decided_all(done: RuleReport | JobView) -> str:
    if isinstance(done, JobView):
        return "The pairs are being decided: see Activity. Z undoes them all, at any time."
    rest = f" {done.claimed:,} are on the screens of colleagues." if done.claimed else ""
    if done.left_alone:
        rest += f" {done.left_alone:,} had a verdict, no caption, or were changed meanwhile."
    text = saved_text(done.decision, False, None)
    return f"{text} {count_of(done.given)} decided by a rule. Press Z to undo them all.{rest}"
