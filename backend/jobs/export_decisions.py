"""What an export does with each pair: whether it stays, and with which caption."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from backend.engine.claims.editing import without_all
from backend.engine.languages.foreign import foreign_language
from backend.jobs import export_steps
from backend.jobs.export_choice import ExportChoice, ExportDecision
from backend.jobs.export_steps import PairMark
from backend.jobs.scoring.dataset_models import languages_read
from backend.jobs.scoring.stored_claims import KnownClaim, known_claims
from backend.store import Store
from backend.verdict_texts import word_of
from db.decisions import ENRICHED, NOT_EXPORTED
from db.queries import edit_queries, pair_queries, run_queries, suggestion_queries
from db.queries.pair_queries import PairRow

#: Pairs whose enrichments are looked up together.
_AT_ONCE = 1000


@dataclass(frozen=True)
class Enrichment:
    """A richer caption of a pair. `kind`: blend, visual or holistic; `accepted`: by a curator, else
    only suggested; `proposer`: of one that is only suggested."""

    caption: str
    kind: str
    accepted: bool
    proposer: str = ""


def decide_export(
    choice: ExportChoice,
    caption: str,
    decision: str | None,
    corrected_caption: str | None,
    p_error: float | None,
    specificity: float | None = None,
    mark: PairMark = PairMark(),  # noqa: B008  (frozen)
    enrichment: Enrichment | None = None,
    edit: str | None = None,
    claims: Sequence[KnownClaim] = (),
) -> ExportDecision:
    """Apply `choice` to one pair: the single rule behind counts, files and card.

    A verdict always overrides the threshold: a curator has looked, the detector only estimates.
    `mark`: what steps say of the pair; a verdict and the threshold take precedence. `enrichment`:
    the accepted or suggested one. `edit`: the text of a bulk edit in effect, which replaces the
    caption under every verdict but a correction. `claims`: of a caption that has several.

    >>> decide_export(ExportChoice(drop_above=0.9), "A dog", None, None, 0.95).left_out_because
    'chance of error above 0.9'
    >>> decide_export(ExportChoice(drop_above=0.9), "A dog", "correct", None, 0.95).left_out_because
    ''
    >>> decide_export(ExportChoice(), "A dog", "wrong", None, 0.95)  # a label leaves nothing out
    ExportDecision(caption='A dog', kind='human', tags=('wrong',), left_out_because='')
    """
    if not caption and not edit and decision != "correction":
        reason = _left_out("drop") if decision == "drop" else "no caption accepted yet"
        return ExportDecision(caption, left_out_because=reason)
    if edit is not None and decision != "correction":
        # Without enrichments: they are based on another text.
        plain = decide_export(choice, edit, decision, None, p_error, specificity, mark)
        text = _without_wrong(choice, caption, edit, decision, claims)
        if plain.left_out_because or text == edit:
            return replace(plain, kind="edited")
        return _decide_shortened(text)
    if decision == "correction" and edit is not None and corrected_caption == edit:
        return ExportDecision(edit, "edited")
    if decision == "correction":
        kind = enrichment.kind if enrichment is not None and enrichment.accepted else ""
        return ExportDecision(
            corrected_caption or caption, kind or ("corrected" if caption else "new")
        )
    text = _without_wrong(choice, caption, caption, decision, claims)
    if text != caption and not (decision is None and choice.decided_only):
        return _decide_shortened(text)
    generic = (
        choice.specificity_below is not None
        and specificity is not None
        and specificity < choice.specificity_below
    )
    if decision == "correct":
        return _decide_kept(choice, caption, generic, enrichment)
    if (decision == "drop" and choice.dropped == "tag") or (
        decision == "wrong" and choice.wrong != "leave out"
    ):
        return ExportDecision(caption, tags=("wrong",))
    if decision == "abstract" and choice.abstract != "leave out":
        return ExportDecision(caption, tags=("abstract",) if choice.abstract == "tag" else ())
    exclusions = (*NOT_EXPORTED, "wrong", *(("unsure",) if choice.unsure == "leave out" else ()))
    if decision is not None and decision in exclusions:
        return ExportDecision(caption, left_out_because=_left_out(decision))
    if decision is None and choice.decided_only:
        return ExportDecision(caption, left_out_because="not decided yet")
    if (
        decision is None
        and choice.drop_above is not None
        and p_error is not None
        and p_error > choice.drop_above
    ):
        return ExportDecision(
            caption, left_out_because=f"chance of error above {choice.drop_above:g}"
        )
    if decision is None and mark.left_out_because:
        return ExportDecision(caption, left_out_because=mark.left_out_because)
    if decision == "unsure":
        enrichment = None  # never enrich a caption that may be wrong
    outcome = _decide_kept(choice, caption, generic, enrichment)
    if decision is None and not outcome.left_out_because:
        return replace(outcome, tags=(*outcome.tags, *mark.tags))
    return outcome


def _without_wrong(
    choice: ExportChoice,
    caption: str,
    text: str,
    decision: str | None,
    claims: Sequence[KnownClaim],
) -> str:
    """The text that the caption has become, without the claims that are left out; "" if none that
    says anything would stay. Verdicts that are about all of the caption take precedence."""
    if decision not in (None, "wrong", "unsure"):
        return text
    limit = choice.drop_claims_above if decision is None else None
    leave_out = [
        claim
        for claim in claims
        if (claim.is_right is False and choice.wrong_claims == "leave out")
        or (
            claim.is_right is None
            and claim.says_something
            and limit is not None
            and (claim.numbers["p_error"] or 0.0) > limit
        )
    ]
    if not any(claim.says_something for claim in claims if claim not in leave_out) and leave_out:
        return ""
    return without_all(caption, [claim.claim for claim in leave_out], text)


def _decide_shortened(text: str) -> ExportDecision:
    if not text:
        return ExportDecision(text, left_out_because="all its claims are wrong, or look so")
    return ExportDecision(text, "shortened")


def _decide_kept(
    choice: ExportChoice, caption: str, generic: bool, enrichment: Enrichment | None
) -> ExportDecision:
    """The decision on a caption that was not judged wrong or abstract."""
    if choice.captions == "enriched" and enrichment is not None and not enrichment.accepted:
        return ExportDecision(enrichment.caption, enrichment.kind, proposer=enrichment.proposer)
    if generic and choice.generic == "leave out":
        return ExportDecision(
            caption, left_out_because=f"specificity below {choice.specificity_below:g}"
        )
    return ExportDecision(caption, tags=("generic",) if generic else ())


def _left_out(decision: str) -> str:
    """The reason of a pair that its verdict leaves out."""
    return f"decided: {word_of(decision)}"


def remaining(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Generator[tuple[PairRow, ExportDecision]]:
    """The pairs that an export would write if it can read their pictures, in import order, with
    their captions."""
    for pair, outcome, _ in decided_pairs(store, dataset_id, choice):
        if not outcome.left_out_because:
            yield pair, outcome


def decided_pairs(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Iterator[tuple[PairRow, ExportDecision, Sequence[KnownClaim]]]:
    """The requested pairs in import order, each with what an export does with it, and its claims,
    none if its caption is one claim."""
    mark_of = export_steps.marks_of(store, dataset_id, choice)
    is_unread = unread_captions(store, dataset_id)
    unlimited = without_thresholds(choice)
    for pair, enrichment, edited_text, claims in requested_pairs(store, dataset_id, choice):
        unread = pair.decision is None and is_unread(pair)
        outcome = decide_export(
            unlimited if unread else choice,
            pair.caption, pair.decision, pair.corrected_caption, pair.p_error,
            pair.numbers["specificity"], mark_of(pair.id), enrichment, edited_text, claims,
        )  # fmt: skip
        yield pair, replace(outcome, is_unread=unread), claims


def without_thresholds(choice: ExportChoice) -> ExportChoice:
    """The choice for a caption whose chances of error say nothing."""
    return choice.model_copy(update={"drop_above": None, "drop_claims_above": None})


def unread_captions(store: Store, dataset_id: int) -> Callable[[PairRow], bool]:
    """Which pairs have a chance of error that says nothing, as the model of the scores does not
    read the language of the caption."""
    run = store.read(run_queries.latest_run, dataset_id, "score")
    languages = languages_read(run)
    return lambda pair: pair.p_error is not None and bool(foreign_language(pair.caption, languages))


def requested_pairs(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Iterator[tuple[PairRow, Enrichment | None, str | None, Sequence[KnownClaim]]]:
    """The requested pairs, each with its accepted or suggested enrichment, its edited text, and its
    claims if it has several."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "score")
        pairs = (
            pair
            for pair in pair_queries.iterate_pairs(session, dataset_id)
            if choice.only is None or pair.id in choice.only.pair_ids
        )
        while batch := list(islice(pairs, _AT_ONCE)):
            enrichments = _enrichments(store, choice, batch, run.id if run else None)
            edited_texts = edit_queries.edited_texts(
                session, [p.id for p in batch if p.verdict_version]
            )
            claims = known_claims(session, batch)
            yield from (
                (p, enrichments.get(p.id), edited_texts.get(p.id), claims.get(p.id, ()))
                for p in batch
            )


def _enrichments(
    store: Store, choice: ExportChoice, pairs: Sequence[PairRow], run_id: int | None
) -> dict[int, Enrichment]:
    is_enriched = choice.captions == "enriched"
    pair_ids = [pair.id for pair in pairs if is_enriched and pair.decision in (None, "correct")]
    enriched_pairs = {pair.id: pair for pair in pairs if pair.judgement == ENRICHED}
    enrichments: dict[int, Enrichment] = {}
    if not pair_ids and not enriched_pairs:
        return enrichments
    with store.reading() as session:
        for pair_id, row in suggestion_queries.open_enrichments(session, pair_ids, run_id).items():
            enrichments[pair_id] = Enrichment(
                row.caption, _kind_of(row.provenance), False, row.proposer
            )
        origins = suggestion_queries.accepted_enrichments(session, list(enriched_pairs))
    for pair_id, pair in enriched_pairs.items():
        caption = pair.corrected_caption or pair.caption
        enrichments[pair_id] = Enrichment(caption, _kind_of(origins.get(pair_id)), True)
    return enrichments


def _kind_of(provenance: dict[str, Any] | None) -> str:
    """The kind of an enrichment; a generic name if the store does not record it."""
    return str((provenance or {}).get("boost") or ENRICHED)
