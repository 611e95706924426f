"""Give, undo and redo verdicts: each call is one transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import sleep

from sqlalchemy.orm import Session

from backend.engine.captions import Caption
from backend.engine.claims.claim import Claim
from backend.engine.claims.editing import place_in, without
from backend.errors import PairChanged, SettingsError
from backend.jobs.scoring.stored_rows import claim_replaced, origin_of, replaced_text, to_claim
from backend.review.views import fingerprint_of
from backend.settings import Settings
from backend.store import Store
from db.authors import EDIT
from db.authors import RESTORE as RESTORE
from db.decisions import ABOUT_CAPTION, DECISIONS, SAMPLINGS
from db.queries import (
    blind_review,
    claim_label_queries,
    claim_queries,
    curator_queries,
    edit_queries,
    opinion_queries,
    pair_queries,
    request_queries,
    suggestion_queries,
    undo_queries,
    verdict_acts,
    verdict_queries,
    word_mark_queries,
)
from db.queries.blind_review import hidden_pairs
from db.queries.claim_queries import ClaimRow
from db.queries.pair_queries import PairRow
from db.queries.verdict_acts import VerdictRow
from db.queries.verdict_writing import BatchOutcome
from db.texts import is_blank

#: Seconds between two parts of a large batch, in which others write: SQLite's writers have no fair
#: queue.
PAUSE = 0.02
#: Maximum length of a curator's correction.
LONGEST_EDIT = 20_000
#: Maximum length of a note: about a paragraph.
LONGEST_NOTE = 2_000


class Verdicts:
    """The verdicts of curators. `author` defaults to the one in the settings."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def decide(
        self,
        pair_id: int,
        expected_version: int,
        decision: str,
        corrected_caption: str | None = None,
        suggestion_id: int | None = None,
        author: str | None = None,
        note: str = "",
        fingerprint: str | None = None,
        sampling: str = "",
    ) -> VerdictRow:
        """Write a verdict with its note, in one transaction; committed when this returns.

        `expected_version` is the version the curator saw, `fingerprint` that of the pair they saw
        (`PairView.fingerprint`), `sampling` how the pair had come to be shown, one of
        `db.decisions.SAMPLINGS`: verdicts on pairs drawn at random teach the most. Raises
        VerdictConflict, with nothing written, if the pair was decided in the meantime, and
        SettingsError for an invalid verdict or a changed pair.
        """
        if decision not in DECISIONS:
            raise SettingsError(
                f"'{decision}' is not a verdict; use one of {', '.join(DECISIONS)}."
            )
        if sampling not in SAMPLINGS:
            raise SettingsError(
                f"'{sampling}' is no way in which pairs are sampled; use "
                f"{', '.join(SAMPLINGS[:-1])}."
            )
        who = author or self._settings.author
        note = _note(note)
        with self._store.writing() as session:
            rows = pair_queries.pairs_of(session, [pair_id])
            _check_seen(rows, pair_id, fingerprint)
            if decision in ABOUT_CAPTION and _without_caption(rows):
                raise SettingsError("There is no caption to judge yet. Accept or write one.")
            if decision == "correction":
                corrected_caption = _corrected_caption(
                    session, pair_id, expected_version, corrected_caption, suggestion_id
                )
            else:
                corrected_caption = suggestion_id = None
            return verdict_queries.add_verdict(
                session,
                pair_id,
                expected_version,
                decision,
                corrected_caption=corrected_caption,
                suggestion_id=suggestion_id,
                author=who,
                settles=_settles(session, pair_id, expected_version, who),
                note=note,
                sampling=sampling,
            )

    def swap_partner(self, suggestion_id: int) -> PairRow | None:
        """The pair whose own caption this suggestion is, if it has no verdict and could get the
        caption in exchange that the suggestion replaces."""
        exchange = self._store.read(_exchange_by, suggestion_id)
        return None if exchange is None else exchange[0]

    def swap(
        self, suggestion_id: int, author: str | None = None, request_id: str | None = None
    ) -> VerdictRow:
        """Give the pair whose own caption was accepted elsewhere the one that it replaced there.
        Raises SettingsError if it has a verdict by now, VerdictConflict as `decide` does.
        `request_id`: see `request_queries.run_idempotent`."""
        who = author or self._settings.author
        with self._store.writing() as session:
            pair_id, version = request_queries.run_idempotent(
                session, who, request_id, lambda: _swap(session, suggestion_id, who)
            )
            acts = verdict_acts.history(session, pair_id)
            return next(act for act in acts if act.version == version)

    def label_claim(
        self,
        pair_id: int,
        expected_version: int,
        claim: tuple[int, int],
        is_right: bool | None,
        author: str | None = None,
        fingerprint: str | None = None,
        sampling: str = "",
    ) -> VerdictRow:
        """Say of one claim of a caption, its characters, that it is right or wrong; None takes that
        back. Otherwise like `decide`, with the same exceptions."""
        with self._store.writing() as session:
            self._check_claim(session, pair_id, claim, fingerprint)
            return claim_label_queries.add_claim_label(
                session, pair_id, expected_version, claim, is_right,
                author=author or self._settings.author, sampling=sampling,
            )  # fmt: skip

    def remove_claim(
        self,
        pair_id: int,
        expected_version: int,
        claim: tuple[int, int],
        author: str | None = None,
        fingerprint: str | None = None,
        sampling: str = "",
    ) -> VerdictRow:
        """Correct a caption by taking one claim out of it, with its separator; what has been
        corrected already stays. Otherwise like `decide`, with the same exceptions."""
        who = author or self._settings.author
        with self._store.writing() as session:
            row = self._check_claim(session, pair_id, claim, fingerprint)
            caption = pair_queries.get_pair(session, pair_id).caption
            before = _text_at(session, pair_id, expected_version) or caption
            place = place_in(before, caption, to_claim(row))
            if place is None:
                raise SettingsError("The corrected caption no longer has this claim: edit it (E).")
            text = without(before, place)
            if is_blank(text):
                raise SettingsError("Nothing would be left: remove the pair instead (D).")
            return verdict_queries.add_verdict(
                session, pair_id, expected_version, "correction", text, author=who,
                settles=_settles(session, pair_id, expected_version, who), sampling=sampling,
            )  # fmt: skip

    def _check_claim(
        self, session: Session, pair_id: int, claim: tuple[int, int], fingerprint: str | None
    ) -> ClaimRow:
        """The claim as it is stored. Raises SettingsError and PairChanged."""
        rows = pair_queries.pairs_of(session, [pair_id])
        _check_seen(rows, pair_id, fingerprint)
        for row in claim_queries.claims_of(session, [pair_id]).get(pair_id, ()):
            if (row.start, row.end) == tuple(claim):
                return row
        raise PairChanged("The caption is divided into other claims than you saw. Look again.")

    def annotate(
        self,
        pair_id: int,
        expected_version: int,
        note: str,
        author: str | None = None,
        fingerprint: str | None = None,
    ) -> VerdictRow:
        """Repeat the current verdict with this note ("" removes the note), or leave the pair
        undecided with it. Raises VerdictConflict and PairChanged as `decide` does, and
        SettingsError if the verdicts of others must not be known yet: a note beside them would be
        overwritten."""
        acts = self._store.read(verdict_acts.history, pair_id)
        last = acts[-1] if acts else None
        if last is None or last.decision is None:
            with self._store.writing() as session:
                _check_seen(pair_queries.pairs_of(session, [pair_id]), pair_id, fingerprint)
                if hidden_pairs(session, [pair_id]):
                    raise SettingsError("Others judge this pair too: give your verdict first.")
                return verdict_queries.add_note(
                    session, pair_id, expected_version, _note(note),
                    author=author or self._settings.author,
                )  # fmt: skip
        return self.decide(
            pair_id,
            expected_version,
            last.decision,
            last.corrected_caption,
            last.suggestion_id,
            author,
            note,
            fingerprint,
            sampling=last.sampling,
        )

    def decide_many(
        self,
        versions: Sequence[tuple[int, int]],
        decision: str,
        author: str | None = None,
        note: str = "",
        fingerprints: Mapping[int, str] | None = None,
        request_id: str | None = None,
    ) -> BatchOutcome:
        """The same verdict for many pairs, each as seen at its version and, if its id is in
        `fingerprints`, with that fingerprint; committed when this returns, and one undo reverts it.
        Pairs that have changed since are skipped. `request_id`: see
        `request_queries.run_idempotent`."""
        if decision not in DECISIONS or decision == "correction":
            raise SettingsError(f"'{decision}' cannot be given to many pairs at once.")
        if not versions:
            raise SettingsError("No pair is selected.")
        with self._store.writing() as session:
            rows = pair_queries.pairs_of(session, [pair_id for pair_id, _ in versions])
            changed_ids = _changed_pairs(rows, fingerprints or {})
            if decision in ABOUT_CAPTION:
                changed_ids += _without_caption(rows)
            who = author or self._settings.author
            unchanged_pairs = [
                (pair, version) for pair, version in versions if pair not in changed_ids
            ]

            def decide() -> list[tuple[int, ...]]:
                report = verdict_queries.add_verdicts(
                    session, unchanged_pairs, decision, author=who, note=_note(note)
                )
                return [report.written, report.passed_over]

            outcome = request_queries.run_idempotent(session, who, request_id, decide)
        report = BatchOutcome(*outcome) if outcome else BatchOutcome((), ())
        return BatchOutcome(tuple(report.written), (*report.passed_over, *changed_ids))

    def mark_word(
        self,
        pair_id: int,
        word: int,
        author: str | None = None,
        fingerprint: str | None = None,
        request_id: str | None = None,
    ) -> bool:
        """Toggle whether a word of the caption is marked as wrong; returns the new state. Raises
        SettingsError, and PairChanged if the pair has another fingerprint. `request_id`: see
        `request_queries.run_idempotent`."""
        with self._store.writing() as session:
            _check_seen(pair_queries.pairs_of(session, [pair_id]), pair_id, fingerprint)
            spans = Caption.parse(pair_queries.get_pair(session, pair_id).caption).spans
            if not 0 <= word < len(spans):
                raise SettingsError(f"The caption has no word {word + 1}.")
            who = author or self._settings.author
            return request_queries.run_idempotent(
                session, who, request_id,
                lambda: word_mark_queries.toggle(session, pair_id, *spans[word], who),
            )  # fmt: skip

    def undo(
        self, dataset_id: int, author: str | None = None, request_id: str | None = None
    ) -> VerdictRow | None:
        """Undo the author's newest verdict, with all that were given together with it
        (`together`), except those that were replaced since (`left_alone`); None if there is none
        left. Repeated with the same `request_id` it undoes nothing more."""
        who = author or self._settings.author
        undone = in_parts(
            self._store,
            lambda session, rest: undo_queries.undo_last(
                session, dataset_id, who, rest_of=rest, request_id=request_id
            ),
        )
        if undone is None or undone.batch is None:
            return undone
        count = self._store.read(verdict_queries.count_batch, undone.author, undone.batch, True)
        return replace(undone, left_alone=count)

    def list_undoable(self, dataset_id: int, author: str | None, most: int) -> list[VerdictRow]:
        """What repeated calls of `undo` would undo, in that order, at most so many."""
        who = author or self._settings.author
        return self._store.read(undo_queries.list_undoable, dataset_id, who, most)

    def undo_edit(
        self, dataset_id: int, author: str | None = None, kind: str = EDIT
    ) -> VerdictRow | None:
        """Undo the author's newest bulk edit, or with the kind RESTORE the newest act that brought
        earlier verdicts back, whatever they have decided since; later verdicts on its pairs are
        kept. None if there is none."""
        who = author or self._settings.author
        return in_parts(
            self._store,
            lambda session, rest: undo_queries.undo_last(session, dataset_id, who, kind, rest),
        )

    def has_edit(self, dataset_id: int, author: str | None = None, kind: str = EDIT) -> bool:
        """Whether an act of this kind by the author is in effect, which `undo_edit` would undo."""
        who = author or self._settings.author
        return self._store.read(undo_queries.has_edit, dataset_id, who, kind)

    def redo(
        self, dataset_id: int, author: str | None = None, request_id: str | None = None
    ) -> VerdictRow | None:
        """Redo the last undone verdict; None if there is none. `request_id`: as for `undo`."""
        who = author or self._settings.author
        return in_parts(
            self._store,
            lambda session, rest: undo_queries.redo_last(
                session, dataset_id, who, rest, request_id
            ),
        )


