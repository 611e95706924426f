"""Team page: accounts, overlap between curators, their agreement, and disputed pairs."""

from typing import Any

import gradio as gr

from backend.accounts.team_accounts import TeamView
from backend.errors import SettingsError
from backend.workspace import Workspace
from traced_ui import accounts_form
from traced_ui.dataset_settings import may_change_datasets, refusal_html
from traced_ui.login import reader_of
from traced_ui.messages import QUIET, event_kwargs, note
from traced_ui.page_dataset import PageDataset
from traced_ui.review_labels import LISTED
from traced_ui.templates import number, part, percent, render


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    with gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=320):
            accounts_form.build(workspace)
            accounts_form.build_keys(workspace)
        with gr.Column(scale=1, min_width=320):
            gr.Markdown("### Overlap")
            refusal = gr.HTML(elem_id="team-refusal", padding=False, visible=False)
            share = gr.Slider(
                0, 100, step=1, label="Share of the pairs that several people judge, %",
                info="Each of them gets these pairs without seeing the others' verdicts.",
                elem_id="team-share", interactive=False,
            )  # fmt: skip
            people = gr.Number(
                2,
                label="People per pair",
                minimum=2,
                maximum=20,
                precision=0,
                interactive=False,
                elem_id="team-people",
            )
            save = gr.Button("Save the overlap", elem_id="team-save")
            message = gr.HTML(elem_id="team-message")
            page = gr.HTML(elem_id="team-page")

    def draw(dataset_id: int | None, request: gr.Request) -> str:
        if dataset_id is None:
            return part("no_dataset")
        return page_html(workspace.accounts.of_dataset(dataset_id, reader_of(request)))

    def overlap(dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        """What is set, to be changed: before it is known, input would be overwritten by it."""
        is_allowed = may_change_datasets(workspace, request)
        explanation = gr.HTML(refusal_html(is_allowed), visible=not is_allowed)
        if dataset_id is None:
            return gr.skip(), gr.skip(), gr.Button(interactive=False), explanation
        share, people = workspace.accounts.overlap(dataset_id)
        return (
            gr.Slider(value=100 * share, interactive=is_allowed),
            gr.Number(people, interactive=is_allowed), gr.Button(interactive=is_allowed),
            explanation,
        )  # fmt: skip

    def keep(
        dataset_id: int | None, share: float, people: float | None, request: gr.Request
    ) -> str:
        if not may_change_datasets(workspace, request):
            raise SettingsError("Only an adjudicator may change the overlap.")
        if dataset_id is None:
            raise SettingsError("Choose a dataset first.")
        workspace.accounts.set_overlap(dataset_id, share / 100, int(people or 2))
        once = "" if workspace.accounts.accounts() else ", once people log in"
        return note(f"Saved. {_assigned(share, int(people or 2))} from now on{once}.", "good")

    save.click(**event_kwargs(keep, [dataset, share, people], [message], message))
    # Not redrawn each time the page is opened, so that unsaved input is kept.
    gr.on(None, overlap, [dataset], [share, people, save, refusal], **QUIET)
    return draw, [dataset], [page]


def _assigned(share: float, people: int) -> str:
    """To how many people a pair goes. `share`: of the pairs, in percent.

    >>> _assigned(0, 2), _assigned(100, 2)
    ('Each pair goes to one person', 'Each pair goes to 2 people')
    """
    if 0 < share < 100:
        return f"About {share:g} % of the pairs go to {people} people"
    return f"Each pair goes to {people if share else 'one'} {'people' if share else 'person'}"


def page_html(view: TeamView) -> str:
    """Agreement, then disputed pairs."""
    if not view.by_verdict.pairs and not view.disputed:
        return part(
            "empty",
            "No pair has been judged by two people yet",
            "Set an overlap: a share of the pairs then goes to several people, and their agreement "
            "is shown here.",
        )
    people = [
        [f"{agreement.first[:60]} and {agreement.second[:60]}", str(agreement.pairs),
         percent(agreement.same / agreement.pairs), number(agreement.kappa)]
        for agreement in view.by_verdict.people
    ]  # fmt: skip
    return render("team/page.html", view=view, people=people, short=LISTED)
