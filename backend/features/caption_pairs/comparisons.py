"""Pairs of captions to learn from: of each caption that was found wrong, a better text about the
same picture that differs as little as possible."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from backend.engine.captions import Caption, changes, lower_words
from backend.engine.claims.editing import without_all
from backend.engine.correction.suggestion import words_changed
from backend.engine.english.word_kinds import WORD_KINDS, kind_of
from backend.engine.languages.identification import language_in
from backend.errors import ExportError
from backend.jobs.export_choice import ExportChoice, ExportDecision
from backend.jobs.export_decisions import decided_pairs
from backend.jobs.scoring.stored_claims import KnownClaim
from backend.jobs.scoring.stored_rows import in_order
from backend.store import Store
from db.authors import is_rule
from db.decisions import is_wrong
from db.queries import dataset_queries, run_queries, suggestion_queries
from db.queries.pair_queries import PairRow
from db.queries.statements import chunks

_AT_ONCE = 1000


@dataclass(frozen=True)
class CaptionPair:
    """Two texts about one picture, of which the `chosen` is the better one.

    `basis`: why, one of BASES; `decided_by`: the person, "" if none has looked; `words`: how many
    words differ; `kinds`: of these words; `claim`: the only claim that differs, as in `chosen` and
    as in `rejected`; `is_right`: whether all of `chosen` is right, not only better.
    """

    chosen: str
    rejected: str
    basis: str = "corrected"
    decided_by: str = ""
    words: int = 1
    kinds: tuple[str, ...] = ()
    claim: tuple[str, str] | None = None
    is_right: bool = True


#: A person wrote or accepted `chosen` in place of `rejected`; `chosen` is `rejected` without the
#: claims that are wrong; a right and a wrong caption of the same picture; a model's suggestion that
#: nobody has confirmed.
BASES = ("corrected", "shortened", "same picture", "suggested")


def contents(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Mapping[int, Callable[[Callable[[str], str]], tuple[CaptionPair, ...]]]:
    """The comparisons of each exported pair, as soon as people have their names. Raises ExportError
    if there is nothing to compare."""
    decisions = decided_pairs(store, dataset_id, choice)
    pairs = caption_pairs(store, dataset_id, decisions, choice.unconfirmed)
    if not pairs:
        raise ExportError(
            "This format compares a wrong caption with a better one, and no verdict has both. "
            "Correct captions first, or judge several captions of a picture."
        )
    return {pair_id: partial(_with_names, of_pair) for pair_id, of_pair in pairs.items()}


def _with_names(
    pairs: Sequence[CaptionPair], author: Callable[[str], str]
) -> tuple[CaptionPair, ...]:
    return tuple(replace(each, decided_by=author(each.decided_by)) for each in pairs)


def caption_pairs(
    store: Store,
    dataset_id: int,
    decisions: Iterable[tuple[PairRow, ExportDecision, Sequence[KnownClaim]]],
    with_unconfirmed: bool = False,
) -> dict[int, tuple[CaptionPair, ...]]:
    """What each exported pair has to compare, by its id; pairs without anything are left out.

    A caption that was found wrong is compared with its correction; without one, with itself without
    the claims that are wrong, or else with that right caption of the same picture from which it
    differs least. `with_unconfirmed`: also what no person has confirmed: verdicts by a rule, and
    corrections that wait for a verdict.
    """
    pairs: dict[int, list[CaptionPair]] = {}
    right_of: dict[str, list[tuple[int, str]]] = {}
    wrong: list[PairRow] = []
    open_pairs: dict[int, PairRow] = {}
    for pair, outcome, claims in decisions:
        stays = not outcome.left_out_because
        if pair.decision is None:
            if stays and pair.caption and outcome.kind == "human":
                open_pairs[pair.id] = pair
            continue
        if is_rule(pair.decided_by) and not with_unconfirmed:
            continue
        if pair.decision in ("correct", "correction") and stays:
            # An enrichment that was only suggested is no text that anybody called right.
            is_own = pair.decision == "correction" or outcome.kind == "edited"
            text = outcome.caption if is_own else pair.caption
            right_of.setdefault(pair.image_path, []).append((pair.id, text))
        if not is_wrong(pair.judgement):
            continue
        corrections = _corrected_pairs(pair, outcome.caption, claims) if stays else []
        if corrections:
            pairs.setdefault(pair.id, []).extend(corrections)
        elif pair.decision != "correction":
            wrong.append(pair)
    for pair in wrong:
        others = right_of.get(pair.image_path, ())
        nearest = min(others, key=lambda each: _difference(each[1], pair.caption), default=None)
        if nearest is not None:
            comparisons = _pair(nearest[1], pair, "same picture")
            pairs.setdefault(nearest[0], []).extend(comparisons)
    if with_unconfirmed:
        pairs |= _suggested_pairs(store, dataset_id, open_pairs)
    return {pair_id: tuple(of_pair) for pair_id, of_pair in pairs.items() if of_pair}


def _corrected_pairs(pair: PairRow, text: str, claims: Sequence[KnownClaim]) -> list[CaptionPair]:
    """The caption compared with the text that an export writes, or with what is left of it."""
    if pair.decision == "correction":
        return _pair(text, pair, "corrected", claim=_only_change(pair.caption, text, claims))
    wrong = [claim for claim in claims if claim.is_right is False]
    rest = [claim for claim in claims if claim.is_right is not False and claim.says_something]
    if not wrong or not rest:
        return []
    remainder = without_all(pair.caption, [claim.claim for claim in wrong])
    is_right = all(claim.is_right for claim in rest)
    return _pair(remainder, pair, "shortened", is_right=is_right)


def _pair(
    better: str,
    pair: PairRow,
    basis: str,
    claim: tuple[str, str] | None = None,
    is_right: bool = True,
) -> list[CaptionPair]:
    """The pair's caption as the worse text; nothing if no word differs."""
    words = _difference(better, pair.caption)
    if not words:
        return []
    is_by_person = pair.decision is not None and not is_rule(pair.decided_by)
    decided_by = (pair.decided_by or "") if is_by_person else ""
    kinds = _kinds(better, pair.caption)
    return [CaptionPair(better, pair.caption, basis, decided_by, words, kinds, claim, is_right)]


