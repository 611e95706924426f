"""Long-lived keys with which programs act for an account."""

import hashlib
import secrets
from dataclasses import dataclass

from backend.errors import SettingsError
from backend.store import Store
from db.queries import api_keys, curator_queries
from db.queries.api_keys import ApiKeyRow as ApiKeyRow

#: What a key may do: only read, or also write as its curator may.
SCOPES = ("read", "review")
#: How every key begins, so that people and scanners of leaked secrets recognise one.
PREFIX = "traced_"
LONGEST_LABEL = 80


@dataclass(frozen=True)
class KeysView:
    keys: tuple[ApiKeyRow, ...]


class ApiKeys:
    """The keys of all accounts. Only digests are stored: a key is shown once, when it is made."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, name: str, label: str, scope: str = "read") -> tuple[ApiKeyRow, str]:
        """A new key for the account `name`, and its text. Raises SettingsError and NotFound."""
        label = " ".join(label.split())
        if scope not in SCOPES:
            raise SettingsError(f"'{scope}' is not a scope; the scopes are {', '.join(SCOPES)}.")
        if not label or len(label) > LONGEST_LABEL or not label.isprintable():
            raise SettingsError(f"A label has 1 to {LONGEST_LABEL} printable characters.")
        token = PREFIX + secrets.token_urlsafe(32)
        with self._store.writing() as session:
            account = curator_queries.get_curator(session, name)
            if not account.active:
                raise SettingsError(f"{name} may not log in, so a key would open nothing.")
            key = api_keys.add_key(session, account.id, label, _digest(token), scope == "review")
        return key, token

    def of(self, name: str | None = None) -> list[ApiKeyRow]:
        """The keys of an account, or of all."""
        with self._store.reading() as session:
            return api_keys.list_keys(session, name)

    def find(self, token: str) -> ApiKeyRow | None:
        """The key with this text; None if it was revoked, or its account is closed."""
        if not token.startswith(PREFIX):
            return None
        with self._store.reading() as session:
            return api_keys.find_key(session, _digest(token))

    def revoke(self, key_id: int, name: str | None = None) -> None:
        """End a key at once, if `name` is given only one of this account. Raises NotFound."""
        with self._store.writing() as session:
            api_keys.remove_key(session, key_id, name)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
