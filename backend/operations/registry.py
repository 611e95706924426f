"""Every operation by its name, which is that of its command and the kind of its job: ours, then
those of features and other packages."""

from collections.abc import Mapping
from typing import Any

from backend import plugins
from backend.operations.compute_measure import MEASURE
from backend.operations.correct import CORRECT
from backend.operations.export import EXPORT
from backend.operations.import_ import IMPORT
from backend.operations.model_files import DOWNLOAD, PROBE
from backend.operations.operation import Operation
from backend.operations.retrain import ADOPT, TRAIN
from backend.operations.score import ESTIMATE, SCORE
from backend.operations.select import SELECT

OPERATIONS: Mapping[str, Operation[Any]] = {
    operation.name: operation
    for operation in (
        IMPORT, SCORE, ESTIMATE, MEASURE, TRAIN, ADOPT,
        CORRECT, SELECT, EXPORT, DOWNLOAD, PROBE,
        *plugins.load("operations", Operation),
    )
}  # fmt: skip
