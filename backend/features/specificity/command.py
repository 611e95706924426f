"""The command `bags`, whose dataset may be a path."""

from backend.cli.commands import command_of
from backend.features.specificity.bags_operation import BAGS

COMMANDS = {"bags": command_of(BAGS, imports=True)}
