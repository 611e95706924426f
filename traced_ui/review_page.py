"""What the review page looks like: parts of it as safe HTML. What it does is in `review`."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.noise.word_kinds import WORD_KINDS
from backend.pipeline.queue_fields import RANGES, as_query
from backend.trajectories.trajectory import Trajectory
from backend.views import CaptionCheck, DatasetSummary, PairView, SuggestionView
from traced_ui.differences import difference
from traced_ui.highlighting import highlighted_caption
from traced_ui.jobs import table
from traced_ui.markup import number, percent, safe

DECISIONS = {
    "correct": ("A", "Correct"),
    "drop": ("D", "Wrong: drop"),
    "abstract": ("B", "Abstract"),
    "unsure": ("U", "Unsure"),
}
SHORT = {"correct": "✓ correct", "correction": "✎ corrected", "drop": "✕ dropped",
          "abstract": "~ abstract", "unsure": "? unsure"}  # fmt: skip
ORDERS = {
    "p_error": "most likely wrong",
    "s_0": "lowest match s",
    "gain": "largest gain",
    "icc": "most abstract",
    "disagreement": "scorers disagree",
    "uncertainty": "most uncertain",
    "lot": "random audit",
    "position": "as imported",
}
#: What has to be known about an order.
_HINTS = {
    "lot": "A random sample: only pairs decided in this order, without a gap, tell how many errors "
    "remain (Progress).",
    "disagreement": "By how far the scorers' ranks of a pair lie apart. Needs the dataset scored "
    "by two: python app.py score NAME --scorer clip",
}


#: Filters that stand behind "More filters".
_MORE = (
    "decision",
    "decided_by",
    "external_id",
    "extra",
    "truncated",
    "suspect_kind",
    *(f"{column}_{end}" for column in RANGES if column != "p_error" for end in ("from", "to")),
)


def picture_source(pair_id: int, size: str) -> str:
    return f"/pictures/{pair_id}?size={size}"


def queue(
    rows: Sequence[Any],
    current: int | None,
    summary: DatasetSummary,
    filter: dict[str, str],
    count: str,
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
        + (f'<p class="hint">{hint}</p>' if (hint := _HINTS.get(filter.get("order", ""))) else "")
        + f'<div class="progress"><span>{count} pairs in this queue</span></div>'
        f'<ul class="pairs" aria-label="Queue">{items}</ul>{pager}'
    )


def _row(row: Any, is_current: bool) -> str:
    done = f'<span class="done">{SHORT[row.decision]}</span>' if row.decision else ""
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
            {"unreviewed": "unreviewed", "decided": "decided", "all": "all",
             "disputed": "disputed"},
        )
        + choice("order", "Order", ORDERS)
        + field("p_error_from", "p from", "number", f'{steps} placeholder="0"')
        + field("p_error_to", "p to", "number", f'{steps} placeholder="1"')
        + field("text", "Search words ( / )", "search")
        + field("meaning", "Search meaning", "search")
        + (field("split", "Split", "text", wide=True) if splits else "")
        + _alike(filter)
        + f'</div><details class="more"{" open" if used else ""}><summary>More filters</summary>'
        + '<div class="filters">'
        + "".join(
            field(f"{column}_{end}", f"{name} {end}", "number", 'step="any"')
            for column, name in RANGES.items()
            if column != "p_error"
            for end in ("from", "to")
        )
        + choice("decision", "Verdict", {"": "any", **{k: v[2:] for k, v in SHORT.items()}})
        + field("decided_by", "Decided by", "text")
        + field("external_id", "Id contains", "text")
        + field("extra", "Source column", "text", 'placeholder="licence = by"')
        + choice("truncated", "Longer than is read", {"": "any", "yes": "yes", "no": "no"})
        + choice("suspect_kind", "Suspect word is a", {"": "any", **{k: k for k in WORD_KINDS}})
        + _keep(here)
        + "</div></details>"
    )  # fmt: skip


def _alike(filter: dict[str, str]) -> str:
    """What all pairs of this queue have in common, with a way out."""
    like, _, pair = filter.get("like", "").partition(":")
    told = {"image": f"pictures like pair {pair}'s", "duplicate": f"near duplicates of pair {pair}",
            "caption": f"captions like pair {pair}'s"}.get(like, "")  # fmt: skip
    if word := filter.get("suspect_word"):
        told = f"suspect word “{word}”"
    if kind := filter.get("suspect_kind"):
        told = f"suspect words of the kind {kind}"
    if not told:
        return ""
    hidden = "".join(
        f'<input type="hidden" data-filter="{key}" value="{safe(filter[key])}">'
        for key in ("like", "suspect_word")
        if filter.get(key)
    )
    return (
        f'<div class="wide alike">{hidden}<span>{safe(told)}</span><button type="button" '
        'class="t-button small" data-action="clear-search">All pairs</button></div>'
    )


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
        f'<img loading="lazy" alt="" src="{picture_source(row.pair_id, "400")}">'
        f'<span class="text" dir="auto">{safe(row.caption[:220])}</span>'
        f'<span class="p">{percent(row.p_error)}'
        + (f" · {SHORT[row.decision]}" if row.decision else "")
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
    if view.disagreement is not None:
        facts.append(
            "<span title='How far the scorers&#39; ranks of this pair lie apart, 0 to 1'>"
            f"disagreement <b>{number(view.disagreement)}</b></span>"
        )
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
    ask = ""
    if view.trajectory is not None and (view.may_ask or not suggestions):
        told = f"Ask {safe(view.may_ask)}" if view.may_ask else "Suggest corrections"
        ask = (
            '<button type="button" class="t-button small" data-action="suggest"><kbd>S</kbd>'
            f"{told}</button>"
        )
    if not suggestions:
        return head + ask
    items = "".join(_suggestion(view, n, offer) for n, offer in enumerate(suggestions[:3], 1))
    return head + f'<ol class="suggestions" aria-label="Suggested corrections">{items}</ol>' + ask


def _suggestion(view: PairView, place: int, offer: SuggestionView) -> str:
    p = ""
    if offer.p_before is not None and offer.p_after is not None:
        p = f" · p {percent(offer.p_before)} → {percent(offer.p_after)}"
    words = f" · {offer.words_changed} word{'s' if offer.words_changed != 1 else ''}"
    alike = f" · c {offer.similarity:.2f}" if offer.similarity is not None else ""
    worse = "" if offer.s_after > offer.s_before else " · matches no better"
    return (
        f'<li><button type="button" data-action="suggestion-{place}"><kbd>{place}</kbd>'
        f'<span dir="auto">{difference(view.caption, offer.caption)}</span>'
        f"<small title='c: how like the caption it stays, by the scorer'>{safe(offer.proposer)}"
        f"{words}{alike}<br>s {offer.s_before:.3f} → {offer.s_after:.3f}{p}{worse}</small>"
        f"</button>{_seen(offer)}</li>"
    )


def _seen(offer: SuggestionView) -> str:
    """What the model says it has seen for each suspect word."""
    if not offer.steps:
        return ""
    rows = "".join(
        f"<li><b>{safe(word[:60])}</b> {'✕ wrong' if wrong else '✓ right'}: {safe(told[:300])}</li>"
        for word, told, wrong in offer.steps[:10]
    )
    summary = "<summary>How it came to this</summary>"
    return f'<details class="folded">{summary}<ul>{rows}</ul></details>'


def _edit(view: PairView) -> str:
    text = view.corrected_caption or view.caption
    return (
        '<details class="folded correction">'
        "<summary><kbd>E</kbd>Write your own correction</summary>"
        f'<textarea dir="auto" aria-label="Your correction">{safe(text)}</textarea>'
        '<button type="button" class="t-button small" data-action="save-edit">Save (Ctrl+Enter)'
        "</button></details>"
    )


def beside(view: PairView) -> str:
    """What stands below the trajectory: ways to pairs like this one, and the pair's history."""
    return _more_like_this(view) + _history(view)