def in_parts(
    store: Store, move: Callable[[Session, VerdictRow | None], VerdictRow | None]
) -> VerdictRow | None:
    """What `move` has undone or redone. It is called again while its batch has a rest, in a
    transaction each: others write in between."""
    whole = part = None
    while whole is None or (part is not None and part.rest_before is not None):
        if part is not None:
            sleep(PAUSE)
        with store.writing() as session:
            part = _hide_decision(session, move(session, part))
        if part is not None:
            whole = (
                part if whole is None else replace(whole, together=whole.together + part.together)
            )
        elif whole is None:
            return None
    return whole


def _changed_pairs(rows: Sequence[PairRow], fingerprints: Mapping[int, str]) -> list[int]:
    """The pairs whose id, caption or picture is not what was seen (`fingerprint_of`), or which no
    longer exist."""
    stored_prints = {
        row.id: fingerprint_of(row.external_id, row.caption, row.image_path) for row in rows
    }
    return [
        pair_id
        for pair_id, fingerprint in fingerprints.items()
        if stored_prints.get(pair_id) != fingerprint
    ]


def _check_seen(rows: Sequence[PairRow], pair_id: int, fingerprint: str | None) -> None:
    """Raises PairChanged if the pair is not the one that was seen."""
    if fingerprint is not None and _changed_pairs(rows, {pair_id: fingerprint}):
        raise PairChanged("The pair that you saw is no longer in the database.")


