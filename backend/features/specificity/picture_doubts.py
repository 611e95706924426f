"""Evidence from the picture against single phrases, and the rule by which they are doubtful.

The rule is fitted once for each model and dataset, to captions that people wrote, and kept with the
scoring run: an interrupted `boost` continues with the same one. A new detector has other suspect
scores, so the rule is fitted again.
"""

import random
from collections.abc import Callable, Sequence

from backend.engine import memory
from backend.engine.captions import Caption
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.english.phrases import Phrase
from backend.engine.phrases.attribution import attribute_phrases
from backend.engine.phrases.nonce import Nonces
from backend.engine.trajectories.word_expectations import with_expectations
from backend.features.specificity.doubting import (
    DEFAULT,
    LEAST_PHRASES,
    Doubt,
    DoubtRule,
    Doubts,
    FittedRule,
    fit_rule,
    restore,
)
from backend.features.specificity.phrase_removal import without_phrase
from backend.features.specificity.phrase_swaps import Addition, swap_phrases
from backend.jobs.pair_contexts import PairContexts
from backend.jobs.scoring.classifiers import (
    classifier_captioner,
    probabilities,
    steps_needed_by,
    suspects_by,
)
from backend.jobs.scoring.phrase_attribution import nonce_pools
from backend.jobs.scoring.stored_rows import exploring_of
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.decisions import is_wrong, judgement
from db.queries import classifier_queries, queue_queries, run_queries
from db.queries.queue_filter import QueueFilter, QueueRow, Range

#: Captions to add phrases to; those more likely wrong than WRONG_FROM are left out.
CAPTIONS, WRONG_FROM = 80, 0.5
#: Captions whose phrases are tested together.
_AT_ONCE = 12
_STORED = "doubts"

#: A caption of a picture, and phrases of it.
Request = tuple[CorrectionContext, str, Sequence[Phrase]]


