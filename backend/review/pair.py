"""Everything about one pair as pages show it, from the store alone: fast, no model is queried."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from backend.datasets.caption_writers import writer_of
from backend.datasets.cells import split_proof
from backend.datasets.safe_files import images
from backend.datasets.safe_files.containers import ImageFile, locate
from backend.engine.claims.editing import place_in
from backend.engine.claims.scored_caption import is_vague, says_something
from backend.engine.constants.part import left_out, spans_in
from backend.engine.correction.anchoring import UnanchoredWord, conflicts
from backend.engine.detection.explanations import Reasons, reasons_of
from backend.engine.detection.opinion_signs import USUAL_WEIGHT
from backend.engine.detection.types import SuspectWord
from backend.engine.english.phrases import KINDS, is_spaced
from backend.engine.familiarity import Familiarity
from backend.engine.languages.foreign import foreign_language
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError, UnsafePath
from backend.jobs.correction_writers import new_writer
from backend.jobs.scoring.dataset_constants import constants_in
from backend.jobs.scoring.dataset_models import languages_read, reading_note
from backend.jobs.scoring.stored_rows import (
    better_picture,
    claim_replaced,
    doubts_of,
    in_order,
    to_claim,
    to_scored_caption,
    to_suspects,
)
from backend.measures import ABSTRACT_THRESHOLD, MEASURES
from backend.review.pair_parts import read_parts
from backend.review.views import (
    BetterPicture,
    ClaimView,
    Likeness,
    ModelOpinion,
    PairView,
    PhraseSupport,
    PhraseView,
    PictureOfPair,
    Suggestions,
    VerdictOfPair,
    VerdictView,
    Writers,
    suggestion_view,
)
from backend.settings import Settings
from backend.store import Store
from db.queries import (
    claim_labels,
    claim_queries,
    classifier_queries,
    dataset_queries,
    detection_queries,
    edit_queries,
    pair_queries,
    phrase_queries,
    run_queries,
    signal_queries,
    suggestion_queries,
    trajectory_queries,
    verdict_acts,
    word_mark_queries,
)
from db.queries.claim_labels import ClaimLabel, labels_in
from db.queries.claim_queries import ClaimRow
from db.queries.classifier_queries import ClassifierRow
from db.queries.dataset_queries import DatasetRow
from db.queries.pair_queries import CaptionRow, PairRow
from db.queries.phrase_queries import PhraseRow
from db.queries.run_queries import RunRow
from db.queries.suggestion_queries import SuggestionRow
from db.queries.trajectory_queries import TrajectoryRow
from db.queries.verdict_acts import VerdictRow

#: Characters of a claim whose label was taken back, for the history.
_ABOUT = 60
#: Words at least this suspect that the picture supports nevertheless are pointed out.
_LIKELY = 0.5


def view_of(
    store: Store,
    pair_id: int,
    corrector: str | None = None,
    claim: int | None = None,
    settings: Settings | None = None,
) -> PairView:
    """Everything about one pair, from the store alone: fast, no model is queried. `corrector`: the
    vision-language model that may be queried, if there is one. `claim`: where the claim starts that
    is selected; None: the most suspicious one. `settings`: None leaves out what features and
    packages add."""
    with store.reading() as session:
        pair, dataset = dataset_queries.pair_and_dataset(session, pair_id)
        rows_of_claims = trajectory_queries.get_trajectories(session, pair_id)
        is_divided = bool(rows_of_claims) and rows_of_claims[0].end is not None
        claims = claim_queries.claims_of(session, [pair_id]).get(pair_id, []) if is_divided else []
        # Not while another division is being scored.
        is_divided = is_divided and {row.start for row in rows_of_claims} <= {
            row.start for row in claims
        }
        labels = claim_labels.labels_of(session, [pair_id]).get(pair_id, []) if is_divided else []
        detection = detection_queries.get_detection(session, pair_id)
        history = verdict_acts.history(session, pair_id) if pair.verdict_version else []
        latest = run_queries.latest_runs(session, pair.dataset_id, ("score", "support"))
        run, phrases_run = latest.get("score"), latest.get("support")
        rows = suggestion_queries.list_suggestions(
            session, pair_id, run.id if run else None, kind=None
        )
        corrections = [row for row in rows if row.kind == "correction"]
        read = languages_read(run)
        richer = [row for row in rows if row.kind == "boost"]
        is_judged = pair.p_error is not None
        classifier = classifier_queries.active(session, pair.dataset_id) if is_judged else None
        # A caption without a phrase that can be tested has no support, and the page says so.
        phrases = phrase_queries.phrases_of(session, pair_id) if phrases_run else None
        edited_texts = edit_queries.edited_texts(session, [pair_id]) if pair.verdict_version else {}
        marks, tags = word_mark_queries.marks_and_tags(session, pair_id)
        word, kind = pair.suspect_word, pair.suspect_kind
        alike = signal_queries.suspects_like(session, pair.dataset_id, word, kind)
        captions = pair_queries.captions_of_picture(session, pair.dataset_id, pair.image_path)
        proposal = None
        if pair.corrected_caption is not None:
            proposal = suggestion_queries.accepted_texts(session, [pair_id]).get(pair_id)
        # The last: one that fails ends the transaction.
        parts = read_parts(session, pair, dataset, settings) if settings else {}
    trajectory = None
    corrected_text = pair.corrected_caption or edited_texts.get(pair_id)
    claim_views: tuple[ClaimView, ...] = ()
    selected_index = 0
    if rows_of_claims:
        opinion = pair.numbers["second_opinion"]
        scored_caption = to_scored_caption(pair.caption, rows_of_claims, claims, opinion)
        leading = scored_caption.leading
        if is_divided:
            starts = [row.start for row in claims]
            selected_index = starts.index(claim if claim in starts else leading.claim.start)
            claim_views = _claims(pair.caption, claims, rows_of_claims, labels, corrected_text)
            start = starts[selected_index]
            corrections = [
                row
                for row in corrections
                if (place := claim_replaced(row)) is None or place[0] == start
            ]
            of_start = {
                scored_claim.claim.start: scored_claim for scored_claim in scored_caption.claims
            }
            trajectory = of_start[start].trajectory if start in of_start else None
        else:
            trajectory = leading.trajectory
    suspects = to_suspects(detection) if detection is not None else ()
    view = PairView(
        pair_id=pair.id,
        dataset_id=pair.dataset_id,
        external_id=pair.external_id,
        caption=pair.caption,
        split=pair.split,
        numbers=pair.numbers,
        picture=_picture(pair, dataset, captions, read),
        verdict=VerdictOfPair(
            pair.verdict_version, pair.decision, corrected_text, pair.enriches, pair.note,
            tuple(_verdict(pair.caption, act) for act in history),
        ),
        opinion=ModelOpinion(
            basis_of(pair.p_error, classifier),
            f"{run.scorer_kind} · {Path(run.model).name}" if run is not None else "",
            _limits(dataset, run),
            suspects,
            trajectory,
            _reasons(trajectory, classifier),
            looks_abstract(pair.icc),
            bool(pair.truncated),
            pair.words_read,
            Likeness(word, kind, *alike),
        ),
        support=PhraseSupport(
            None if phrases is None else _phrases(phrases, suspects, phrases_run),
            _phrases_note(pair.caption, phrases_run),
        ),
        writers=Writers(
            writer_of(pair.extra),
            new_writer(pair, corrected_text, proposal) if corrected_text else None,
        ),
        is_unfamiliar=dataset.is_unfamiliar,
        languages_read=read,
        unread_language=foreign_language(pair.caption, read),
        wrong_words=tuple(marks),
        tags=tags,
        guidelines=dataset.guidelines,
        claims=claim_views,
        selected=selected_index,
        constants=_constants(pair.caption, dataset) if claim_views else (),
        parts=parts,
    )  # fmt: skip
    better = None
    if view.is_beyond_model:  # its chances are no figures
        corrections = [replace(row, p_before=None, p_after=None) for row in corrections]
    elif pair.decision is None:
        better = better_picture(rows)
    return replace(
        view,
        suggestions=_suggestions(pair, corrections, richer, corrector),
        opinion=replace(view.opinion, better_picture=BetterPicture(*better) if better else None),
    )


def _picture(
    pair: PairRow, dataset: DatasetRow, captions: Sequence[CaptionRow], read: frozenset[str]
) -> PictureOfPair:
    size, problem = _image_size(dataset, pair.image_path)
    return PictureOfPair(
        pair.image_path, split_proof(pair.image_path)[0], size, problem, tuple(captions),
        _contradictions(pair.id, captions),
        languages_not_read(captions, read),
    )  # fmt: skip


def _suggestions(
    pair: PairRow,
    corrections: Sequence[SuggestionRow],
    richer: Sequence[SuggestionRow],
    corrector: str | None,
) -> Suggestions:
    """`corrections`: of the selected claim."""
    suggestions = tuple(
        suggestion_view(
            pair.caption, row, row.id, worth.chance, row.provenance, worth.is_offer, doubts_of(row)
        )
        for row, worth in in_order(pair.caption, corrections)
    )
    enrichments = tuple(
        suggestion_view(pair.caption, row, row.id, row.p_after, row.provenance) for row in richer
    )
    return Suggestions(
        suggestions, enrichments, _may_ask(corrector, corrections),
        bool(_may_ask(corrector, richer)),
    )  # fmt: skip


def _claims(
    caption: str,
    rows: Sequence[ClaimRow],
    trajectories: Sequence[TrajectoryRow],
    labels: Sequence[ClaimLabel],
    text: str | None,
) -> tuple[ClaimView, ...]:
    """`text`: what the caption has become; None: it is as it was."""
    words_read = {row.start: len(row.first_step_scores) for row in trajectories}
    is_right = {(label.start, label.end): label.is_right for label in labels}
    return tuple(
        ClaimView(
            row.start, row.end, row.kind, row.repeats,
            is_vague(row.icc),
            says_something(to_claim(row), row.icc),
            words_read.get(row.start),
            is_right.get((row.start, row.end)),
            text is not None and place_in(text, caption, to_claim(row)) is None,
            numbers={name: getattr(row, name) for name, m in MEASURES.items() if m.of_claims},
            subject=row.subject,
        )
        for row in rows
    )  # fmt: skip


def _limits(dataset: DatasetRow, run: RunRow | None) -> str:
    """What is known to limit the dataset's scores. What its model says of other pictures than those
    that it knows is left out where these are known to be such."""
    stated = ""
    if run is not None and (dataset.is_unfamiliar or not Familiarity.is_of(run.model)):
        stated = str(run.parameters.get("limits", ""))
    return " ".join(filter(None, (stated, reading_note(dataset.models, run))))


def languages_not_read(rows: Iterable[Any], read: frozenset[str]) -> dict[int, str]:
    """The languages of captions of these pairs, by pair id, that are not among those that are
    `read`: their chances of error say nothing."""
    languages = {row.pair_id: foreign_language(row.caption, read) for row in rows}
    return {pair_id: language for pair_id, language in languages.items() if language}


def _constants(caption: str, dataset: DatasetRow) -> tuple[tuple[int, int, str], ...]:
    spans = spans_in(caption, left_out(constants_in(dataset.models)))
    return tuple((start, end, part.count) for start, end, part in spans)


def _verdict(caption: str, act: VerdictRow) -> VerdictView:
    label = next((row for row in labels_in(act.claim_labels) if row.start == act.claim), None)
    claim = ""
    if act.claim is not None:
        claim = label.text if label is not None else caption[act.claim : act.claim + _ABOUT]
    return VerdictView(
        act.decision, act.corrected_caption, act.author, act.created_at, act.note, act.enriches,
        claim, label.is_right if label is not None else None, act.undoes is not None,
    )  # fmt: skip


def _contradictions(pair_id: int, captions: Sequence[CaptionRow]) -> tuple[UnanchoredWord, ...]:
    """Words of this caption that contradict the picture's other captions, except removed ones."""
    text_of = {
        row.pair_id: row.corrected_caption or row.caption
        for row in captions
        if row.decision != "drop" or row.pair_id == pair_id
    }
    caption = text_of.pop(pair_id, "")
    return tuple(conflicts(caption, list(text_of.values()))) if text_of else ()