def _difference(text: str, caption: str) -> int:
    return words_changed(Caption.parse(caption), text)


def _kinds(better: str, rejected: str) -> tuple[str, ...]:
    """The kinds of the words that differ, in the order of WORD_KINDS; "other" only if there is no
    other one."""
    old, new = lower_words(rejected), lower_words(better)
    words = [word for run in changes(old, new)
             for word in (*(old[i] for i in run.old), *(new[i] for i in run.new))]  # fmt: skip
    language = language_in(better)
    kinds = {kind_of(word, language) for word in words}
    kinds -= {"other"} if len(kinds) > 1 else set()
    return tuple(kind for kind in WORD_KINDS if kind in kinds)


def _only_change(caption: str, text: str, claims: Sequence[KnownClaim]) -> tuple[str, str] | None:
    """The claim as in the text and as in the caption, if all the rest is the same; None as well for
    one that cannot be understood alone."""
    for claim in (each.claim for each in claims):
        end = len(text) - (len(caption) - claim.end)
        around = caption[: claim.start] + caption[claim.end :]
        if claim.start < end and text[: claim.start] + text[end:] == around:
            return None if claim.subject else (text[claim.start : end], claim.of(caption))
    return None


def _suggested_pairs(
    store: Store, dataset_id: int, open_pairs: dict[int, PairRow]
) -> dict[int, list[CaptionPair]]:
    """The undecided pairs that have a correction worth an offer, with the best one; none by a
    model that does not know the pictures."""
    if store.read(dataset_queries.get_dataset, dataset_id).is_unfamiliar:
        return {}
    run = store.read(run_queries.latest_run, dataset_id, "score")
    pairs = {}
    for part in chunks(list(open_pairs), _AT_ONCE):
        with store.reading() as session:
            waiting = suggestion_queries.open_corrections(session, part, run.id if run else None)
        for pair_id, suggestions in waiting.items():
            pair = open_pairs[pair_id]
            best = next(iter(in_order(pair.caption, suggestions)), None)
            if best is not None and best.worth.is_offer:
                pairs[pair_id] = _pair(best.row.caption, pair, "suggested")
    return pairs
