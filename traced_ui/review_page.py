"""One pair on the review page as HTML; the behaviour is defined in the files `*_actions`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from markupsafe import Markup

from backend.engine.captions import Caption
from backend.engine.detection.explanations import rise_without
from backend.engine.detection.localisation import most_suspect
from backend.jobs.errors_left import ErrorsLeft
from backend.jobs.job_view import JobView
from backend.measures import MEASURES, OF_THE_MODEL
from backend.review.pair_selection import LONGEST
from backend.review.queue import MIXED_EVERY
from backend.review.search import similarity_kinds
from backend.review.views import CaptionCheck, DatasetSummary, PairView, ProgressView
from backend.verdict_texts import ABOUT_CAPTION, TEXTS, is_wrong, judgement, word_of
from traced_ui.differences import difference, parts_that_differ, readable, replacements
from traced_ui.highlighting import highlighted_caption, words_of
from traced_ui.markdown import from_markdown
from traced_ui.pair_places import parts_in
from traced_ui.reasons import expectations_by_word, reasons_section
from traced_ui.review_labels import DECISIONS, LISTED, state_after
from traced_ui.support import enrichments, phrases_section
from traced_ui.templates import part, render


class Tool(NamedTuple):
    """A toolbar button. `is_local`: handled by the browser alone."""

    action: str
    label: str
    key: str
    icon: str
    is_local: bool = False


TOOLS = (
    Tool("queue", "Queue and filters", "", "list", is_local=True),  # on a phone, see styles.css
    Tool("undo", "Undo the last verdict", "Z", "undo"),
    Tool("redo", "Redo", "Y", "redo"),
    Tool("previous", "Back to the previous pair", "K", "back"),
    Tool("next", "Next pair", "J", "next"),
    Tool("skip", "Skip this pair: it comes back at the end of the queue", "Q", "skip"),
    Tool("tag", "Tags of this pair, or of those selected in the grid", "T", "tag"),
    Tool("grid", "Grid of many pairs, or back to one pair", "G", "grid"),
    Tool("table", "Table of many pairs, or back to one pair", "", "table"),
)


def toolbar() -> Markup:
    """The toolbar of the page."""
    return render("review/toolbar.html", tools=TOOLS)


#: Characters of a long caption that are shown before its first change.
BEFORE_CHANGE = 24
#: Corrections on the page, one key each.
SUGGESTIONS_SHOWN = 3
#: Longer captions are set smaller, and their box is higher.
LONGEST_AT_SIZE = 160


def stage(view: PairView, is_sampled: bool = False) -> Markup:
    """Picture, caption, verdicts and suggestions of one pair. `is_sampled`: it was mixed into the
    queue at random."""
    trajectory = view.opinion.trajectory
    removal = None
    # Only word elimination deletes words; in other trajectories a step replaces them.
    if trajectory is not None and trajectory.captions is None:
        removal = {word: step for step, word in enumerate(trajectory.removed, 1)}
    gains = trajectory.deletion_gains.tolist() if trajectory is not None else ()
    correction = view.verdict.corrected_caption
    suggestions = view.helpful_suggestions[:SUGGESTIONS_SHOWN]
    cards = []
    for number, each in enumerate(suggestions, 1):
        parts = parts_that_differ(view.caption, each.caption, view.claim)
        cards.append((number, each, readable(*parts), replacements(*parts), parts[1]))
    is_best = any(each.is_offer for each in suggestions[:1])
    is_unjudged = any(
        s.p_before is not None and s.p_after is None for s in view.suggestions.corrections
    )
    is_whole = trajectory is None or trajectory.whole
    reason = why(view)
    return render(
        "review/stage.html",
        view=view,
        longest=LONGEST_AT_SIZE,
        is_unjudged=is_unjudged,
        is_deferred=is_unjudged or view.opinion.looks_abstract or not is_whole,
        caption=highlighted_caption(
            view.caption, view.opinion.suspects, view.opinion.words_read, gains,
            removal, view.wrong_words,
            expectations_by_word(trajectory),
            view.claims, view.selected if view.claims else None, view.is_beyond_model,
            constants=view.constants,
        ),
        decisions=DECISIONS,
        about_caption=ABOUT_CAPTION,
        correction=None if correction is None else _correction(view, correction),
        cards=cards,
        is_best=is_best,
        why=reason,
        is_accused=reason is not None and is_accused(view),
        is_sampled=is_sampled,
        mixed_every=MIXED_EVERY,
        opinions=_opinions(view),
        parts=parts_in("picture", view),
        over=parts_in("over", view),
        labels=parts_in("labels", view),
    )  # fmt: skip


def _opinions(view: PairView) -> list[tuple[str, str]]:
    """What each curator says about the pair, if they disagree: (name, verdict as listed)."""
    latest = {act.author: act for act in view.verdict.history}
    opinions = [(name, act) for name, act in latest.items() if act.decision]
    if len({(act.decision, act.corrected_caption) for _, act in opinions}) < 2:
        return []
    return [(name, state_after(act)) for name, act in opinions]


class Why(NamedTuple):
    """A sentence around words of the caption."""

    before: str
    words: tuple[str, ...]
    after: str


def why(view: PairView) -> Why | None:
    """Why the caption, or its selected claim, looks wrong, in one sentence about the words that the
    page tints; None if nothing does."""
    trajectory, claim = view.opinion.trajectory, view.claim
    start, end = (claim.start, claim.end) if claim is not None else (0, len(view.caption))
    inside = [word for word in view.opinion.suspects if start <= word.start < end]
    suspects = most_suspect(view.caption, inside)
    if trajectory is None or not suspects:
        return None
    texts = tuple(view.caption[word.start : word.end] for word in suspects)
    if not is_accused(view):
        return Why("Least sure of", texts, "")
    spans = {(word.start, word.end) for word in suspects}
    every = (
        words_of(view.caption, claim)
        if claim is not None
        else [(*span, [i]) for i, span in enumerate(Caption.parse(view.caption).spans)]
    )
    text_of = {i: view.caption[a:b] for a, b, indices in every if (a, b) in spans for i in indices}
    rise = rise_without(trajectory, text_of)
    if rise is None:
        return Why("Least expected in this caption:", texts, "")
    words = tuple(dict.fromkeys(text_of[i] for i in rise.words))
    return Why("Without", words, f"the match rises from {rise.before:.2f} to {rise.after:.2f}")


def is_accused(view: PairView) -> bool:
    """Whether the model, which knows such pictures and reads the caption's language, holds that the
    caption, or its selected claim, is more likely wrong than right."""
    chance = (view.claim or view).p_error
    return not view.is_beyond_model and chance is not None and chance >= 0.5


def _correction(view: PairView, text: str) -> Markup:
    """What the pair's text is now; of a long one the part that has changed."""
    return difference(view.caption, text, around=BEFORE_CHANGE if view.claims else None)


