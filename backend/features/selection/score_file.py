"""Read scores, or lists of suspects, by another program."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from backend.datasets.cells import trim
from backend.datasets.columns import ID_NAMES, usual_name
from backend.datasets.reading.tables import rows_of
from backend.datasets.safe_files.regular_files import read_regular
from backend.errors import DatasetFormatError, SettingsError

#: Common names of the column, in order of preference.
_SCORES = (
    "score", "s", "s_0", "similarity", "clip_score", "quality", "p_error", "p_wrong", "error",
    "loss", "suspicion", "probability", "value",
)  # fmt: skip
#: Endings of lists of suspects.
_LISTS = ("", ".txt", ".ids", ".list", ".lst")
#: Parts of the names of columns in which a higher value means: more likely wrong.
_ERROR_WORDS = ("error", "wrong", "loss", "suspicion", "noise", "issue")


@dataclass(frozen=True)
class ScoreFile:
    """Scores by the pairs' ids. `says_wrong`: the higher, the more likely wrong. `is_list`: a list
    of suspects, with 1 for each of them, which says 0 of all other pairs."""

    by_id: dict[str, float]
    says_wrong: bool
    is_list: bool = False
    column: str = ""


def read_scores(path: Path) -> ScoreFile:
    """`read_all_scores` of a file with one score for each id. Raises SettingsError for several."""
    first, *others = read_all_scores(path)
    if others:
        names = ", ".join(f"'{trim(each.column)}'" for each in (first, *others))
        raise SettingsError(f"'{path.name}' has several scores a caption: {names}. Keep one.")
    return first


def read_all_scores(path: Path) -> list[ScoreFile]:
    """Read a table (CSV, TSV, JSONL, Parquet) with an id and a score, from a text file a list of
    suspects with one id per line, or from a JSON file the scores of each metric of `capevalkit`.

    Raises SettingsError for a file without ids or scores, and for a score that is no number.
    """
    try:
        ending = path.suffix.lower()
        if ending == ".json":
            return _metrics(path)
        if ending in _LISTS:
            names = read_regular(path).decode("utf-8-sig").splitlines()
            suspects = {name.strip(): 1.0 for name in names if name.strip()}
            if not suspects:
                raise SettingsError(f"There is no id in '{path}'. Write one per line.")
            return [ScoreFile(suspects, says_wrong=True, is_list=True)]
        return [_table(path)]
    except OSError as problem:
        raise SettingsError(f"'{path}' cannot be read: {problem.strerror or problem}.") from problem
    except UnicodeDecodeError as problem:
        raise SettingsError(f"'{path}' is not UTF-8. Save it as UTF-8.") from problem
    except DatasetFormatError as problem:
        raise SettingsError(str(problem)) from problem


#: What is beside the scores of a caption in `capevalkit`'s files.
_NO_METRICS = ("id", "ground_truth_score", "caption", "image", "references")


def _metrics(path: Path) -> list[ScoreFile]:
    """Of `capevalkit score --output FILE.json`: `per_item` maps ids to a score, to scores by the
    names of metrics, or to these under `scores`."""
    try:
        content = json.loads(read_regular(path))
    except (ValueError, RecursionError) as problem:
        raise SettingsError(f"'{path.name}' is not JSON: {trim(str(problem))}.") from problem
    entries = content.get("per_item") if isinstance(content, dict) else None
    if not isinstance(entries, dict) or not entries:
        raise SettingsError(
            f"'{path.name}' has no scores of captions: 'per_item' maps ids to them."
        )
    by_metric: dict[str, dict[str, float]] = {}
    for number, (name, entry) in enumerate(entries.items()):
        scores = entry.get("scores", entry) if isinstance(entry, dict) else {"score": entry}
        names = [each for each in scores if each not in _NO_METRICS]
        if number and set(names) != set(by_metric):
            raise SettingsError(
                f"'{path.name}', '{trim(name)}': its scores are not those of the first caption."
            )
        for metric in names:
            value = scores[metric]
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value):
                raise SettingsError(
                    f"'{path.name}', '{trim(name)}': '{trim(str(value))}' is not a number."
                )
            by_metric.setdefault(metric, {})[name] = float(value)
    if not by_metric:
        raise SettingsError(f"'{path.name}' has no score of any caption.")
    return [
        ScoreFile(scores, _says_wrong(metric), column=metric)
        for metric, scores in by_metric.items()
    ]


def _says_wrong(column: str) -> bool:
    return any(word in column.lower() for word in _ERROR_WORDS)


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
            raise SettingsError(f"Row {row.number} of '{path.name}': '{trim(name)}' stands twice.")
        try:
            scores[name] = float(value)  # pyrefly: ignore[bad-argument-type]
        except (TypeError, ValueError):
            scores[name] = math.nan
        if not math.isfinite(scores[name]):
            raise SettingsError(
                f"Row {row.number} of '{path.name}': '{trim(str(value))}' is not a number."
            )
    if not scores:
        raise SettingsError(f"'{path.name}' has no rows.")
    return ScoreFile(scores, _says_wrong(column), column=column)
