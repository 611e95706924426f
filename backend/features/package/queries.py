"""A dataset's rows from one database into another, what each pair was when it was packed, and the
acts that come home."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    Integer,
    MetaData,
    RowMapping,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.orm import Session

from backend.store import computed_tables
from db.authors import is_edit
from db.blobs import decode_integers, encode_integers
from db.column_types import now
from db.feature_tables import OTHER_PAIR, OTHER_PAIRS
from db.models import (
    Base,
    Classifier,
    CopyTrajectory,
    Dataset,
    Hold,
    Opinion,
    Pair,
    PairTag,
    Run,
    Suggestion,
    Verdict,
    View,
    WordMark,
)
from db.queries.blind_review import hidden_pairs
from db.queries.statements import chunks, in_dataset, insert_for, lock_pairs, read_records, table_of
from db.queries.verdict_acts import ACT_COLUMNS, VerdictEvent, VerdictRow
from db.queries.verdict_queries import check_verdict
from db.queries.verdict_writing import PAIR_STATE, BatchOutcome, Change, outcome_of, write_all

#: Pairs whose rows are copied together: databases limit the parameters of a statement.
AT_ONCE = 500
#: Tables of pairs that stay at home: who has a pair on the screen, and material of a training.
_AT_HOME = (Hold, CopyTrajectory)
#: Those that say what others said of a pair.
_OF_OTHERS = (Verdict, Opinion, WordMark, PairTag)
#: A pair about which its reviewer may not know what others said.
_UNDECIDED = {
    "verdict_version": 0, "standing_version": 0, "decision": None, "corrected_caption": None,
    "decided_at": None, "decided_by": None, "enriches": False, "note": "", "sampling": "",
    "claim_labels": None,
}  # fmt: skip

#: A table of packages alone: their pairs as they are at home. `picture`: the address with its
#: proof; `caption`: SHA-256;
#: `standing`: the version of the act in effect.
packed_pairs = Table(
    "packed_pairs",
    MetaData(),
    Column("pair_id", Integer, primary_key=True),
    Column("external_id", String(600), nullable=False),
    Column("picture", Text, nullable=False),
    Column("caption", String(64), nullable=False),
    Column("standing", Integer, nullable=False),
)


@dataclass(frozen=True)
class PackedPair:
    """A pair as it was at home; see `packed_pairs`."""

    pair_id: int
    external_id: str
    picture: str
    caption: str
    standing: int


@dataclass(frozen=True)
class PairAtHome:
    """A pair as it is at home now. `standing`: the act in effect, of the batch `batch`."""

    id: int
    external_id: str
    image_path: str
    caption: str
    hidden: bool
    decision: str | None
    corrected_caption: str | None
    decided_by: str | None
    decided_at: datetime | None
    verdict_version: int
    standing: int
    batch: str | None


def _by_name(row: RowMapping) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}


def caption_digest(caption: str) -> str:
    return hashlib.sha256(caption.encode()).hexdigest()


def ids_in_random_order(
    session: Session, dataset_id: int, only: Collection[int] | None
) -> list[int]:
    """The dataset's pairs, or those of them that are wanted, in their random order."""
    query = select(Pair.id).where(in_dataset(dataset_id)).order_by(Pair.random_key, Pair.id)
    return [i for i in session.scalars(query) if only is None or i in only]


def copy_dataset(home: Session, package: Session, dataset_id: int) -> None:
    """Copy what is known of the dataset as a whole; the folder of its pictures stays unsaid."""
    for model, condition in (
        (Dataset, Dataset.id == dataset_id),
        (Run, Run.dataset_id == dataset_id),
        (Classifier, Classifier.dataset_id == dataset_id),
        (View, View.dataset_id == dataset_id),
    ):
        table = table_of(model)
        rows = [_by_name(row) for row in home.execute(select(table).where(condition)).mappings()]
        if model is Dataset:
            rows = [row | {"root": "", "source": "", "ranking_claim": None} for row in rows]
        if rows:
            package.connection().execute(insert(table), rows)