def _reasons(trajectory: Trajectory | None, classifier: ClassifierRow | None) -> Reasons | None:
    if trajectory is None or classifier is None:
        return None
    report = classifier.report
    return reasons_of(
        trajectory, report.get("backbone"), str(report.get("captioner", "")),
        float(report.get("opinion_weight", USUAL_WEIGHT)),
    )  # fmt: skip


def _phrases_note(caption: str, run: RunRow | None) -> str:
    if phrase_queries.is_in_other_languages(run):
        return "Phrases are known in English only; most captions of this dataset are not English."
    if not is_spaced(caption):
        return "Phrases are known in English only."
    if len(caption) > phrase_queries.LONGEST:
        return f"Phrases after character {phrase_queries.LONGEST:,} are not kept."
    if run is not None and run.parameters.get("per_phrase") == 1:
        return "This model maps all nonsense words to one unknown token."
    return ""


def _phrases(
    rows: Sequence[PhraseRow], suspects: Sequence[SuspectWord], run: RunRow | None
) -> tuple[PhraseView, ...]:
    # A run of an earlier version has not recorded the means of the kinds.
    means = run.observed.get("means") if run is not None else None
    likely = [word for word in suspects if word.score >= _LIKELY]
    return tuple(
        PhraseView(
            row.start, row.end, KINDS[row.kind], row.pas, row.spread,
            means is not None and row.basis is not None and row.basis > means[row.kind]
            and any(word.start < row.end and word.end > row.start for word in likely),
        )
        for row in rows
    )  # fmt: skip


