"""One verdict for many pairs."""

from backend.errors import QueueChanged, SettingsError
from backend.jobs.reports import JobView
from backend.review.queue_form import as_query, id_in
from backend.review.queue_rules import RuleReport
from backend.verdict_texts import saved_text
from traced_ui import review_page
from traced_ui.messages import explain_on_page
from traced_ui.page_actions import PageAction, PageActions, Parts, changed_meanwhile, on
from traced_ui.templates import count_of


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
        self.say(
            f"{saved_text(act.decision, False, None)} {count_of(len(outcome.written))} saved. "
            f"Press Z to undo them all.{changed_meanwhile(len(outcome.passed_over))}",
            "good",
        )
        self.state.after = None
        self.state.advance()
        self.state.pair = self._first()

    @on("rule", opens_form=True)
    @on("rule-preview")
    @on("rule-apply", writes=True)
    def _rule(self, act: PageAction) -> Parts:
        """Preview one verdict for all pairs of the queue, or give it: only what was previewed."""
        self.check_queue()
        self.bring_skipped_back()
        if act.action == "rule":
            return {"toast": self.toast, "edit": review_page.queue_rule({})}
        dataset, queue = int(self.state.dataset or 0), as_query(self.queue_of(act))
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
                self.say(_decided_all(outcome), "good")
                self.state.after = None
                self.state.advance()
                self.state.pair = self._first()
                return {**self.parts(), "edit": ""}
        except QueueChanged as problem:
            self.say(explain_on_page(problem), "warning")
        plan = self.review.preview_rule(dataset, queue, self.author, replaces)
        form = review_page.queue_rule(act.edit, plan, f"{plan.number} {this_rule}")
        return {"toast": self.toast, "edit": form}


def _decided_all(done: RuleReport | JobView) -> str:
    if isinstance(done, JobView):
        return "The pairs are being decided: see Activity. Z undoes them all, at any time."
    rest = f" {done.claimed:,} are on the screens of colleagues." if done.claimed else ""
    if done.left_alone:
        rest += f" {done.left_alone:,} had a verdict, no caption, or were changed meanwhile."
    text = saved_text(done.decision, False, None)
    return f"{text} {count_of(done.given)} decided by a rule. Press Z to undo them all.{rest}"