def _without_caption(rows: Sequence[PairRow]) -> list[int]:
    return [row.id for row in rows if not row.caption]


def _hide_decision(session: Session, act: VerdictRow | None) -> VerdictRow | None:
    """The act without the decision in effect after it if the reader must not know that: undoing
    one's opinion may bring another's verdict back."""
    if act is None or blind_review.may_know_pair(session, act.pair_id):
        return act
    return replace(
        act, decision=None, corrected_caption=None, suggestion_id=None, enriches=False, note=""
    )


def _note(text: str) -> str:
    """A verdict's note. Raises SettingsError for one that is too long."""
    text = "" if is_blank(text) else text.replace("\r\n", "\n").strip()
    if len(text) > LONGEST_NOTE:
        raise SettingsError(
            f"A note has at most {LONGEST_NOTE:,} characters; this has {len(text):,}."
        )
    return text


def _text_at(session: Session, pair_id: int, version: int) -> str | None:
    """What the caption had become at a version: by a correction, or by a bulk edit; None: nothing
    else."""
    acts = verdict_acts.history(session, pair_id)
    act = acts[version - 1] if 0 < version <= len(acts) else None
    if act is not None and act.corrected_caption is not None:
        return act.corrected_caption
    return edit_queries.edited_texts(session, [pair_id]).get(pair_id)


