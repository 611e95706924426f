"""Read labels that were given elsewhere (who says that which caption is right or wrong), and scores
or lists of suspects by another program.

A table (CSV, TSV, JSONL, Parquet) or a JSON array with one row per label, as spreadsheets and
cleanlab write them; exports of Label Studio (JSON, JSON-MIN, CSV) and of Argilla (records).
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.datasets import label_studio
from backend.datasets.cells import TableRow, trim
from backend.datasets.columns import ID_NAMES, IMAGE_NAMES, usual_name
from backend.datasets.json_stream import JsonFile
from backend.datasets.read_options import TABLES
from backend.datasets.regular_files import read_regular
from backend.datasets.tables import rows_of
from backend.errors import DatasetFormatError, SettingsError, UnsupportedFormat
from db.decisions import DECISIONS

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


#: Common names of the columns, in order of preference.
_ID = ("pair_id", "external_id", "id", "caption_id", "sentid", "uid", "key", "index")
_VERDICT = (
    "verdict", "decision", "judgement", "judgment", "label", "choice", "is_label_issue",
    "is_issue", "is_wrong", "is_error", "is_noisy", "wrong", "error", "noisy", "is_correct",
    "is_right", "is_clean", "is_valid", "correct", "right", "valid",
)  # fmt: skip
_CAPTION = (
    "corrected_caption", "correction", "new_caption", "fixed_caption", "edited_caption", "fix",
    "caption",
)  # fmt: skip
_NOTE = ("note", "comment", "reason", "remark")
#: Columns in which 1, true and yes mean that the caption is right; elsewhere they mean wrong.
_SAY_RIGHT = ("is_correct", "is_right", "is_clean", "is_valid", "correct", "right", "valid")

_WORDS = {
    "correct": ("right", "ok", "good", "clean", "match", "accept", "accepted"),
    "wrong": (
        "incorrect", "bad", "error", "noisy", "mislabeled", "mislabelled", "mismatch",
        "reject", "rejected",
    ),
    "correction": ("corrected",),
    "drop": ("remove", "delete"),
    "abstract": ("vague",),
    "unsure": ("not sure", "unclear"),
}  # fmt: skip
_DECISION_OF = {word: decision for decision, words in _WORDS.items() for word in words}
_DECISION_OF |= {decision: decision for decision in DECISIONS}
_YES, _NO = ("1", "1.0", "true", "yes", "y"), ("0", "0.0", "false", "no", "n")


@dataclass(frozen=True)
class Label:
    """A label of a file. `key`: the pair's id, or the picture's name if the file has no ids;
    `caption`: the one in the file, "" if it has none; `picture`: its name beside an id; `original`:
    the caption beside a corrected one; `state`: why there is no verdict, if the tool says so (of
    `label_studio`); `problem`: why the row is not a label."""

    row: int | None
    key: str = ""
    decision: str = ""
    caption: str = ""
    note: str = ""
    problem: str = ""
    picture: str = ""
    original: str = ""
    state: str = ""


@dataclass(frozen=True)
class LabelColumns:
    """The columns in use; "" if there is none. `by_picture`: `key` names pictures, not pairs.
    `one_means_right`: what 1, true and yes mean, and 0 the opposite."""

    key: str
    verdict: str
    caption: str
    note: str
    by_picture: bool
    one_means_right: bool
    picture: str = ""


def label_columns(
    names: list[str],
    file: str,
    key: str | None = None,
    verdict: str | None = None,
    one_means: str | None = None,
) -> LabelColumns:
    """Find the columns: by their given names, else by common ones. `one_means`: "right" or "wrong".

    Raises DatasetFormatError, which lists the columns of the file.
    """
    for column in (key, verdict):
        if column is not None and column not in names:
            raise DatasetFormatError(f"'{file}' has no column '{column}'. {_list_names(names)}")
    ids, pictures = usual_name(names, _ID), usual_name(names, IMAGE_NAMES)
    verdict = verdict or usual_name([name for name in names if name != key], _VERDICT)
    key = key or ids or pictures
    if not key or not verdict:
        missing = "verdict" if key else "pair's id or picture"
        raise DatasetFormatError(
            f"'{file}' has no column that looks like the {missing}. {_list_names(names)}",
            terminal=f"Name it with --{'verdict' if key else 'id'}-column.",
            page="Name it above.",
        )
    rest = [name for name in names if name not in (key, verdict)]
    right = verdict.lower() in _SAY_RIGHT if one_means is None else one_means == "right"
    is_picture = key == pictures and key != ids
    return LabelColumns(
        key, verdict, usual_name(rest, _CAPTION), usual_name(rest, _NOTE), is_picture, right,
        pictures,
    )  # fmt: skip


def labels_of(
    path: Path, key: str | None = None, verdict: str | None = None, one_means: str | None = None
) -> tuple[LabelColumns, Iterator[Label]]:
    """The file's columns and its labels in order, as in `label_columns`.

    Raises DatasetFormatError if it is not such a file; rows that cannot be read are labels with a
    problem.
    """
    problem = "it has no rows."
    for row in _rows(path):
        if row.values is not None:
            columns = label_columns(list(row.values), path.name, key, verdict, one_means)
            return columns, (_label(row, columns) for row in _rows(path))
        problem = f"row {row.number}: {row.problem}"
    raise DatasetFormatError(f"'{path.name}' has no label that can be read: {problem}")


def decision_of(value: Any, one_means_right: bool) -> str:
    """The verdict that a cell expresses; "" if it is empty. Raises ValueError for another word.

    >>> decision_of("Incorrect", False), decision_of(1, False), decision_of(True, True)
    ('wrong', 'wrong', 'correct')
    """
    word = str("" if value is None else value).strip().lower()
    if not word:
        return ""
    if word in _YES or word in _NO:
        return "correct" if (word in _YES) == one_means_right else "wrong"
    if word not in _DECISION_OF:
        raise ValueError(
            f"'{trim(str(value))}' is not a verdict; known are "
            f"{', '.join(DECISIONS)}, 0 and 1, yes and no."
        )
    return _DECISION_OF[word]


def _is_verdict(word: str) -> bool:
    word = word.strip().lower()
    return word in _DECISION_OF or word in (*_YES, *_NO)


def _rows(path: Path) -> Iterator[TableRow]:
    if path.suffix.lower() != ".json":
        if path.suffix.lower() not in TABLES:
            raise UnsupportedFormat(
                f"'{path.name}' must end in one of {', '.join((*TABLES, '.json'))}."
            )
        source = rows_of(path)
    else:
        file = JsonFile(path)
        if not file.is_array:
            raise DatasetFormatError(f"'{path.name}' must be a JSON array with one label each.")
        source = (
            TableRow(number, value)
            if isinstance(value, dict)
            else TableRow(number, None, "This is not a JSON object.")
            for number, value in enumerate(file.objects(None), 1)
        )
    for row in source:
        yield row if row.values is None else _flat(row)


def _flat(row: TableRow) -> TableRow:
    """The row with the cells that annotation tools nest at the top."""
    values = dict(row.values or {})
    try:
        if label_studio.is_task(values):
            return TableRow(row.number, label_studio.task_columns(values, _is_verdict))
        if label_studio.is_answer_row(values):
            return TableRow(row.number, label_studio.row_columns(values, _is_verdict))
        responses = {
            name.removesuffix(".responses"): value
            for name, value in (values.get("responses") or values).items()
            if isinstance(value, list) and ("responses" in values or name.endswith(".responses"))
        }
        if responses:  # Argilla
            answers = {
                name: _only([a["value"] if isinstance(a, dict) else a for a in answer])
                for name, answer in responses.items()
            }
            others = {**_mapping(values, "fields"), **_mapping(values, "metadata"), **values}
            return TableRow(row.number, {**others, **answers})
    except (KeyError, TypeError, AttributeError, IndexError):
        return TableRow(row.number, None, "This row has not the form that its tool exports.")
    except ValueError as problem:
        return TableRow(row.number, None, str(problem))
    return TableRow(row.number, values)


def _mapping(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = values.get(name)
    return dict(value) if isinstance(value, dict) else {}


def _only(answers: list[Any]) -> Any:
    """The answer on which all annotators agree; None without answers."""
    different = {json.dumps(answer, sort_keys=True) for answer in answers if answer is not None}
    if len(different) > 1:
        raise ValueError("Annotators disagree: " + trim(", ".join(sorted(different))) + ".")
    return json.loads(different.pop()) if different else None


def _label(row: TableRow, columns: LabelColumns) -> Label:
    if row.values is None:
        return Label(row.number, problem=row.problem)
    texts = {
        name: str(value).strip() if (value := row.values.get(column)) is not None else ""
        for name, column in (
            ("key", columns.key), ("caption", columns.caption), ("note", columns.note),
            ("picture", columns.picture), ("original", usual_name(row.values, _CAPTION[-1:])),
            ("state", label_studio.STATE),
        )
    }  # fmt: skip
    texts["caption"] = texts["caption"] or texts["original"]
    if not texts["key"]:
        return Label(row.number, problem=f"The cell '{columns.key}' is empty.")
    try:
        decision = decision_of(row.values.get(columns.verdict), columns.one_means_right)
    except ValueError as problem:
        return Label(row.number, texts["key"], problem=str(problem))
    return Label(row.number, decision=decision, **texts)


def _list_names(names: list[str]) -> str:
    return "Its columns: " + ", ".join(f"'{trim(name)}'" for name in names[:50]) + "."
