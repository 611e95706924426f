"""The command `quality`."""

from backend.cli.commands import command_of
from backend.wings.quality.operation import QUALITY

COMMANDS = {"quality": command_of(QUALITY)}
