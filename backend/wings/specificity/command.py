"""The commands `bags` and `boost`."""

from backend.cli.commands import command_of
from backend.wings.specificity.bags_operation import BAGS
from backend.wings.specificity.boost_operation import BOOST

COMMANDS = {"bags": command_of(BAGS, imports=True), "boost": command_of(BOOST)}
