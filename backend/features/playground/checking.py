"""Analyse one image and one caption; nothing is stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image

from backend.datasets.safe_files import images
from backend.engine.captions import Caption
from backend.engine.claims.claim import Claim
from backend.engine.claims.scored_caption import is_vague
from backend.engine.constants.part import ConstantPart, blank_out
from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext, Suggestion
from backend.engine.correction.suggestion_chance import worth_of
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.types import SuspectWord
from backend.engine.familiarity import Familiarity
from backend.engine.languages.foreign import foreign_language
from backend.engine.presets import languages_of
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import SettingsError, UnknownPictures
from backend.jobs.scoring.classifiers import (
    classifier_captioner,
    classifier_in_use,
    doubting,
    judging,
    steps_needed_by,
    suspects_by,
)
from backend.jobs.scoring.dataset_constants import constants_before
from backend.jobs.scoring.known_pictures import check_picture
from backend.jobs.scoring.phrase_attribution import nonce_pools, phrase_scores
from backend.loaded_models import Engine
from backend.review.ask_models import JudgedText, abstractness_view, judge_text
from backend.review.pair import basis_of, looks_abstract
from backend.review.verdicts import LONGEST_EDIT
from backend.review.views import (
    Abstractness,
    ClaimView,
    PhraseView,
    SuggestionView,
    suggestion_view,
)
from backend.store import Store
from backend.workspace import Workspace
from db.queries import classifier_queries, dataset_queries, run_queries


@dataclass(frozen=True)
class Analysis:
    """The analysis of one image and one caption."""

    caption: str
    s_0: float
    p_error: float | None
    #: What the probability is based on, or why there is none.
    p_note: str
    icc: float
    looks_abstract: bool
    truncated: bool
    suspects: tuple[SuspectWord, ...]
    trajectory: Trajectory
    suggestions: tuple[SuggestionView, ...]
    scored_by: str
    limits: str
    abstractness: Abstractness
    #: None with a scorer that compares pairs.
    phrases: tuple[PhraseView, ...] | None = None
    #: The claims of a caption that has several; `trajectory`, `s_0` and `suggestions` belong to the
    #: `selected` one, the most suspicious.
    claims: tuple[ClaimView, ...] = ()
    selected: int = 0
    #: The model does not know such pictures; it was asked to score this one anyway.
    is_unfamiliar: bool = False
    #: The caption's language, if the model does not read it; otherwise "".
    unread_language: str = ""

    @property
    def is_beyond_model(self) -> bool:
        """The chance of error says nothing, and no corrections were asked for."""
        return self.is_unfamiliar or bool(self.unread_language)

    @property
    def claim(self) -> ClaimView | None:
        """The selected claim; None: the caption is one claim."""
        return self.claims[self.selected] if self.claims else None


def analyse(
    workspace: Workspace,
    image: Image.Image,
    caption: str,
    dataset_id: int | None = None,
    anyway: bool = False,
    model: str | None = None,
) -> Analysis:
    """Analyse one image and one caption; nothing is stored. Constant parts of the dataset's
    captions are not read. Raises UnknownPictures for a picture of a kind that the model does not
    know, unless it is scored `anyway`. `model`: as in `--model`; by default the dataset's or the
    session's models.

    The probability comes from the classifier of the last dataset scored with the same model;
    without one there is no probability, and `p_note` says so.
    """
    if not Caption.parse(caption).words:
        raise SettingsError("Type a caption first.")
    store = workspace.store
    engine = workspace.engines.of_dataset(dataset_id, model)
    image = images.to_rgb(image)
    is_unfamiliar = False
    try:
        check_picture(engine, image)
    except UnknownPictures:
        if not anyway:
            raise
        is_unfamiliar = True
    info = engine.scorer.info
    unread_language = foreign_language(caption, languages_of(info.model))
    text, constants = caption[:LONGEST_EDIT], _constants_of(store, dataset_id)
    with engine.lock:
        state = engine.encode([image])[0]
        classifier_row = _classifier_for_model(store, engine)
        classifier, note = classifier_row if classifier_row is not None else (None, "")
        judgement = judge_text(
            engine, image, state, text, engine.claims(text, "auto", constants), classifier,
            engine.captioner,
        )  # fmt: skip
        leading = judgement.scored.leading
        trajectory = leading.trajectory
        suspects = suspects_by(classifier, trajectory, leading.p_error)
        suggestions: Sequence[Suggestion] = ()
        if not (is_unfamiliar or unread_language):
            (suggestions,) = judge.suggest_all(
                engine.scorer,
                [
                    CorrectionContext(
                        image, state, trajectory, suspects, leading.p_error, claim=leading.claim
                    )
                ],
                engine.captioner,
                judging(classifier),
                suspects_of=doubting(classifier),
                exploring=steps_needed_by(classifier, engine.exploring),
                classifier_captioner=classifier_captioner(engine, classifier),
            )
        icc, words = engine.why_abstract(blank_out(caption, constants))
        phrases = _phrases(engine, state, blank_out(text, constants))
    claims = _claim_views(judgement) if not judgement.scored.is_single else ()
    return Analysis(
        caption=caption,
        s_0=float(trajectory.scores[0]),
        p_error=judgement.p_error,
        p_note=note or "no probability: no dataset has been scored with this model yet",
        icc=judgement.icc,
        looks_abstract=looks_abstract(judgement.icc),
        truncated=any(claim.trajectory.truncated for claim in judgement.scored.claims),
        suspects=judgement.suspects,
        trajectory=trajectory,
        suggestions=tuple(_helpful_suggestions(text, leading.claim, suggestions)),
        scored_by=f"{info.kind} · {Path(info.model).name}",
        limits=info.limits if is_unfamiliar or not Familiarity.is_of(info.model) else "",
        abstractness=abstractness_view(caption, icc, words),
        phrases=phrases,
        claims=claims,
        selected=judgement.claims.index(leading.claim),
        is_unfamiliar=is_unfamiliar,
        unread_language=unread_language,
    )


def _helpful_suggestions(
    caption: str, claim: Claim, suggestions: Sequence[Suggestion]
) -> Iterator[SuggestionView]:
    """The suggestions that are worth an offer, in place of the claim, the best first."""
    before = claim.of(caption)
    helpful = []
    for suggestion in suggestions:
        after = claim.answer(caption, suggestion.caption)
        if after is None:
            continue
        chance, is_offer = worth_of(
            suggestion.proposer, before, after, suggestion.s_after - suggestion.s_before,
            suggestion.p_before, suggestion.p_after,
        )  # fmt: skip
        if is_offer:
            text = claim.replaced_in(caption, after)
            helpful.append((replace(suggestion, caption=text), chance))
    helpful.sort(key=lambda offer: offer[1] or 0.0)
    for number, (suggestion, chance) in enumerate(helpful):
        yield suggestion_view(caption, suggestion, number, chance, doubts=suggestion.doubts)


def _constants_of(store: Store, dataset_id: int | None) -> tuple[ConstantPart, ...]:
    return constants_before(store, dataset_id) if dataset_id is not None else ()


def _claim_views(text: JudgedText) -> tuple[ClaimView, ...]:
    """The claims of a text that has several."""
    scored_of = {scored_claim.claim: scored_claim for scored_claim in text.scored.claims}
    views = []
    for claim in text.claims:
        scored_claim = scored_of.get(claim)
        scores = scored_claim.trajectory.scores if scored_claim else None
        views.append(
            ClaimView(
                claim.start, claim.end, claim.kind, claim.repeats,
                numbers={
                    "s_0": float(scores[0]) if scores is not None else None,
                    "gain": float(scores.max() - scores[0]) if scores is not None else None,
                    "icc": scored_claim.icc if scored_claim else None,
                    "p_error": scored_claim.p_error if scored_claim else None,
                },
                is_vague=scored_claim is not None and is_vague(scored_claim.icc),
                can_be_wrong=scored_claim is not None and scored_claim.says_something,
                words_read=len(scored_claim.trajectory.first_step_scores) if scored_claim else None,
                subject=claim.subject,
            )
        )  # fmt: skip
    return tuple(views)


def _phrases(engine: Engine, state: ImageState, caption: str) -> tuple[PhraseView, ...] | None:
    """The caption's phrases with their support; None with a scorer that compares pairs. A model's
    nonsense words are generated on first use, which takes a few seconds."""
    try:
        pools = nonce_pools(engine)
    except SettingsError:
        return None
    (scores,) = phrase_scores(engine, pools, [(state, caption)])
    return tuple(
        PhraseView(score.phrase.start, score.phrase.end, score.phrase.kind, score.pas, score.spread)
        for score in scores
    )


def _classifier_for_model(store: Store, engine: Engine) -> tuple[Classifier | None, str] | None:
    """The classifier in use of the newest dataset that was scored with this session's model."""
    info = engine.scorer.info
    with store.reading() as session:
        for dataset in reversed(dataset_queries.list_datasets(session)):
            run = run_queries.latest_run(session, dataset.id, "score")
            row = classifier_queries.active(session, dataset.id)
            if run is not None and row is not None and run.revision == info.revision:
                break
        else:
            return None
    classifier = classifier_in_use(store, dataset.id)
    return classifier, f"{basis_of(0.5, row)}, dataset '{dataset.name}'"
