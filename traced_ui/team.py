"""Team: who works here, which pairs several people judge, how far they agree, what is disputed."""

from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.team.agreement import Agreement
from backend.views import DisputeView, OpinionView, TeamView
from backend.workspace import Workspace
from traced_ui.jobs import table
from traced_ui.markup import number, percent, safe
from traced_ui.messages import guarded, note
from traced_ui.review_page import SHORT


def build(workspace: Workspace, dataset: gr.Dropdown) -> tuple[Any, ...]:
    """The page; returns what draws it: (function, inputs, outputs)."""
    with gr.Row():
        with gr.Column(scale=1, min_width=320):
            gr.Markdown("### Overlap")
            share = gr.Slider(
                0, 100, step=1, label="Share of the pairs that several people judge, %",
                info="They are handed to each of them without showing what the others said.",
                elem_id="team-share",
            )  # fmt: skip
            people = gr.Number(
                2, label="People a pair", minimum=2, maximum=20, precision=0, elem_id="team-people"
            )
            save = gr.Button("Save", elem_id="team-save")
            told = gr.HTML(elem_id="team-told")
            accounts = gr.HTML(elem_id="team-accounts")
        with gr.Column(scale=2, min_width=420):
            page = gr.HTML(elem_id="team-page")

    def draw(dataset_id: int | None) -> tuple[Any, ...]:
        who = accounts_html(workspace)
        if dataset_id is None:
            return who, '<div class="empty"><h2>No dataset yet</h2></div>'
        return who, page_html(workspace.team.of_dataset(dataset_id))

    def overlap(dataset_id: int | None) -> tuple[float, int]:
        if dataset_id is None:
            return 0, 2
        share, people = workspace.team.overlap(dataset_id)
        return 100 * share, people

    @guarded
    def keep(
        dataset_id: int | None, share: float, people: float | None, request: gr.Request
    ) -> str:
        name = request.username
        if name and not workspace.team.may_settle(name):
            raise SettingsError("Only an adjudicator may change the overlap.")
        if dataset_id is None:
            raise SettingsError("Choose a dataset first.")
        workspace.team.set_overlap(dataset_id, share / 100, int(people or 2))
        return note(
            f"Saved. From now on {share:g} % of the pairs are handed to {int(people or 2)} people.",
            "good",
        )

    save.click(keep, [dataset, share, people], [told], api_visibility="private")
    # Not drawn each time that the page is opened: what somebody is setting stays as it is.
    gr.on(
        None, overlap, [dataset], [share, people], api_visibility="private", show_progress="hidden"
    )  # fmt: skip
    return draw, [dataset], [accounts, page]


def accounts_html(workspace: Workspace) -> str:
    """The accounts, or how to make some."""
    accounts = workspace.team.accounts()
    if not accounts:
        return (
            "<h3>Accounts</h3><p>None yet: everybody who reaches this page may give verdicts. Add "
            "people with <code>python app.py curators add NAME</code> and start the app anew; then "
            "they log in, and no two of them are handed the same pair.</p>"
        )
    rows = [[one.name, one.role + ("" if one.active else ", may not log in")] for one in accounts]
    return "<h3>Accounts</h3>" + table(["name", "role"], rows)


def page_html(view: TeamView) -> str:
    """Agreement, then what is disputed."""
    if not view.by_verdict.pairs and not view.disputed:
        return (
            '<div class="empty"><h2>Nobody has judged the same pair yet</h2>Set an overlap: then a '
            "share of the pairs is handed to several people, and how far they agree is told here."
            "</div>"
        )
    people = [
        [f"{one.first[:60]} and {one.second[:60]}", str(one.pairs),
         percent(one.same / one.pairs), number(one.kappa)]
        for one in view.by_verdict.people
    ]  # fmt: skip
    return (
        '<div class="cards">'
        + _card("judged by several", view.by_verdict)
        + _card("right or wrong alone", view.right_or_wrong)
        + "</div><h3>Two by two</h3>"
        + table(["who", "pairs", "same verdict", "Cohen's κ"], people, {1, 2, 3})
        + _disputes(view)
    )  # fmt: skip


def _card(name: str, found: Agreement) -> str:
    alpha = number(found.alpha) if found.alpha is not None else "not defined"
    return (
        f'<div class="card"><h3>Krippendorff\'s α, {name}</h3><p class="value">{alpha}</p>'
        f"<p>{found.same} of {found.pairs} pairs with the same verdict</p></div>"
    )


def _disputes(view: TeamView) -> str:
    if not view.disputed:
        return "<h3>Disputed</h3><p>Nothing waits for an adjudicator.</p>"
    rest = view.disputed - len(view.disputes)
    more = f"<p>… and {rest} more.</p>" if rest > 0 else ""
    items = "".join(_dispute(view.dataset_id, one) for one in view.disputes)
    return (
        f"<h3>Disputed: {view.disputed}</h3><p>An adjudicator's verdict on the pair settles it; on "
        "the Review page <b>Show: disputed</b> has them one after the other.</p>"
        f'<ul class="disputes">{items}</ul>{more}'
    )


def _dispute(dataset_id: int, one: DisputeView) -> str:
    opinions = "".join(_opinion(opinion) for opinion in one.opinions)
    return (
        f'<li><a href="?dataset={dataset_id}&pair={one.pair_id}&review=disputed"><span dir="auto">'
        f"{safe(one.caption[:200])}</span></a><div>{opinions}</div></li>"
    )


def _opinion(one: OpinionView) -> str:
    text = f": “{safe(one.corrected_caption[:200])}”" if one.corrected_caption else ""
    return f"<p><b>{safe(one.author[:60])}</b> {safe(SHORT[one.decision])}{text}</p>"