def side_panel(view: PairView) -> Markup:
    """The part below the trajectory: similar pairs, phrases, reasons and the verdict history."""
    history = [
        [
            f"{verdict.created_at:%Y-%m-%d %H:%M}",
            verdict.author,
            state_after(verdict),
            verdict.corrected_caption or "",
            # A rule's note is the address of its queue.
            unquote_plus(verdict.note) if verdict.note.startswith("rule: ") else verdict.note,
        ]
        for verdict in view.verdict.history
    ]
    support = view.numbers.get("support")
    phrases = phrases_section(
        view.caption, view.support.phrases, support, view.support.note, view.opinion.suspects
    )
    # They are of a chance that is not shown if the model does not know such pairs.
    of_chance = None if view.is_beyond_model else view.opinion.reasons
    reasons = reasons_section(of_chance, view.opinion.trajectory)
    return render(
        "review/beside.html", view=view, history=history, phrases=phrases, reasons=reasons,
        kinds=similarity_kinds().values(),
        enrichments=enrichments(view), alike_parts=parts_in("alike", view),
        tabs=parts_in("tab", view),
        short=LISTED, guidelines=guidelines(view), bars=bars(view),
    )  # fmt: skip


class Bar(NamedTuple):
    """A measure beside a pair. `share`: how full its bar is, None: no bar."""

    name: str
    value: str
    share: float | None
    hint: str


