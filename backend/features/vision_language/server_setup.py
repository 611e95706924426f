"""The server that the page *Language model* names: a file in the data folder, its key with it.

The file is its owner's alone. A key belongs to the address that it was given for: with another
address it is forgotten, so that nobody can have it sent elsewhere.
"""

import ipaddress
import json
import logging
import socket
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from backend.datasets.safe_files.regular_files import read_regular, replacement
from backend.engine.language_models.spending import Budget, Prices
from backend.errors import SettingsError
from backend.features.vision_language.endpoint import check_scheme

_NAME = "language-model.json"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
#: Where clouds tell a machine its credentials, beside the link-local addresses.
_OF_MACHINES = (
    ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200"),
)  # fmt: skip
#: The largest file that can be one, in bytes.
_LARGEST = 1 << 16
log = logging.getLogger(f"traced.{__name__}")


@dataclass(frozen=True)
class ChatServer:
    """`key`: its own, "" if it needs none: the environment's belongs to the servers that the
    settings name. `budget`: of all questions from the start of the program to its end."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    prices: Prices | None = None
    budget: Budget = field(default_factory=Budget)


_SERVER = TypeAdapter(ChatServer)


def find_server(folder: Path) -> ChatServer | None:
    """The server that is set up, or None; a file that cannot be read is named in the log."""
    try:
        return _SERVER.validate_json(read_regular(folder / _NAME, _LARGEST))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as problem:
        # Its text would repeat the key.
        log.warning("%s cannot be read: %s", folder / _NAME, type(problem).__name__)
        return None


def save_server(folder: Path, server: ChatServer) -> None:
    """Replace what was set up. Raises SettingsError if the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacement(folder / _NAME) as part:
            part.chmod(0o600)  # while it is empty
            part.write_text(json.dumps(asdict(server)), encoding="utf-8")
    except OSError as problem:
        raise SettingsError(f"Nothing was saved: {folder} {problem.strerror}.") from problem


def delete_server(folder: Path) -> None:
    """Delete what was set up, with its key. Raises SettingsError."""
    try:
        (folder / _NAME).unlink(missing_ok=True)
    except OSError as problem:
        raise SettingsError(f"{folder / _NAME} stays: {problem.strerror}.") from problem


def check_address(address: str) -> str:
    """The address without spaces around it. Raises SettingsError for one that is not of a server,
    that holds a password, or at which machines keep their own credentials."""
    address = address.strip()
    check_scheme(address)
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or not address.isprintable() or any(sign in address for sign in " \\"):
        raise SettingsError(
            "This is no address of a server; give one like http://localhost:8000/v1."
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise SettingsError("Give the key in its own field: everybody can see the address.")
    addresses = _addresses_of(host, port)
    if any(each.is_link_local or each in _OF_MACHINES for each in addresses):
        raise SettingsError(f"'{host}' is where a machine keeps what it is trusted with.")
    return address


def _addresses_of(host: str, port: int | None) -> list[_Address]:
    """Where the host is now; empty if nobody knows it."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in answers]
    return [getattr(each, "ipv4_mapped", None) or each for each in addresses]
