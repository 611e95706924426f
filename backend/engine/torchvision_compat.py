"""Make torchvision importable with a CPU build of torch.

torchvision's registry wheels are built for CUDA. With a CPU-only torch their binary does not
load, and torchvision's Python code then fails while registering shape functions for two operators
that the binary would have declared ("operator torchvision::nms does not exist"). The image
processors of transformers and open_clip then fail as well. We need none of these operators:
declaring their signatures is enough.

Importing this module is the whole interface; it must come before the first import of torchvision.
"""

import importlib.util
from pathlib import Path

import torch

# Both are (detections [n, 4], scores [n], overlap threshold) -> kept indices [m].
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_OPERATORS = ("nms", "qnms")

# torch drops the declarations when the Library object is garbage-collected, hence the global.
_library: torch.library.Library | None = None


def _binary_loads() -> bool:
    specification = importlib.util.find_spec("torchvision")
    if specification is None or specification.origin is None:
        return True  # nothing installed: nothing to repair
    for binary in Path(specification.origin).parent.glob("_C*.so"):
        try:
            torch.ops.load_library(str(binary))
        except (OSError, RuntimeError):
            return False
    return True


def declare_missing_operators() -> None:
    """Declare torchvision's operators if, and only if, its own binary cannot do so."""
    global _library
    if _library is not None or _binary_loads():
        return
    _library = torch.library.Library("torchvision", "DEF")
    for name in _OPERATORS:
        _library.define(name + _SIGNATURE)


declare_missing_operators()
