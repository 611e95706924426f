"""One verdict for all pairs of the queue, on the review page: a form, its preview, the verdicts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from backend.counts import count_of
from backend.errors import QueueChanged, SettingsError
from backend.features.rules.deciding import RulePreview, RuleReport
from backend.features.rules.giving import give_rule, preview_rule
from backend.jobs.job_view import JobView
from backend.review.queue_form import as_query, id_in
from backend.verdict_texts import saved_text
from traced_ui.keyboard import Key
from traced_ui.messages import explain_on_page
from traced_ui.overview import GridButton
from traced_ui.page_actions import AddedActions, FilledForm, PageActions, Parts
from traced_ui.review_labels import DECISIONS
from traced_ui.templates import renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))


def rule(page: PageActions, act: FilledForm) -> Parts:
    """Preview one verdict for all pairs of the queue, or give it: only what was previewed."""
    page.check_queue()
    page.bring_skipped_back()
    if act.action == "rule":
        return {"toast": page.toast, "edit": form({})}
    dataset, queue = int(page.state.dataset or 0), as_query(page.queue_of(act))
    decision, replaces = str(act.edit.get("decision")), bool(act.edit.get("replaces"))
    if decision not in DECISIONS:
        raise SettingsError(f"'{decision[:40]}' cannot be given to many pairs at once.")
    number, _, previewed_rule = str(act.edit.get("seen", "")).partition(" ")
    this_rule = f"{decision} {replaces} {queue}"
    try:
        if act.action == "rule-apply":
            if previewed_rule != this_rule:
                raise QueueChanged("This is another queue or verdict than you saw: look again.")
            outcome = give_rule(
                page.workspace, dataset, queue, decision, id_in(number) or 0, page.author,
                replaces, act.request,
            )  # fmt: skip
            page.say(_in_words(outcome), "good")
            page.open_rest()
            return {**page.parts(), "edit": ""}
    except QueueChanged as problem:
        page.say(explain_on_page(problem), "warning")
    plan = preview_rule(page.workspace, dataset, queue, page.author, replaces)
    return {"toast": page.toast, "edit": form(act.edit, plan, f"{plan.number} {this_rule}")}


def form(entries: Mapping[str, Any], plan: RulePreview | None = None, token: str = "") -> Markup:
    """The form as filled in, with the preview `plan` if there is one. `token`: names what the
    preview is of."""
    return render_in("rule.html", given=entries, plan=plan, token=token, decisions=DECISIONS)


def _in_words(done: RuleReport | JobView) -> str:
    if isinstance(done, JobView):
        return "The pairs are being decided: see Activity. Z undoes them all, at any time."
    rest = f" {done.claimed:,} are on the screens of colleagues." if done.claimed else ""
    if done.left_alone:
        rest += f" {done.left_alone:,} had a verdict, no caption, or were changed meanwhile."
    text = saved_text(done.decision, False, None)
    return f"{text} {count_of(done.given)} decided by a rule. Press Z to undo them all.{rest}"


_BUTTON = GridButton("rule", "V", "Decide all", "One verdict for all pairs of this queue")
ACTIONS = AddedActions(
    handlers={"rule": rule, "rule-preview": rule, "rule-apply": rule},
    writing=("rule-apply",),
    forms=("rule",),
    keys=(Key(("v", "V"), "rule", "V", "one verdict for the whole queue, with a preview"),),
    buttons=(_BUTTON,),
    queue_buttons=(_BUTTON,),
)
