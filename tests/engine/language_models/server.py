"""The chat server of the lab, which tests talk to."""

from backend.lab.chat_server import CUT, Respond, Served, chat_server

__all__ = ["CUT", "Respond", "Served", "chat_server"]
