"""Password hashing with argon2, individually salted; passwords themselves are never stored."""

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from backend.errors import SettingsError

SHORTEST, LONGEST = 8, 200
_HASHER = PasswordHasher()


def hashed(password: str) -> str:
    """The hash of a password. Raises SettingsError if it is too short (or absurdly long)."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise SettingsError(f"A password has {SHORTEST} to {LONGEST} characters.")
    return _HASHER.hash(password)


def is_right(password: str, password_hash: str | None) -> bool:
    """Whether the password matches the hash. `password_hash`: None if there is no account."""
    no_account = (
        _hash_of_no_account()
    )  # computed in any case: the first login takes as long for every name
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