def image_path(store: Store, pair_id: int) -> ImageFile:
    """The pair's image, checked to lie inside its dataset's root."""
    with store.reading() as session:
        pair, dataset = dataset_queries.pair_and_dataset(session, pair_id)
    return locate(Path(dataset.root), pair.image_path)


def _may_ask(corrector: str | None, suggestions: Sequence[SuggestionRow]) -> str:
    """The session's corrector, unless it has already made one of these suggestions."""
    name = Path(corrector or "").name
    return "" if any(row.proposer.startswith(name[:40]) for row in suggestions if name) else name


def _image_size(dataset: DatasetRow, relative: str) -> tuple[tuple[int, int] | None, str]:
    """Width and height, and ""; or None and why the image cannot be shown and where it was looked
    for: the page says so instead of failing."""
    try:
        return images.image_size(locate(Path(dataset.root), relative)), ""
    except ImageError as problem:
        reason = str(problem)
    except (UnsafePath, OSError):
        reason = f"'{split_proof(relative)[0]}' cannot be opened."
    return None, f"{reason} The dataset's folder is '{dataset.root}'."


def looks_abstract(icc: float | None) -> bool:
    return icc is not None and icc < ABSTRACT_THRESHOLD


def basis_of(p_error: float | None, classifier: ClassifierRow | None) -> str:
    """The basis of a displayed probability, in words."""
    if p_error is None or classifier is None:
        return "not scored yet"
    verdicts = int(classifier.report.get("verdicts", 0))
    if verdicts:
        return f"{verdicts} verdict{'s' * (verdicts != 1)} and injected noise"
    return str(classifier.report.get("basis_note") or "injected noise, no verdicts yet")