def copy_pairs(
    home: Session,
    package: Session,
    pair_ids: Sequence[int],
    all_ids: Collection[int],
    address_of: Mapping[str, str],
) -> None:
    """Copy these pairs, at most AT_ONCE, and what is known of each. `all_ids`: of all pairs of the
    package; `address_of`: the address of each picture in it. What the reader of the session at home
    may not know is left out."""
    pairs = table_of(Pair)
    hidden = hidden_pairs(home, pair_ids)
    rows = [
        _by_name(row)
        for row in home.execute(select(pairs).where(pairs.c.id.in_(pair_ids))).mappings()
    ]
    connection = package.connection()
    connection.execute(
        insert(pairs),
        [
            row
            | {"image_path": address_of[row["image_path"]]}
            | (_UNDECIDED if row["id"] in hidden else {})
            for row in rows
        ],
    )
    connection.execute(
        insert(packed_pairs),
        [
            {
                "pair_id": row["id"], "external_id": row["external_id"],
                "picture": row["image_path"], "caption": caption_digest(row["caption"]),
                "standing": row["standing_version"],
            }
            for row in rows
        ],
    )  # fmt: skip
    left_out = {model.__tablename__ for model in _AT_HOME}
    of_others = {model.__tablename__ for model in _OF_OTHERS}
    for table in (*Base.metadata.sorted_tables, *computed_tables(home)):
        if "pair_id" not in table.c or table.name in left_out:
            continue
        ids = [i for i in pair_ids if table.name not in of_others or i not in hidden]
        known = home.execute(select(table).where(table.c.pair_id.in_(ids))).mappings()
        rows = [_within(table, _by_name(row), all_ids) for row in known]
        if of_pairs := [row for row in rows if row is not None]:
            connection.execute(table.insert(), of_pairs)


def _within(
    table: Table, row: dict[str, Any], packed_ids: Collection[int]
) -> dict[str, Any] | None:
    """The row, in which other pairs are only those of the package; None if nothing is left."""
    others = [column.name for column in table.columns if column.info == OTHER_PAIR]
    if any(row[name] not in packed_ids for name in others):
        return None
    packed = [column.name for column in table.columns if column.info == OTHER_PAIRS]
    known = {name: [id for id in decode_integers(row[name]) if id in packed_ids] for name in packed}
    return row | {name: encode_integers(ids) for name, ids in known.items()}


def pictures_of(session: Session, pair_ids: Sequence[int]) -> list[str]:
    """The addresses of the pictures of these pairs, each once, in import order."""
    addresses: dict[str, None] = {}
    for part in chunks(sorted(pair_ids), AT_ONCE):
        query = select(Pair.image_path).where(Pair.id.in_(part)).order_by(Pair.id)
        addresses |= dict.fromkeys(session.scalars(query))
    return list(addresses)


def last_act(session: Session) -> int:
    return session.scalar(select(func.max(Verdict.id))) or 0


def only_dataset(session: Session) -> int:
    """The dataset of a package: the first, whatever was imported beside it."""
    return session.scalars(select(Dataset.id).order_by(Dataset.id).limit(1)).one()


def move_pictures(session: Session, dataset_id: int, old: str, new: str) -> int:
    """Have all pictures in the archive `new` instead of `old`, "" the first time; returns how many
    pairs have theirs elsewhere, which is none of a package's."""
    inside = f"{old}!/"
    of_dataset = Pair.dataset_id == dataset_id
    elsewhere = func.substr(Pair.image_path, 1, len(inside)) != inside
    session.execute(
        update(Pair)
        .where(of_dataset, ~elsewhere)
        .values(image_path=literal(new, Text) + func.substr(Pair.image_path, len(old) + 1)),
        execution_options={"synchronize_session": False},
    )
    stays = func.substr(Pair.image_path, 1, len(new) + 2) != f"{new}!/"
    return session.scalar(select(func.count()).where(of_dataset, stays)) or 0


def packed_after(session: Session, after: int, limit: int) -> list[PackedPair]:
    """The next pairs of the package, by id."""
    query = select(packed_pairs).where(packed_pairs.c.pair_id > after)
    return read_records(session, PackedPair, query.order_by(packed_pairs.c.pair_id).limit(limit))


def pairs_at_home(
    session: Session, dataset_id: int, external_ids: Sequence[str]
) -> dict[str, PairAtHome]:
    """The pairs of these ids in their source; those that are not there are left out."""
    query = (
        select(
            Pair.id, Pair.external_id, Pair.image_path, Pair.caption, Pair.hidden, Pair.decision,
            Pair.corrected_caption, Pair.decided_by, Pair.decided_at, Pair.verdict_version,
            Pair.standing_version.label("standing"), Verdict.batch,
        )
        .outerjoin(
            Verdict, (Verdict.pair_id == Pair.id) & (Verdict.version == Pair.standing_version)
        )
        .where(Pair.dataset_id == dataset_id, Pair.external_id.in_(external_ids))
    )  # fmt: skip
    return {row.external_id: row for row in read_records(session, PairAtHome, query)}


def settled_pairs(session: Session, pair_ids: Sequence[int]) -> set[int]:
    """Those of the pairs on which an adjudicator has ended a disagreement."""
    query = select(Opinion.pair_id).where(Opinion.pair_id.in_(pair_ids), Opinion.settles)
    return set(session.scalars(query))


def suggestions_by_id(session: Session, ids: Collection[int]) -> dict[int, tuple[str, bytes]]:
    """The proposer and the digest of the caption of these suggestions."""
    query = select(Suggestion.id, Suggestion.proposer, Suggestion.caption_digest)
    return {
        row[0]: (row[1], row[2]) for row in session.execute(query.where(Suggestion.id.in_(ids)))
    }


