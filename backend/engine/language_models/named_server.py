"""The server of a session's language model, if the settings name none: a page may have named one
(plug-ins of the group `chat_servers`)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from backend import plugins
from backend.engine.language_models.spending import Budget, Prices


@dataclass(frozen=True)
class ChatServer:
    """`key`: its own, "" if it needs none: the environment's belongs to the servers that the
    settings name. `budget`: of all questions from the start of the program to its end."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    prices: Prices | None = None
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True)
class ChatServers:
    """`find`: the server that is stored in a data folder, or None; `page`: where it is set up."""

    find: Callable[[Path], ChatServer | None]
    page: str


def chat_server_in(folder: Path) -> ChatServer | None:
    """The server that is stored in this data folder."""
    servers = (each.find(folder) for each in plugins.load("chat_servers", ChatServers))
    return next((server for server in servers if server is not None), None)


def setup_page() -> str:
    """The address of the page on which a server can be set up, "" if there is none."""
    return next((servers.page for servers in plugins.load("chat_servers", ChatServers)), "")