def _more_like_this(view: PairView) -> str:
    """Ways from this pair to others that have something in common with it."""
    alike = view.likeness
    if view.trajectory is None or alike is None:
        return ""
    offers = [
        ("same-picture", "<kbd>P</kbd>", "pictures like this"),
        ("near-duplicates", "", "near duplicates"),
        ("same-caption", "", "captions like this"),
    ]
    if alike.word:
        told = f"“{safe(alike.word)}” · {_many(alike.same_word)}"
        offers = [
            ("same-word", "<kbd>M</kbd>", told),
            ("same-kind", "", f"{safe(alike.kind or '')} · {_many(alike.same_kind)}"),
            *offers,
        ]
    buttons = "".join(
        f'<button type="button" class="t-button small" data-action="{action}">{key}{told}</button>'
        for action, key, told in offers
    )
    return (
        '<div class="alike-to" role="group" aria-label="More like this">'
        f"<span>More like this</span>{buttons}</div>"
    )


def _many(count: int) -> str:
    return f"{count:,}+" if count >= 1000 else str(count)


def _history(view: PairView) -> str:
    """Who decided what, when."""
    if not view.history:
        return ""
    rows = [
        [
            f"{one.created_at:%Y-%m-%d %H:%M}",
            one.author,
            SHORT[one.decision] if one.decision else "taken back: undecided",
            one.corrected_caption or "",
        ]
        for one in view.history
    ]
    return (
        f'<details class="folded"><summary>History · {len(rows)}</summary>'
        + table(["when", "who", "what holds after it", "corrected caption"], rows)
        + "</details>"
    )


def checked(view: PairView, found: CaptionCheck) -> str:
    """The curator's own text with its suspect words, and its numbers beside those before."""
    return (
        f'<div class="checked" data-checked="{view.pair_id}" aria-live="polite">'
        + highlighted_caption(found.caption, found.suspects)
        + f'<div class="facts"><span>s <b>{number(found.s, 3)}</b> (was {number(view.s_0, 3)})'
        f"</span><span>probability of error <b>{percent(found.p_error)}</b> "
        f"(was {percent(view.p_error)})</span><span>ICC <b>{number(found.icc)}</b></span></div>"
        "</div>"
    )


def empty(title: str, told: str) -> str:
    return f'<div class="empty"><h2>{safe(title)}</h2>{safe(told)}</div>'
