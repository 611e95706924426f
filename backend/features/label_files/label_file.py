"""Read labels that were given elsewhere: who says that which caption is right or wrong.

A table (CSV, TSV, JSONL, Parquet) or a JSON array with one row per label, as spreadsheets and
cleanlab write them; exports of Label Studio (JSON, JSON-MIN, CSV) and of Argilla (records).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from backend.datasets.cells import TableRow, trim
from backend.datasets.columns import IMAGE_NAMES, usual_name
from backend.datasets.read_options import TABLES
from backend.datasets.reading.json_stream import JsonFile
from backend.datasets.reading.tables import rows_of
from backend.errors import DatasetFormatError, UnsupportedFormat
from backend.features.label_files import argilla, label_studio
from backend.features.label_files.task_captions import names_of
from db.authors import is_reserved
from db.decisions import DECISIONS

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
_PERSON = (
    "annotator", "completed_by", "annotated_by", "labeled_by", "labelled_by", "annotator_name",
    "annotator_email", "annotator_id", "labeler", "labeller", "worker_id", "workerid", "reviewer",
)  # fmt: skip
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
    `label_studio`); `problem`: why the row is not a label. `people`: who gave it, each by all their
    names; `readings`: what each of several people said, who may disagree."""

    row: int | None
    key: str = ""
    decision: str = ""
    caption: str = ""
    note: str = ""
    problem: str = ""
    picture: str = ""
    original: str = ""
    state: str = ""
    people: tuple[tuple[str, ...], ...] = ()
    readings: "tuple[Label, ...]" = ()


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
    problem, refusal = "it has no rows.", None
    for row in _rows(path):
        if row.values is None:
            problem = f"row {row.number}: {row.problem}"
            continue
        try:
            columns = label_columns(list(row.values), path.name, key, verdict, one_means)
        except DatasetFormatError as error:  # records without an answer have no column of it
            refusal = refusal or error
            continue
        return columns, (_label(row, columns) for row in _rows(path))
    if refusal is not None:
        raise refusal
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
        if not (file.is_array or file.is_lines):
            raise DatasetFormatError(
                f"'{path.name}' must be a JSON array, or JSON lines, with one label each."
            )
        source = (
            TableRow(number, value)
            if isinstance(value, dict)
            else TableRow(number, None, "This is not a JSON object.")
            for number, value in enumerate(file.objects(None), 1)
        )
    for row in source:
        yield row if row.values is None else _flat(row)


def _flat(row: TableRow) -> TableRow:
    """The row with the cells that annotation tools nest at the top, without a column whose name is
    empty, in which pandas writes its index."""
    values = {name: value for name, value in (row.values or {}).items() if name}
    try:
        if label_studio.is_task(values):
            return TableRow(row.number, label_studio.task_columns(values, _is_verdict))
        if label_studio.is_answer_row(values):
            return TableRow(row.number, label_studio.row_columns(values, _is_verdict))
        answers, is_record = argilla.answers_of(values), argilla.is_record(values)
        if answers or is_record:
            is_nested = is_record or "responses" in values
            columns = argilla.flatten_record(values) if is_nested else values
            return TableRow(row.number, {**columns, **_answers(answers)})
    except (KeyError, TypeError, AttributeError, IndexError):
        return TableRow(row.number, None, "This row has not the form that its tool exports.")
    except ValueError as problem:
        return TableRow(row.number, None, str(problem))
    return TableRow(row.number, values)


def _answers(answers: Mapping[str, list[argilla.Answer]]) -> dict[str, Any]:
    """The answers to each of Argilla's questions on which all agree, and who gave which."""
    by_person: dict[tuple[str, ...], dict[str, Any]] = {}
    for question, of_question in answers.items():
        for answer in of_question:
            names = names_of(answer.person)
            by_person.setdefault(names, {})[question] = answer.value
    columns: dict[str, Any] = {label_studio.ANNOTATORS: list(filter(None, by_person))}
    if len(by_person) > 1 and () not in by_person:
        columns[label_studio.READINGS] = [
            {**answers, label_studio.ANNOTATORS: [names]} for names, answers in by_person.items()
        ]
    try:
        return columns | {
            question: _only([each.value for each in of_question])
            for question, of_question in answers.items()
        }
    except ValueError as problem:
        return columns | dict.fromkeys(answers) | {label_studio.DISAGREEMENT: str(problem)}


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
    people = _people(row.values)
    readings = tuple(
        _label(replace(row, values={**row.values, **reading, **_OF_ONE}), columns)
        for reading in row.values.get(label_studio.READINGS) or ()
    )
    if problem := row.values.get(label_studio.DISAGREEMENT):
        return Label(row.number, people=people, readings=readings, problem=problem, **texts)
    try:
        decision = decision_of(row.values.get(columns.verdict), columns.one_means_right)
    except ValueError as problem:
        return Label(row.number, texts["key"], problem=str(problem))
    return Label(row.number, decision=decision, people=people, readings=readings, **texts)


#: What the answers of one person have not.
_OF_ONE = {label_studio.READINGS: None, label_studio.DISAGREEMENT: None}


def _people(values: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Who gave the label of a row."""
    if label_studio.ANNOTATORS in values and isinstance(values[label_studio.ANNOTATORS], list):
        return tuple(values[label_studio.ANNOTATORS])
    names = names_of(values.get(usual_name(values, _PERSON)))
    return (names,) if names and not is_reserved(names[0]) else ()


def _list_names(names: list[str]) -> str:
    return "Its columns: " + ", ".join(f"'{trim(name)}'" for name in names[:50]) + "."
