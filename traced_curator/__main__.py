"""The command line: `python -m traced_curator`."""

import importlib
import importlib.util

#: In the installed package, and in a checkout, whose folder has to be the working one.
_INSTALLED, _CHECKOUT = "traced_curator.command_line", "app"

if __name__ == "__main__":
    name = _INSTALLED if importlib.util.find_spec(_INSTALLED) else _CHECKOUT
    importlib.import_module(name).run()
