"""Several curators on one database: accounts, logins, keys of programs, holds, agreement and
disputes.

Passwords are hashed with argon2, individually salted, and never stored.
"""

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from backend.engine.statistics.agreement import Agreement, agreement, check_overlap
from backend.errors import NotFound, SettingsError
from backend.store import Store
from backend.verdict_texts import about_caption
from db.authors import is_reserved
from db.column_types import now
from db.models import ROLES
from db.queries import (
    curator_queries,
    dataset_queries,
    hold_queries,
    opinion_queries,
    setting_queries,
)
from db.queries.curator_queries import ApiKeyRow as ApiKeyRow
from db.queries.curator_queries import CuratorRow
from db.queries.opinion_queries import DisputedPair
from db.queries.queue_filter import QueueFilter
from db.texts import has_controls, is_blank


@dataclass(frozen=True)
class AccountView:
    """A user account; an inactive one cannot log in."""

    name: str
    role: str
    active: bool
    created_at: datetime


@dataclass(frozen=True)
class TeamView:
    """Agreement of the curators of a dataset. `disputed` counts all pairs that wait for an
    adjudicator, `disputes` are the first of them."""

    dataset_id: int
    by_verdict: Agreement
    right_or_wrong: Agreement
    disputed: int
    disputes: tuple[DisputedPair, ...]


SHORTEST, LONGEST = 8, 200
_HASHER = PasswordHasher()


def hash_password(password: str) -> str:
    """The hash of a password. Raises SettingsError if it is too short (or absurdly long)."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise SettingsError(f"A password has {SHORTEST} to {LONGEST} characters.")
    return _HASHER.hash(password)


def is_right(password: str, password_hash: str | None) -> bool:
    """Whether the password matches the hash. `password_hash`: None if there is no account."""
    # Computed in any case: the first login takes as long for every name.
    no_account = _hash_of_no_account()
    try:
        _HASHER.verify(password_hash or no_account, password[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _hash_of_no_account() -> str:
    """Verified for unknown names, so that a response takes as long as for known ones. Computed on
    the first login, because it would slow down the start of the program."""
    return _HASHER.hash("nobody has this password")


#: What a key may do: only read, or also write as its curator may.
SCOPES = ("read", "review")
#: How every key begins, so that people and scanners of leaked secrets recognise one.
PREFIX = "traced_"
LONGEST_LABEL = 80


class ApiKeys:
    """The keys of all accounts. Only digests are stored: a key is shown once, when it is made."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, name: str, label: str, scope: str = "read") -> tuple[ApiKeyRow, str]:
        """A new key for the account `name`, and its text. Raises SettingsError and NotFound."""
        label = " ".join(label.split())
        if scope not in SCOPES:
            raise SettingsError(f"'{scope}' is not a scope; the scopes are {', '.join(SCOPES)}.")
        if is_blank(label) or len(label) > LONGEST_LABEL or has_controls(label):
            raise SettingsError(f"A label has 1 to {LONGEST_LABEL} characters, no controls.")
        token = PREFIX + secrets.token_urlsafe(32)
        with self._store.writing() as session:
            account = curator_queries.get_curator(session, name)
            if not account.active:
                raise SettingsError(f"{name} may not log in, so a key would open nothing.")
            key = curator_queries.add_key(
                session, account.id, label, _digest(token), scope == "review"
            )
        return key, token

    def of(self, name: str | None = None) -> list[ApiKeyRow]:
        """The keys of an account, or of all."""
        return self._store.read(curator_queries.list_keys, name)

    def find(self, token: str) -> ApiKeyRow | None:
        """The key with this text; None if it was revoked, or its account is closed."""
        if not token.startswith(PREFIX):
            return None
        return self._store.read(curator_queries.find_key, _digest(token))

    def revoke(self, key_id: int, name: str | None = None) -> None:
        """End a key at once, if `name` is given only one of this account. Raises NotFound."""
        self._store.write(curator_queries.remove_key, key_id, name)


#: A server that asks for no login notices within so many seconds that there is an account.
NOTICED_WITHIN = 0.2
#: How long a browser stays logged in.
LOGIN_HOLDS = timedelta(days=14)
LONGEST_NAME = 80


