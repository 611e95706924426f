"""What the review page looks like: parts of it as safe HTML. What it does is in `review`."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.trajectories.trajectory import Trajectory
from backend.views import DatasetSummary, PairView, SuggestionView
from traced_ui.differences import difference
from traced_ui.highlighting import highlighted_caption
from traced_ui.markup import number, percent, safe
from traced_ui.queue_filter import RANGES, as_query

DECISIONS = {
    "correct": ("A", "Correct"),
    "drop": ("D", "Wrong: drop"),
    "abstract": ("B", "Abstract"),
    "unsure": ("U", "Unsure"),
}
_SHORT = {"correct": "✓ correct", "correction": "✎ corrected", "drop": "✕ dropped",
          "abstract": "~ abstract", "unsure": "? unsure"}  # fmt: skip
ORDERS = {
    "p_error": "most likely wrong",
    "s_0": "lowest match s",
    "gain": "largest gain",
    "icc": "most abstract",
    "uncertainty": "most uncertain",
    "lot": "random audit",
    "position": "as imported",
}
_AUDIT = (
    "A random sample: only pairs decided in this order, without a gap, tell how many errors remain "
    "(Progress)."
)


#: Filters that stand behind "More filters".
_MORE = (
    "decision",
    "decided_by",
    *(f"{column}_{end}" for column in RANGES if column != "p_error" for end in ("from", "to")),
)


def picture_source(pair_id: int, size: str) -> str:
    return f"/pictures/{pair_id}?size={size}"


def queue(
    rows: Sequence[Any],
    current: int | None,
    summary: DatasetSummary,
    filter: dict[str, str],
    count: int,
    more: bool,
    first_page: bool,
    views: Mapping[str, dict[str, str]],
) -> str:
    """Filters, progress, and a page of pairs. `views`: the saved ones, by name."""
    share = summary.reviewed / summary.total if summary.total else 0
    items = "".join(_row(row, row.pair_id == current) for row in rows)
    if not rows:
        items = "<li class='empty'>No pair fits these filters.</li>"
    pager = (
        '<div class="pager">'
        f'<button type="button" class="t-button small" data-action="first-page" '
        f"{'disabled' if first_page else ''}>First page</button>"
        f'<button type="button" class="t-button small" data-action="next-page" '
        f"{'' if more else 'disabled'}>Next page</button></div>"
    )
    return (
        f'<div class="progress"><span>{summary.reviewed} of {summary.total} reviewed</span>'
        f"<span>{summary.errors_found} were errors</span></div>"
        f'<div class="bar" role="progressbar" aria-valuenow="{100 * share:.0f}" '
        'aria-valuemin="0" aria-valuemax="100" aria-label="reviewed, percent">'
        f'<i style="width:{share:.1%}"></i></div>'
        + f'<div data-link="{safe(as_query(filter))}" data-dataset="{summary.id}">'
        + _filters(filter, bool(filter.get("split") or any(row.split for row in rows)), views)
        + "</div>"
        + (f'<p class="hint">{_AUDIT}</p>' if filter.get("order") == "lot" else "")
        + f'<div class="progress"><span>{count} pairs in this queue</span></div>'
        f'<ul class="pairs" aria-label="Queue">{items}</ul>{pager}'
    )


def _row(row: Any, is_current: bool) -> str:
    done = f'<span class="done">{_SHORT[row.decision]}</span>' if row.decision else ""
    text = row.caption if len(row.caption) < 160 else row.caption[:160] + " …"
    return (
        f'<li{" aria-current=true" if is_current else ""}><button type="button" '
        f'data-action="open" data-target="{row.pair_id}">'
        f'<img loading="lazy" alt="" src="{picture_source(row.pair_id, "104")}">'
        f'<span class="text" dir="auto">{safe(text)}</span>'
        f'<span class="p">{percent(row.p_error)}{done}</span></button></li>'
    )


def _filters(filter: dict[str, str], splits: bool, views: Mapping[str, dict[str, str]]) -> str:
    def choice(name: str, label: str, options: dict[str, str], wide: bool = False) -> str:
        entries = "".join(
            f'<option value="{safe(value)}"{" selected" if filter.get(name, "") == value else ""}>'
            f"{safe(told)}</option>"
            for value, told in options.items()
        )
        kind = ' class="wide"' if wide else ""
        return f'<label{kind}>{label}<select data-filter="{name}">{entries}</select></label>'

    def field(name: str, label: str, kind: str, extra: str = "", wide: bool = False) -> str:
        value = safe(filter.get(name, ""))
        return (
            f"<label{' class=wide' if wide else ''}>{label}"
            f'<input data-filter="{name}" type="{kind}" value="{value}" {extra}></label>'
        )

    steps = 'min="0" max="1" step="any"'
    used = any(filter.get(key) for key in _MORE)
    here = next((name for name, fields in views.items() if fields == filter), "")
    return (
        '<div class="filters">'
        + _views(views, here)
        + choice(
            "review", "Show",
            {"unreviewed": "unreviewed", "decided": "decided", "all": "all"},
        )
        + choice("order", "Order", ORDERS)
        + field("p_error_from", "p from", "number", f'{steps} placeholder="0"')
        + field("p_error_to", "p to", "number", f'{steps} placeholder="1"')
        + field("text", "Search captions ( / )", "search", wide=not splits)
        + (field("split", "Split", "text") if splits else "")
        + f'</div><details class="more"{" open" if used else ""}><summary>More filters</summary>'
        + '<div class="filters">'
        + "".join(
            field(f"{column}_{end}", f"{name} {end}", "number", 'step="any"')
            for column, name in RANGES.items()
            if column != "p_error"
            for end in ("from", "to")
        )
        + choice("decision", "Verdict", {"": "any", **{k: v[2:] for k, v in _SHORT.items()}})
        + field("decided_by", "Decided by", "text")
        + _keep(here)
        + "</div></details>"
    )  # fmt: skip


def _views(views: Mapping[str, dict[str, str]], here: str) -> str:
    """Saved queues, if there are any; `here`: the one that is open."""
    if not views:
        return ""
    options = "".join(
        f'<option value="{safe(name)}"{" selected" if name == here else ""}>{safe(name)}</option>'
        for name in views
    )
    none = "the usual queue" if here else "none of the saved ones"
    return (
        '<label class="wide">View<select data-view>'
        f'<option value="">{none}</option>{options}</select></label>'
    )


def _keep(here: str) -> str:
    """Save this queue under a name, or forget the one that is open."""
    forget = (
        f'<button type="button" class="t-button small wide" data-action="delete-view" '
        f'data-name="{safe(here)}">Forget the view “{safe(here)}”</button>'
        if here
        else ""
    )
    return (
        '<label class="wide">Save this view as'
        '<input data-view-name type="text" maxlength="80"></label>'
        '<button type="button" class="t-button small wide" data-action="save-view">Save view'
        f"</button>{forget}"
    )


def stage(
    view: PairView, step: int, suggestions: Sequence[SuggestionView], next_ids: Sequence[int]
) -> str:
    """Picture, caption, verdicts and suggestions of one pair."""
    trajectory = view.trajectory
    # Words that a step replaced are still there; only Elimination over words strikes them out.
    deletes = trajectory is not None and trajectory.captions is None
    removed = trajectory.removed[:step] if trajectory is not None and deletes else ()
    gains = trajectory.deletion_gains.tolist() if trajectory is not None else ()
    prefetch = " ".join(picture_source(i, "full") for i in next_ids)
    return (
        f'<div class="stage" data-pair="{view.pair_id}" data-version="{view.version}" '
        f'data-prefetch="{safe(prefetch)}">'
        + _picture(view)
        + highlighted_caption(
            view.caption, view.suspects, removed, view.words_read, gains,
            _removal(view.trajectory) if deletes else None, view.wrong_words,
        )
        + _facts(view)
        + _verdicts(view)
        + _suggestions(view, suggestions)
        + _edit(view)
        + "</div>"
    )  # fmt: skip


def _removal(trajectory: Trajectory | None) -> dict[int, int]:
    """The step at which each word went."""
    return {word: step for step, word in enumerate(trajectory.removed, 1)} if trajectory else {}


GRID_HELP = (
    '<div class="empty"><h2>Many at once</h2>Click pairs (Shift: a row of them), or take all with '
    "Ctrl+A, then give one verdict for all that are selected: A, D, B or U. One Z takes it back. "
    "J turns the page, G leads back to one pair.</div>"
)


def grid(rows: Sequence[Any]) -> str:
    """A page of the queue as cards that can be selected, and the verdicts for them."""
    cards = "".join(
        f'<label class="pick" data-pick="{row.pair_id}" data-version="{row.verdict_version}">'
        f'<input type="checkbox" aria-label="Select {safe(row.external_id[:60])}">'
        f'<img loading="lazy" alt="" src="{picture_source(row.pair_id, "full")}">'
        f'<span class="text" dir="auto">{safe(row.caption[:220])}</span>'
        f'<span class="p">{percent(row.p_error)}'
        + (f" · {_SHORT[row.decision]}" if row.decision else "")
        + "</span></label>"
        for row in rows
    )
    buttons = "".join(
        f'<button type="button" class="t-button" data-many="{decision}">'
        f"<kbd>{key}</kbd>{told}</button>"
        for decision, (key, told) in DECISIONS.items()
    )
    return (
        '<div class="grid-view"><div class="progress"><span data-count>none selected</span></div>'
        f'<div class="verdicts" role="group" aria-label="Verdict for the selected">{buttons}</div>'
        f'<div class="picks">{cards}</div></div>'
    )


def _picture(view: PairView) -> str:
    if view.image_size is None:
        return (
            '<div class="empty"><h2>The picture cannot be shown</h2>'
            f"{safe(view.image_name)} is gone or unreadable.</div>"
        )
    width, height = view.image_size
    return (
        '<button type="button" class="picture" data-local="zoom" '
        f'aria-label="Picture, {width} by {height}; large or fitted">'
        f'<img src="{picture_source(view.pair_id, "full")}" alt="{safe(view.image_name)}"></button>'
    )


def _facts(view: PairView) -> str:
    facts = [
        f"<span title='Rests on {safe(view.basis)}'>probability of error "
        f"<b>{percent(view.p_error)}</b> <small>({safe(view.basis)})</small></span>",
        f"<span>s <b>{number(view.s_0, 3)}</b></span>",
        f"<span>gain <b>{number(view.gain, 3)}</b></span>",
        "<span title='Concreteness, 0 abstract to 1 concrete'>ICC "
        f"<b>{number(view.icc)}</b></span>",
    ]
    if view.looks_abstract:
        facts.append('<span class="chip">looks abstract</span>')
    if view.truncated:
        facts.append('<span class="chip">longer than the model reads</span>')
    if view.split:
        facts.append(f'<span class="chip">{safe(view.split)}</span>')
    facts.append(f"<span>{safe(view.external_id[:60])}</span>")
    return f'<div class="facts">{"".join(facts)}</div>'


def _verdicts(view: PairView) -> str:
    buttons = "".join(
        f'<button type="button" class="t-button" data-action="{decision}" '
        f'aria-pressed="{"true" if view.decision == decision else "false"}">'
        f"<kbd>{key}</kbd>{told}</button>"
        for decision, (key, told) in DECISIONS.items()
    )
    return f'<div class="verdicts" role="group" aria-label="Verdict">{buttons}</div>'


def _suggestions(view: PairView, suggestions: Sequence[SuggestionView]) -> str:
    if view.decision == "correction" and view.corrected_caption is not None:
        head = (
            '<div class="facts"><span>corrected to</span></div>'
            '<p class="traced-caption" dir="auto">'
            f"{difference(view.caption, view.corrected_caption)}</p>"
        )
    else:
        head = ""
    if not suggestions:
        ask = (
            '<button type="button" class="t-button small" data-action="suggest"><kbd>S</kbd>'
            "Suggest corrections</button>"
            if view.trajectory is not None
            else ""
        )
        return head + ask
    items = "".join(_suggestion(view, n, offer) for n, offer in enumerate(suggestions[:3], 1))
    return head + f'<ol class="suggestions" aria-label="Suggested corrections">{items}</ol>'


def _suggestion(view: PairView, place: int, offer: SuggestionView) -> str:
    p = ""
    if offer.p_before is not None and offer.p_after is not None:
        p = f" · p {percent(offer.p_before)} → {percent(offer.p_after)}"
    return (
        f'<li><button type="button" data-action="suggestion-{place}"><kbd>{place}</kbd>'
        f'<span dir="auto">{difference(view.caption, offer.caption)}</span>'
        f"<small>{safe(offer.proposer)}<br>s {offer.s_before:.3f} → {offer.s_after:.3f}{p}</small>"
        "</button></li>"
    )


def _edit(view: PairView) -> str:
    text = view.corrected_caption or view.caption
    return (
        '<details class="edit"><summary><kbd>E</kbd>Write your own correction</summary>'
        f'<textarea dir="auto" aria-label="Your correction">{safe(text)}</textarea>'
        '<button type="button" class="t-button small" data-action="save-edit">Save (Ctrl+Enter)'
        "</button></details>"
    )


def empty(title: str, told: str) -> str:
    return f'<div class="empty"><h2>{safe(title)}</h2>{safe(told)}</div>'
