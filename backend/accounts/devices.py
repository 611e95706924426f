"""Device cookies: a browser that has logged in before is throttled separately from all others.

Password guesses made elsewhere therefore do not lock it out. After
https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies. A cookie is
`nonce.mac`, where the MAC of name and nonce is keyed with a secret of the database: it proves an
earlier login under that name and grants no access by itself.
"""

import hashlib
import hmac
import secrets


def new_device(secret: bytes, name: str) -> str:
    """A cookie for the browser that `name` has just logged in with."""
    nonce = secrets.token_hex(16)
    return f"{nonce}.{_mac(secret, name, nonce)}"


def known_device(secret: bytes, name: str, cookie: str | None) -> str | None:
    """The nonce of a device that `name` has logged in with before; None if the cookie is not
    valid."""
    nonce, _, mac = (cookie or "").partition(".")
    device_key = mac.encode("utf-8", "replace")
    return nonce if hmac.compare_digest(_mac(secret, name, nonce).encode(), device_key) else None


def _mac(secret: bytes, name: str, nonce: str) -> str:
    message = f"{nonce}:{name}".encode("utf-8", "replace")
    return hmac.new(secret, message, hashlib.sha256).hexdigest()
