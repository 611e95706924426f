"""Passwords as argon2 keeps them: never themselves, each with a salt of its own."""

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from backend.errors import SettingsError

SHORTEST, LONGEST = 8, 200
_HASHER = PasswordHasher()


def hashed(password: str) -> str:
    """Raises SettingsError for a password that is too short (or absurdly long)."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise SettingsError(f"A password has {SHORTEST} to {LONGEST} characters.")
    return _HASHER.hash(password)


def is_right(password: str, password_hash: str | None) -> bool:
    """Whether the password is the one of the hash; None: there is no such account."""
    no_account = (
        _hash_of_no_account()
    )  # made before the answer is known: the first takes as long for every name
    try:
        _HASHER.verify(password_hash or no_account, password[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _hash_of_no_account() -> str:
    """Checked for names that do not exist, so that an answer takes as long as for those that do.
    Made when somebody logs in: it takes as long as a start of the program may."""
    return _HASHER.hash("nobody has this password")