def bars(view: PairView) -> list[Bar]:
    """The measures with a bar that are known; of the selected claim where claims have them."""
    numbers = {**view.numbers, **(view.claim.numbers if view.claim is not None else {})}
    rows = []
    for name, measure in MEASURES.items():
        value = numbers.get(name)
        if not measure.bar or value is None:
            continue
        hint = f"{measure.symbol}: {measure.explanation}" if measure.symbol else measure.explanation
        if measure.unit == OF_THE_MODEL and view.opinion.scored_by:
            hint += f" By {view.opinion.scored_by}."
        rows.append(Bar(measure.bar, measure.write(value), measure.fullness(numbers), hint))
    return rows


def tags(
    pair_ids: Sequence[int],
    counts: Mapping[str, int],
    every_tag: Sequence[str],
    entries: Mapping[str, Any],
    question: str = "",
) -> Markup:
    """The form for the tags of pairs as filled in. `counts`: how many of them have each tag;
    `question`: what to confirm before a tag is renamed."""
    meant = f"{entries.get('name')};{entries.get('new')}" if question else ""
    return render(
        "review/tags.html", number=len(pair_ids), of=",".join(map(str, pair_ids)), given=entries,
        counts=sorted(counts.items()), tags=every_tag, longest=LONGEST, question=question,
        meant=meant,
    )  # fmt: skip


def guidelines(view: PairView) -> Markup:
    """The dataset's guidelines for curators, if any."""
    return render("review/guidelines.html", text=from_markdown(view.guidelines))


def check_view(view: PairView, check: CaptionCheck) -> Markup:
    """The curator's own caption with its suspect words, and its scores next to the old ones."""
    caption = highlighted_caption(check.caption, check.suspects)
    return render("review/checked.html", view=view, check=check, caption=caption)


def question(view: PairView, action: str) -> Markup:
    """Ask whether to change the pair's existing verdict. `action`: a verdict, "suggestion-N" or
    "enrich-N"."""
    labels: dict[str, str] = {key: label for key, (_, label, _) in DECISIONS.items()}
    new_label = labels.get(action, TEXTS["correction"].button)
    verdict = LISTED[judgement(view.verdict.decision, view.verdict.enriches) or ""]
    return render(
        "review/question.html", view=view, verdict=verdict, wanted=new_label,
        contradicts=contradicts_labels(view, action),
    )  # fmt: skip


def contradicts_labels(view: PairView, action: str) -> bool:
    """Whether the verdict says that the caption is right, and a label that a claim is wrong."""
    return action == "correct" and any(claim.is_right is False for claim in view.claims)


def not_scored(job: JobView | None) -> Markup:
    """Why a pair has no scores. `job`: the newest one that scores its dataset."""
    find = part("page_link", "datasets", "Find errors under Add data")
    if job is None:
        return empty("Not scored yet", "Nothing is known about this dataset's pairs.", find)
    if not job.has_ended:
        return empty("Not scored yet", "Scores appear once the job has finished.")
    if job.status == "done":
        return empty(
            "Not scored",
            "It was imported after the last scoring, or left out of it: the rows left "
            "out are listed under Add data, with the reason.",
            find,
        )
    return empty("Not scored", job.message, find)


def finish(
    progress: DatasetSummary | ProgressView,
    errors_left: ErrorsLeft | None,
    is_on_progress: bool = False,
) -> Markup:
    """What a review has come to, and what comes next. `errors_left`: those among the other pairs.
    `is_on_progress`: not on the review page but on that."""
    counts = progress.by_decision
    errors = [(word_of(name), n) for name, n in counts.items() if is_wrong(name) and n]
    return render(
        "review/finish.html", total=progress.total, reviewed=progress.reviewed,
        errors_found=progress.errors_found, found=sorted(errors), left=errors_left,
        is_nearly=errors_left is not None and errors_left.is_few(progress.errors_found),
        is_on_progress=is_on_progress,
    )  # fmt: skip


def empty(title: str, text: str, act: Markup | str = "") -> Markup:
    return part("empty", title, text, act)
