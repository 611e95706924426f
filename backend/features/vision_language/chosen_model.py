"""The language model of a session: the one that the settings name, in this process or behind a
server, else the server that the page *Language model* has named."""

from dataclasses import dataclass
from pathlib import Path

from backend.engine.language_models.chat_model import ChatModel
from backend.features.vision_language.endpoint import WITHOUT_KEY, ChatEndpoint
from backend.features.vision_language.server_setup import ChatServer, find_server
from backend.loaded_models import ChatModels, ChosenChatModel, Engine
from backend.settings import Settings


@dataclass(frozen=True)
class _NamedModel(ChosenChatModel):
    """What `--vlm`, `--vlm-url` and `--quantise` name."""

    url: str | None
    quantise: str | None

    def open(self, engine: Engine) -> ChatModel:
        if self.url:
            return ChatEndpoint(
                self.url, self.name, cache=_answers(engine),
                timeout=engine.settings.corrector_timeout, spending=engine.spending,
            )  # fmt: skip
        from backend.features.vision_language.local import load_local

        return load_local(
            self.name,
            engine.scorer.info.device,
            self.quantise,
            _answers(engine),
            engine.spending,
        )


@dataclass(frozen=True)
class _ModelOfServer(ChosenChatModel):
    """What the page names, with the limits of that server."""

    server: ChatServer

    def open(self, engine: Engine) -> ChatModel:
        server = self.server
        engine.spending.limit_server(server.model, server.prices, server.budget)
        return ChatEndpoint(
            server.url, server.model, server.key or WITHOUT_KEY, cache=_answers(engine),
            timeout=engine.settings.corrector_timeout, spending=engine.spending,
        )  # fmt: skip


def _answers(engine: Engine) -> Path:
    return engine.settings.data_directory / "answers"


def choose(settings: Settings) -> ChosenChatModel | None:
    """The model of a session with these settings."""
    if settings.corrector:
        return _NamedModel(settings.corrector, settings.corrector_url, settings.quantise)
    server = find_server(settings.data_directory)
    return _ModelOfServer(server.model, server) if server is not None else None


MODELS = ChatModels(choose, "language-model")
