"""The lab's chat server, for tests."""

from backend.lab.chat_server import CUT, Respond, Served, chat_server

__all__ = ["CUT", "Respond", "Served", "chat_server"]