class Team:
    """Accounts, and coordination between curators."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.keys = ApiKeys(store)

    # ---------------------------------------------------------------- accounts

    def accounts(self) -> list[AccountView]:
        with self._store.reading() as session:
            return [_account(row) for row in curator_queries.list_curators(session)]

    def has_accounts(self) -> bool:
        with self._store.reading() as session:
            return curator_queries.count_active(session) > 0

    def add(self, name: str, password: str, role: str = "curator") -> AccountView:
        """Create an account. Raises SettingsError if the name is invalid or taken, or the password
        too short."""
        name = " ".join(name.split())
        if is_reserved(name):
            raise SettingsError(f"'{name}' is reserved for rules; choose another name.")
        if is_blank(name) or len(name) > LONGEST_NAME or has_controls(name):
            raise SettingsError(f"A name has 1 to {LONGEST_NAME} characters, no controls.")
        _check_role(role)
        password_hash = hash_password(password)
        with self._store.writing() as session:
            return _account(curator_queries.add_curator(session, name, password_hash, role))

    def change(
        self,
        name: str,
        password: str | None = None,
        role: str | None = None,
        active: bool | None = None,
    ) -> AccountView:
        """Change what is given; the user has to log in again, and a closed account loses its keys.
        Raises NotFound."""
        if role is not None:
            _check_role(role)
        password_hash = hash_password(password) if password is not None else None
        with self._store.writing() as session:
            return _account(
                curator_queries.change_curator(session, name, password_hash, role, active)
            )

    def log_in(self, name: str, password: str) -> str | None:
        """A session token for the browser, or None if the name or the password is wrong."""
        try:
            row = self._store.read(curator_queries.get_curator, " ".join(name.split()))
        except NotFound:
            row = None
        password_hash = row.password_hash if row is not None and row.active else None
        if not is_right(password, password_hash) or row is None:
            return None
        token = secrets.token_urlsafe(32)
        self._store.write(curator_queries.add_login, row.id, _digest(token), now() + LOGIN_HOLDS)
        return token

    @cached_property
    def device_secret(self) -> bytes:
        """The key that signs this database's device cookies."""
        return self._store.write(setting_queries.device_secret)

    def who(self, token: str | None) -> AccountView | None:
        """The account logged in with this token; None if the token is missing, invalid or
        expired."""
        if not token:
            return None
        row = self._store.read(curator_queries.logged_in, _digest(token))
        return None if row is None else _account(row)

    def log_out(self, token: str) -> None:
        self._store.write(curator_queries.end_login, [_digest(token)])

    def may_settle(self, name: str) -> bool:
        """Whether the curator is an adjudicator."""
        return self._store.read(curator_queries.is_adjudicator, name)

    # ---------------------------------------------------------------- coordination

    def hold(self, pair_id: int, curator: str, holds: Collection[int] = ()) -> bool:
        """Hold a pair for a curator; False if another curator holds it. Releases the pairs
        in `holds`, unless the pair is one of them."""
        with self._store.writing() as session:
            is_held = hold_queries.hold(session, pair_id, curator)
            if is_held and pair_id not in holds:
                hold_queries.release(session, holds, curator)
            return is_held

    def hold_first(
        self, filter: QueueFilter, curator: str, holds: Collection[int] = ()
    ) -> int | None:
        """Hold the first pair of the curator's queue that no other curator
        holds, and release as `hold` does; None if no pair is left."""
        with self._store.seen_by(curator).writing() as session:
            pair_id = hold_queries.take_first(session, filter, curator)
            if pair_id is not None and pair_id not in holds:
                hold_queries.release(session, holds, curator)
            return pair_id

    def hold_neighbour(
        self,
        filter: QueueFilter,
        pair_id: int,
        curator: str,
        holds: Collection[int] = (),
        backwards: bool = False,
    ) -> int | None:
        """Likewise the next pair of the queue that no other curator holds, or the previous one."""
        with self._store.seen_by(curator).writing() as session:
            found = hold_queries.take_neighbour(session, filter, pair_id, curator, backwards)
            if found is not None and found not in holds:
                hold_queries.release(session, holds, curator)
            return found

    def hold_each(
        self, pair_ids: Sequence[int], curator: str, holds: Collection[int] = ()
    ) -> list[int]:
        """Hold a pair and those that follow it, and release the rest of `holds`. Returns those that
        no other curator holds, in the given order."""
        with self._store.writing() as session:
            held_ids = hold_queries.hold_each(session, pair_ids, curator)
            hold_queries.release(session, set(holds) - set(held_ids), curator)
            return held_ids

    def release(self, pair_id: int, curator: str) -> None:
        """Give a pair back that the curator has judged: others may be asked for their opinion."""
        self._store.write(hold_queries.release, [pair_id], curator)

    def set_overlap(self, dataset_id: int, share: float, people: int) -> None:
        """Assign a share of the pairs to `people` curators each. Raises SettingsError."""
        check_overlap(share, people)
        self._store.write(dataset_queries.set_overlap, dataset_id, share, people)

    def overlap(self, dataset_id: int) -> tuple[float, int]:
        """The share of the pairs that several curators review, and how many review each."""
        dataset = self._store.read(dataset_queries.get_dataset, dataset_id)
        return dataset.overlap_share, dataset.overlap_people

    def of_dataset(self, dataset_id: int, reader: str | None = None) -> TeamView:
        """Agreement, by verdict and by right or wrong, and the pairs that need an adjudicator.
        `reader`: the curator who asks; pairs that still need their own opinion are left out."""
        store = self._store if reader is None else self._store.seen_by(reader)
        with store.reading() as session:
            judgements = [
                {opinion.author: str(opinion.judgement) for opinion in of_pair}
                for of_pair in opinion_queries.shared_opinions(session, dataset_id)
            ]
            waiting = opinion_queries.count_disputed(session, dataset_id)
            disputes = opinion_queries.disputed_pairs(session, dataset_id)
        coarse = [
            {name: about_caption(judgement) for name, judgement in of_pair.items()}
            for of_pair in judgements
        ]
        return TeamView(
            dataset_id=dataset_id,
            by_verdict=agreement(judgements),
            right_or_wrong=agreement(coarse),
            disputed=waiting,
            disputes=tuple(disputes),
        )


def _account(row: CuratorRow) -> AccountView:
    return AccountView(row.name, row.role, row.active, row.created_at)


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise SettingsError(f"'{role}' is not a role; the roles are {', '.join(ROLES)}.")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
