"""Every operation by its name, which is that of its command and the kind of its job: ours, then
those of features and other packages."""

from collections.abc import Mapping
from typing import Any

from backend import plugins
from backend.operations.common_options import Common
from backend.operations.compute_measure import MEASURE
from backend.operations.export import EXPORT
from backend.operations.import_ import IMPORT
from backend.operations.model_files import DOWNLOAD, PROBE
from backend.operations.operation import Operation
from backend.operations.retrain import ADOPT, TRAIN
from backend.operations.score import ESTIMATE, SCORE
from backend.options import typed_names

_OURS = (IMPORT, SCORE, ESTIMATE, MEASURE, TRAIN, ADOPT, EXPORT, DOWNLOAD, PROBE)
_by_name: dict[str, Operation[Any]] = {operation.name: operation for operation in _OURS}


def _join(operation: Operation[Any]) -> None:
    if operation.name in _by_name:
        raise ValueError(f"There is an operation '{operation.name}' already.")
    of_command = {"dataset", *Common.model_fields} if operation.is_command else set()
    if clash := sorted(of_command & typed_names(operation.options)):
        raise ValueError(f"The command has an option '{clash[0]}' already.")
    _by_name[operation.name] = operation


plugins.load("operations", Operation, _join)
OPERATIONS: Mapping[str, Operation[Any]] = _by_name