class PictureDoubts:
    """The doubts of one dataset's pictures, by the model that scored it and its classifier.
    `scale`: logits per unit of s."""

    def __init__(
        self, store: Store, engine: Engine, contexts: PairContexts, dataset_id: int, scale: float
    ) -> None:
        self._store, self._engine, self._contexts = store, engine, contexts
        self._dataset_id, self._scale = dataset_id, scale
        self._nonces = Nonces(engine.scorer.reader, nonce_pools(engine))
        with store.reading() as session:
            active = classifier_queries.active(session, dataset_id)
            observations = run_queries.get_run(session, contexts.run.id).observed
        self._classifier = active.id if active is not None else None
        stored_rule = observations.get(_STORED, {})
        self.is_fitted = bool(stored_rule) and stored_rule["classifier"] == self._classifier
        self.rule: DoubtRule = restore(stored_rule["rule"]) if self.is_fitted else DEFAULT

    def of(self, context: CorrectionContext) -> Doubts:
        """A function that judges phrases of a caption against the picture of `context`."""
        return lambda text, phrases: self.evidence([(context, text, phrases)])[0]

    def calibrate(
        self, captions_of: Callable[[QueueRow], Sequence[str]], progress: Progress = no_progress
    ) -> DoubtRule:
        """Fit the rule to people's captions, unless that has been done for this model, dataset and
        classifier. With too few captions, the default rule stays. `captions_of`: the captions of a
        pair's picture, its own first."""
        if self.is_fitted:
            return self.rule
        rows = self._unsuspected_captions()
        swaps = self._swapped_phrases(rows, captions_of)
        sides = zip(*swaps, strict=True)
        counts = [sum(len(each.phrases) for each in side if each) for side in sides]
        if min(counts, default=0) < LEAST_PHRASES:
            return self.rule
        true: list[Doubt] = []
        false: list[Doubt] = []
        for first in range(0, len(rows), _AT_ONCE):
            contexts = {
                row.pair_id: context
                for row, context in self._contexts.of(rows[first : first + _AT_ONCE])
                if isinstance(context, CorrectionContext)
            }
            batch = [
                (contexts[row.pair_id], pair)
                for row, pair in zip(rows[first:], swaps[first : first + _AT_ONCE], strict=False)
                if row.pair_id in contexts
            ]
            for side, evidence in enumerate((true, false)):
                requests = [
                    (context, addition.text, addition.phrases)
                    for context, pair in batch
                    if (addition := pair[side]) is not None
                ]
                evidence += [doubt for doubts in self.evidence(requests) for doubt in doubts]
            progress(min(first + _AT_ONCE, len(rows)), len(rows), "Calibrating the guard")
        rule = fit_rule(true, false)
        if isinstance(rule, FittedRule):
            with self._store.writing() as session:
                stored_rule = {"classifier": self._classifier, "rule": rule.to_json()}
                run_queries.record_observed(
                    session, self._contexts.run.id, **{_STORED: stored_rule}
                )
            self.rule, self.is_fitted = rule, True
        return self.rule

    def _unsuspected_captions(self) -> list[QueueRow]:
        """Captions that neither curators nor the detector consider wrong, always the same ones."""
        likely_right = (Range("p_error", maximum=WRONG_FROM),)
        filter = QueueFilter(self._dataset_id, ranges=likely_right, order="random")
        page = self._store.read(queue_queries.page, filter, None, 2 * CAPTIONS)
        right = [row for row in page.rows if not is_wrong(judgement(row.decision, row.enriches))]
        return right[:CAPTIONS]

    def _swapped_phrases(
        self, rows: Sequence[QueueRow], captions_of: Callable[[QueueRow], Sequence[str]]
    ) -> list[tuple[Addition | None, Addition | None]]:
        """For each caption an addition from its own picture and one from another, None where there
        is none that the scorer reads to its end."""
        rng = random.Random(0)
        words_read = self._engine.scorer.reader.words_read

        def read(phrase: Addition | None) -> Addition | None:
            is_read = phrase is not None and words_read(phrase.text) >= len(
                Caption.parse(phrase.text)
            )
            return phrase if is_read else None

        swaps: list[tuple[Addition | None, Addition | None]] = []
        for row in rows:
            others = [other.caption for other in rows if other.image_path != row.image_path]
            same, foreign = swap_phrases(captions_of(row), others, rng) if others else (None, None)
            swaps.append((read(same), read(foreign)))
        return swaps

    def evidence(self, requests: Sequence[Request]) -> list[list[Doubt]]:
        """The evidence against each phrase: its attribution in logits, the suspect scores of its
        words, and the drop in the probability of error when it is removed."""
        asked_phrases = [phrases for _, _, phrases in requests]
        if not any(asked_phrases):
            return [[] for _ in requests]
        contexts, engine = self._contexts, self._engine
        supports = self._supports(requests)
        variants = [
            (context, variant)
            for context, text, phrases in requests
            for variant in (text, *(without_phrase(text, p.start, p.end) for p in phrases))
        ]
        trajectories = engine.trajectories(
            [(context.state, variant) for context, variant in variants],
            exploring=steps_needed_by(contexts.classifier, exploring_of(contexts.run), words=True),
        )
        reader = classifier_captioner(engine, contexts.classifier)
        with engine.lock:
            images = [context.image for context, _ in variants]
            trajectories = with_expectations(reader, images, trajectories)
        has_classifier = contexts.classifier is not None
        p = (
            probabilities(contexts.classifier, trajectories)
            if contexts.classifier is not None
            else [0.0] * len(trajectories)
        )
        evidence, at = [], 0
        for phrases, support in zip(asked_phrases, supports, strict=True):
            p_whole = p[at] if has_classifier else None
            suspects = suspects_by(contexts.classifier, trajectories[at], p_whole)
            evidence.append(
                [
                    Doubt(
                        phrase.start,
                        phrase.end,
                        support.get((phrase.start, phrase.end)),
                        max(
                            (w.score for w in suspects
                             if w.start < phrase.end and w.end > phrase.start),
                            default=0.0,
                        ),
                        p[at] - p[at + index],
                    )
                    for index, phrase in enumerate(phrases, 1)
                ]
            )  # fmt: skip
            at += len(phrases) + 1
        memory.release()
        return evidence

    def _supports(self, requests: Sequence[Request]) -> list[dict[tuple[int, int], float | None]]:
        """The attribution of each caption's phrases in logits, by their characters."""
        pairs = [(context.state, Caption.parse(text)) for context, text, _ in requests]
        with self._engine.lock:
            scores = dict(attribute_phrases(self._engine.scorer, pairs, self._nonces))
        return [
            {
                (score.phrase.start, score.phrase.end):
                    None if score.pas is None else self._scale * score.pas
                for score in scores[index]
            }
            for index in range(len(requests))
        ]  # fmt: skip
