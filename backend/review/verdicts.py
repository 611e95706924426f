"""Give, undo and redo verdicts: each call is one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from backend.engine.captions import Caption
from backend.errors import PairChanged, SettingsError
from backend.review.views import fingerprint_of
from backend.settings import Settings
from backend.store import Store
from backend.verdicts import DECISIONS
from db.queries import blind_review
from db.queries import curators as curator_queries
from db.queries import opinions as opinion_queries
from db.queries import pairs as pair_queries
from db.queries import suggestions as suggestion_queries
from db.queries import verdicts as verdict_queries
from db.queries import word_marks as word_mark_queries
from db.queries.verdicts import Decided, VerdictRow

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
    ) -> VerdictRow:
        """Write a verdict with its note, in one transaction; committed when this returns.

        `expected_version` is the version the curator saw, `fingerprint` that of the pair they saw
        (`PairView.fingerprint`). Raises VerdictConflict, with nothing written, if the pair was
        decided in the meantime, and SettingsError for an invalid verdict or a changed pair.
        """
        if decision not in DECISIONS:
            raise SettingsError(
                f"'{decision}' is not a verdict; use one of {', '.join(DECISIONS)}."
            )
        who = author or self._settings.author
        note = _note(note)
        with self._store.writing() as session:
            if fingerprint is not None and _changed(session, {pair_id: fingerprint}):
                raise PairChanged("The pair that you saw is no longer in the database.")
            if decision == "correction":
                corrected_caption = _corrected(session, pair_id, corrected_caption, suggestion_id)
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
            )

    def annotate(
        self, pair_id: int, expected_version: int, note: str, author: str | None = None
    ) -> VerdictRow:
        """Repeat the current verdict with this note ("" removes the note). Raises
        VerdictConflict as `decide` does, and SettingsError if there is no verdict yet."""
        with self._store.reading() as session:
            acts = verdict_queries.history(session, pair_id)
        last = acts[-1] if acts else None
        if last is None or last.decision is None:
            raise SettingsError("A note is saved with a verdict: give a verdict now.")
        return self.decide(
            pair_id,
            expected_version,
            last.decision,
            last.corrected_caption,
            last.suggestion_id,
            author,
            note,
        )

    def decide_many(
        self,
        seen: Sequence[tuple[int, int]],
        decision: str,
        author: str | None = None,
        note: str = "",
        fingerprints: Mapping[int, str] | None = None,
    ) -> Decided:
        """The same verdict for many pairs, each as seen at its version and, if its id is in
        `fingerprints`, with that fingerprint; committed when this returns, and one undo reverts it.
        Pairs that have changed since are skipped."""
        if decision not in DECISIONS or decision == "correction":
            raise SettingsError(f"'{decision}' cannot be given to many pairs at once.")
        if not seen:
            raise SettingsError("No pair is selected.")
        with self._store.writing() as session:
            changed = _changed(session, fingerprints or {})
            done = verdict_queries.add_verdicts(
                session,
                [(pair_id, version) for pair_id, version in seen if pair_id not in changed],
                decision,
                author=author or self._settings.author,
                note=_note(note),
            )
        return replace(done, passed_over=(*done.passed_over, *changed))

    def mark_word(self, pair_id: int, word: int, author: str | None = None) -> bool:
        """Toggle whether a word of the caption is marked as wrong; returns the new state."""
        with self._store.writing() as session:
            spans = Caption.parse(pair_queries.get_pair(session, pair_id).caption).spans
            if not 0 <= word < len(spans):
                raise SettingsError(f"The caption has no word {word + 1}.")
            who = author or self._settings.author
            return word_mark_queries.toggle(session, pair_id, *spans[word], who)

    def undo(self, dataset_id: int, author: str | None = None) -> VerdictRow | None:
        """Undo the author's newest verdict, with all that were given together with it
        (`together`); None if there is none left."""
        with self._store.writing() as session:
            who = author or self._settings.author
            return _shown(session, verdict_queries.undo_last(session, dataset_id, who))

    def undo_edit(self, dataset_id: int, author: str | None = None) -> VerdictRow | None:
        """Undo the author's newest bulk edit, whatever they have decided since; later verdicts on
        edited pairs are kept. None if there is none."""
        with self._store.writing(large=True) as session:
            who = author or self._settings.author
            return verdict_queries.undo_last(session, dataset_id, who, only_edits=True)

    def redo(self, dataset_id: int, author: str | None = None) -> VerdictRow | None:
        """Redo the last undone verdict; None if there is none."""
        with self._store.writing() as session:
            who = author or self._settings.author
            return _shown(session, verdict_queries.redo_last(session, dataset_id, who))


def _changed(session: Session, fingerprints: Mapping[int, str]) -> list[int]:
    """The pairs whose id, caption or picture is not what was seen (`fingerprint_of`), or which no
    longer exist."""
    rows = pair_queries.pairs_of(session, list(fingerprints))
    stored = {row.id: fingerprint_of(row.external_id, row.caption, row.image_path) for row in rows}
    return [pair_id for pair_id, seen in fingerprints.items() if stored.get(pair_id) != seen]


def _shown(session: Session, act: VerdictRow | None) -> VerdictRow | None:
    """The act without the decision in effect after it if the reader must not know that: undoing
    one's opinion may bring another's verdict back."""
    if act is None or blind_review.may_know_pair(session, act.pair_id):
        return act
    return replace(
        act, decision=None, corrected_caption=None, suggestion_id=None, enriches=False, note=""
    )


def _note(text: str) -> str:
    """A verdict's note. Raises SettingsError for one that is too long."""
    text = text.replace("\r\n", "\n").strip()
    if len(text) > LONGEST_NOTE:
        raise SettingsError(
            f"A note has at most {LONGEST_NOTE:,} characters; this has {len(text):,}."
        )
    return text


def _corrected(session: Session, pair_id: int, text: str | None, suggestion_id: int | None) -> str:
    """The corrected caption of a verdict: the edit's text, or the suggestion's."""
    caption = pair_queries.get_pair(session, pair_id).caption
    if text is None and suggestion_id is not None:
        suggestions = suggestion_queries.list_suggestions(session, pair_id, kind=None)
        text = next((row.caption for row in suggestions if row.id == suggestion_id), None)
    text = (text or "").strip()
    if not text:
        raise SettingsError("The corrected caption is empty. Type one, or choose 'drop'.")
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