def suggestions_at_home(
    session: Session, pair_ids: Sequence[int]
) -> dict[tuple[int, str, bytes], int]:
    """The ids of the suggestions for these pairs, by pair, proposer and digest of the caption."""
    query = select(
        Suggestion.id, Suggestion.pair_id, Suggestion.proposer, Suggestion.caption_digest
    )
    rows = session.execute(query.where(Suggestion.pair_id.in_(pair_ids)))
    return {(row[1], row[2], row[3]): row[0] for row in rows}


#: A mark of a word, or a tag: its table and its row, without an id.
Remark = tuple[type[Base], dict[str, Any]]


def remarks_since(session: Session, pair_ids: Sequence[int], moment: datetime) -> list[Remark]:
    """Marks of words and tags on these pairs that were given after the moment."""
    return [
        (model, {key: value for key, value in _by_name(row).items() if key != "id"})
        for model in (WordMark, PairTag)
        for row in session.execute(
            select(table_of(model)).where(model.pair_id.in_(pair_ids), model.created_at > moment)
        ).mappings()
    ]


def add_remark(session: Session, model: type[Base], row: dict[str, Any]) -> int:
    """1, or 0 if it was there before."""
    statement = insert_for(session, model).values(row).on_conflict_do_nothing()
    return session.connection().execute(statement).rowcount


def remove_remark(session: Session, model: type[Base], row: dict[str, Any]) -> int:
    """Take back what `add_remark` has added: the same remark, of the same time; 0: it was not."""
    table = table_of(model)
    of_row = (table.c[key] == value for key, value in row.items())
    return session.connection().execute(delete(table).where(*of_row)).rowcount


def acts_after(session: Session, last_id: int, pair_ids: Sequence[int]) -> list[VerdictRow]:
    """The acts on these pairs that were given after the one with this id, in their order."""
    query = select(*ACT_COLUMNS).where(Verdict.id > last_id, Verdict.pair_id.in_(pair_ids))
    return read_records(session, VerdictRow, query.order_by(Verdict.pair_id, Verdict.version))


def acts_of_batch(session: Session, batch: str, pair_ids: Sequence[int]) -> list[VerdictRow]:
    """The acts of a batch on these pairs, with their undos and redos, in their order."""
    query = select(*ACT_COLUMNS).where(Verdict.batch == batch, Verdict.pair_id.in_(pair_ids))
    return read_records(session, VerdictRow, query.order_by(Verdict.pair_id, Verdict.version))


def not_undone(acts: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Those of the acts on one pair, all in their order, that are neither undone nor undo one."""
    act_of = {act.version: act for act in acts if act.undoes is None and act.redoes is None}
    standing = dict(act_of)
    for act in acts:
        if act.undoes is not None:
            standing.pop(act.undoes, None)
        elif act.redoes in act_of:
            standing[act.redoes] = act_of[act.redoes]
    return [standing[version] for version in sorted(standing)]


def copy_acts(
    session: Session,
    acts_of: Mapping[int, Sequence[VerdictEvent]],
    versions: Mapping[int, int],
    *,
    batch: str,
) -> BatchOutcome:
    """Write acts that were given in another database, by pair and in their order, each pair as seen
    at its version. Authors, times, samplings and request ids are theirs; they are one batch. One
    transaction; commits. Pairs whose version has changed are skipped.

    Raises ValueError for an invalid act; then nothing is written.
    """
    for act in (act for acts in acts_of.values() for act in acts):
        if act.decision is not None:
            check_verdict(act.decision, act.corrected_caption, act.author, act.note, act.sampling)
    lock_pairs(session, list(acts_of))
    changes, when = [], now()
    for pair in session.execute(select(*PAIR_STATE).where(Pair.id.in_(acts_of))):
        if pair.verdict_version != versions[pair.id]:
            continue
        version, standing = pair.verdict_version, pair.standing_version
        decision, decider = pair.decision, (pair.decided_by, pair.decided_at)
        for act in acts_of[pair.id]:
            copy = replace(
                act, pair_id=pair.id, version=version + 1, replaces=standing, batch=batch,
                standing_version=version + 1, created_at=min(act.created_at, when),
            )  # fmt: skip
            # Bulk edits and labels of claims leave the decision with whoever took it.
            is_other = not is_edit(act.author) and (act.claim is None or act.decision != decision)
            if is_other or act.decision is None:
                decider = (act.author, copy.created_at) if act.decision else (None, None)
            changes.append(Change(copy, *decider))
            version = standing = copy.version
            decision = act.decision
    write_all(session, changes)
    session.commit()
    return outcome_of(changes, acts_of)