def _swap(session: Session, suggestion_id: int, author: str) -> list[int]:
    """The id of the pair that got the caption, and the version of its verdict."""
    exchange = _exchange_by(session, suggestion_id)
    if exchange is None:
        raise SettingsError("That picture has a verdict by now. Open it to change its caption.")
    pair, caption = exchange
    version = pair.verdict_version
    verdict = verdict_queries.add_verdict(
        session, pair.id, version, "correction",
        corrected_caption=_corrected_caption(session, pair.id, version, caption, None),
        author=author, settles=_settles(session, pair.id, version, author),
    )  # fmt: skip
    return [verdict.pair_id, verdict.version]


def _exchange_by(session: Session, suggestion_id: int) -> tuple[PairRow, str] | None:
    """The pair whose own caption this suggestion is, and the caption that it would get."""
    suggestion = suggestion_queries.find_suggestion(session, suggestion_id)
    origin_id = origin_of(suggestion) if suggestion is not None else None
    if suggestion is None or origin_id is None:
        return None
    pairs = {
        pair.id: pair for pair in pair_queries.pairs_of(session, [suggestion.pair_id, origin_id])
    }
    pair, origin = pairs.get(suggestion.pair_id), pairs.get(origin_id)
    if pair is None or origin is None or origin.decision is not None or is_blank(pair.caption):
        return None
    return None if pair.caption == origin.caption else (origin, pair.caption)


def _suggested_caption(
    session: Session, pair_id: int, version: int, suggestion_id: int
) -> str | None:
    """The caption that a suggestion makes. One that replaces a claim leaves what has been corrected
    elsewhere."""
    suggestions = suggestion_queries.list_suggestions(session, pair_id, kind=None)
    row = next((row for row in suggestions if row.id == suggestion_id), None)
    span = claim_replaced(row) if row is not None else None
    if row is None or span is None:
        return row.caption if row is not None else None
    caption = pair_queries.get_pair(session, pair_id).caption
    before = _text_at(session, pair_id, version)
    place = place_in(before, caption, Claim(*span)) if before is not None else None
    if before is None or place is None:
        return row.caption
    return place.replaced_in(before, replaced_text(caption, row))


def _corrected_caption(
    session: Session, pair_id: int, version: int, text: str | None, suggestion_id: int | None
) -> str:
    """The corrected caption of a verdict on this version: the edit's text, or the suggestion's."""
    caption = pair_queries.get_pair(session, pair_id).caption
    if text is None and suggestion_id is not None:
        text = _suggested_caption(session, pair_id, version, suggestion_id)
    text = (text or "").strip()
    if is_blank(text):
        raise SettingsError("The corrected caption is empty. Type one.")
    if "\0" in text:
        raise SettingsError("The corrected caption contains a NUL character. Remove it.")
    if len(text) > LONGEST_EDIT:
        raise SettingsError(f"The corrected caption is longer than {LONGEST_EDIT} characters.")
    if text == caption:
        raise SettingsError("The corrected caption is the same as the caption.")
    return text


def _settles(session: Session, pair_id: int, seen_version: int, author: str) -> bool:
    """Whether an adjudicator's verdict settles a disagreement between others that they have seen;
    a blind one is an opinion like any other. A disagreement takes at least two verdicts: below that
    version there is nothing to check."""
    if seen_version < 2 or not curator_queries.is_adjudicator(session, author):
        return False
    if not blind_review.may_know_pair(session, pair_id):
        return False
    others = {
        (opinion.decision, opinion.corrected_caption)
        for opinion in opinion_queries.of_pair(session, pair_id)
        if opinion.author != author
    }
    return len(others) > 1
