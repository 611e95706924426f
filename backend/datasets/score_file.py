"""Read scores that another program has given to pairs, or its list of suspects."""

import math
from dataclasses import dataclass
from pathlib import Path

from backend.datasets.cells import shown
from backend.datasets.columns import ID_NAMES, usual_name
from backend.datasets.file_endings import TABLES
from backend.datasets.regular_files import read_regular
from backend.datasets.tables import rows_of
from backend.errors import DatasetFormatError, SettingsError

#: Common names of the column, in order of preference.
_SCORES = (
    "score", "s", "s_0", "similarity", "clip_score", "quality", "p_error", "p_wrong", "error",
    "loss", "suspicion", "probability", "value",
)  # fmt: skip
#: Parts of the names of columns in which a higher value means: more likely wrong.
_SAY_WRONG = ("error", "wrong", "loss", "suspicion", "noise", "issue")


@dataclass(frozen=True)
class ScoreFile:
    """Scores by the pairs' ids. `says_wrong`: the higher, the more likely wrong. `is_list`: a list
    of suspects, with 1 for each of them, which says 0 of all other pairs."""

    by_id: dict[str, float]
    says_wrong: bool
    is_list: bool = False
    column: str = ""


def read_scores(path: Path) -> ScoreFile:
    """Read a table (CSV, TSV, JSONL, Parquet) with an id and a score, or, from any other file, a
    list of suspects with one id per line.

    Raises SettingsError for a file without ids or scores, and for a score that is no number.
    """
    try:
        if path.suffix.lower() not in TABLES:
            names = read_regular(path).decode("utf-8-sig").splitlines()
            suspects = {name.strip(): 1.0 for name in names if name.strip()}
            if not suspects:
                raise SettingsError(f"There is no id in '{path}'. Write one per line.")
            return ScoreFile(suspects, says_wrong=True, is_list=True)
        return _table(path)
    except OSError as problem:
        raise SettingsError(f"'{path}' cannot be read: {problem.strerror or problem}.") from problem
    except UnicodeDecodeError as problem:
        raise SettingsError(f"'{path}' is not UTF-8. Save it as UTF-8.") from problem
    except DatasetFormatError as problem:
        raise SettingsError(str(problem)) from problem


def _table(path: Path) -> ScoreFile:
    scores: dict[str, float] = {}
    key = column = ""
    for row in rows_of(path):
        if row.values is None:
            raise SettingsError(f"Row {row.number} of '{path.name}': {row.problem}")
        key = key or usual_name(row.values, ID_NAMES)
        column = column or usual_name(row.values, _SCORES)
        if not key or not column:
            raise SettingsError(
                f"'{path.name}' needs a column with the pairs' ids ({', '.join(ID_NAMES[:3])}, …) "
                f"and one with scores ({', '.join(_SCORES[:4])}, …)."
            )
        value, name = row.values.get(column), str(row.values.get(key))
        if name in scores:
            raise SettingsError(f"Row {row.number} of '{path.name}': '{shown(name)}' stands twice.")
        try:
            scores[name] = float(value)  # pyrefly: ignore[bad-argument-type]
        except (TypeError, ValueError):
            scores[name] = math.nan
        if not math.isfinite(scores[name]):
            raise SettingsError(
                f"Row {row.number} of '{path.name}': '{shown(str(value))}' is not a number."
            )
    if not scores:
        raise SettingsError(f"'{path.name}' has no rows.")
    return ScoreFile(scores, any(word in column.lower() for word in _SAY_WRONG), column=column)
