"""The chat server of the benchmarks, for tests."""

from research.chat_server import CUT, Respond, Served, chat_server

__all__ = ["CUT", "Respond", "Served", "chat_server"]
