"""Answers about captions that people gave in Label Studio: tasks with their annotations (JSON), and
rows with an answer in each column (JSON-MIN, CSV)."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from backend.datasets.cells import trim
from backend.features.label_files.task_captions import NOTES, annotator_of, names_of, texts_in
from db.texts import is_blank

#: The column that says what became of a task that has no verdict.
STATE = "label_studio_state"
#: Nobody has worked on it; all who did skipped it; somebody submitted it without an answer.
UNFINISHED, SKIPPED, EMPTY = "unfinished", "skipped", "reviewed without an answer"
#: The column with the names of who answered; those with each one's answers, if several people did;
#: and with what they disagree about.
ANNOTATORS, READINGS, DISAGREEMENT = "annotators", "readings", "disagreement"
#: The columns that every row gets.
VERDICT, CORRECTION, NOTE = "verdict", "corrected_caption", "note"
#: What Label Studio adds to the rows of JSON-MIN and CSV; its `id` is that of the task.
_ADDED = {"annotation_id", "lead_time"}
#: Stands for the verdict of people who disagree.
_DISPUTED = "disputed"
#: What its server puts before the name of a file that was uploaded.
_UPLOAD = re.compile(r"^/?data/upload/(?:\d+/)?[0-9a-f]{8}-")

Answers = dict[str, Any]


def is_task(values: Mapping[str, Any]) -> bool:
    return isinstance(values.get("annotations"), list)


def is_answer_row(values: Mapping[str, Any]) -> bool:
    """Whether it is a row of JSON-MIN or of CSV."""
    return values.keys() >= _ADDED


def task_columns(values: Mapping[str, Any], is_verdict: Callable[[str], bool]) -> Answers:
    """The columns of a task: its data, the answers by the names of their controls, `verdict`,
    `corrected_caption`, `note`, STATE, ANNOTATORS, and if several people answered READINGS.
    `is_verdict`: whether a word says one. If annotators disagree, DISAGREEMENT names who said what.

    Raises ValueError for several corrected captions of an annotation; KeyError, TypeError or
    AttributeError if it is no task of Label Studio.
    """
    data = values.get("data")
    data = {name: _without_prefix(value) for name, value in data.items()} if data else {}
    annotations = values["annotations"]
    submitted = [each for each in annotations if not each.get("was_cancelled")]
    final = [each for each in submitted if each.get("ground_truth")] or submitted
    answers = {_annotator(each, n): _answers(each, is_verdict) for n, each in enumerate(final, 1)}
    state = "" if submitted else SKIPPED if annotations else UNFINISHED
    merged: Answers
    try:
        merged = _merge(answers)
    except ValueError as problem:
        merged = {DISAGREEMENT: str(problem), VERDICT: _DISPUTED}
    people = [names_of(each.get("completed_by")) for each in final]
    merged[ANNOTATORS] = list(dict.fromkeys(filter(None, people)))
    if len(merged[ANNOTATORS]) == len(final) > 1:
        merged[READINGS] = [
            {**each, ANNOTATORS: [names]}
            for each, names in zip(answers.values(), people, strict=True)
        ]
    if submitted and not merged.get(VERDICT):
        state = EMPTY
    return {**data, **dict.fromkeys((VERDICT, CORRECTION, NOTE), ""), **merged, STATE: state}


def row_columns(values: Mapping[str, Any], is_verdict: Callable[[str], bool]) -> Answers:
    """The columns of a row of JSON-MIN or CSV, without the task's id; answers are plain texts."""
    columns = {
        name: _plain(_without_prefix(value), is_verdict)
        for name, value in values.items()
        if name != "id"
    }
    is_submitted = not is_blank(str(values.get("annotation_id") or ""))
    return {**columns, STATE: EMPTY if is_submitted else UNFINISHED}


def _annotator(annotation: Mapping[str, Any], number: int) -> str:
    """An annotation by its number, and who gave it."""
    person = annotator_of(annotation)
    return f"{number} (by {trim(person, 80)})" if person else str(number)


def _answers(annotation: Mapping[str, Any], is_verdict: Callable[[str], bool]) -> Answers:
    """All answers of an annotation."""
    answers: Answers = {}
    words: list[str] = []
    for result in annotation["result"]:
        kind, value = result.get("type", ""), result.get("value") or {}
        # A region of the picture, or a relation, is no answer about the caption.
        content = value.get("text" if kind == "textarea" else kind)
        if content is None:
            content = next((value[key] for key in ("choices", "text") if key in value), None)
        texts = [text for text in texts_in(content) if not is_blank(text)]
        name = str(result.get("from_name") or kind)
        if texts and name:
            answers[name] = texts[0] if len(texts) == 1 else texts
        if kind != "textarea":
            words += texts
        elif texts:
            column = NOTE if NOTES.search(name) else CORRECTION
            answers[column] = "\n".join(texts) if column == NOTE else _single(texts)
    verdict = next(filter(is_verdict, words), words[0] if words else "").strip().lower()
    correction = answers.get(CORRECTION, "")
    if not verdict and correction:
        is_word = is_verdict(correction)
        verdict = correction if is_word else "correction"
        answers[CORRECTION] = "" if is_word else correction
    return {**answers, VERDICT: verdict}


def _single(texts: list[str]) -> str:
    if len(set(texts)) > 1:
        raise ValueError(f"It has {len(texts)} corrected captions; which is meant is uncertain.")
    return texts[0]


def _merge(answers: Mapping[str, Answers]) -> Answers:
    """The answers on which all annotators agree, and the notes of all."""
    merged: Answers = {}
    for column in dict.fromkeys(name for each in answers.values() for name in each):
        by_annotator = {who: each[column] for who, each in answers.items() if each.get(column)}
        different = {json.dumps(value, sort_keys=True) for value in by_annotator.values()}
        if column == NOTE:
            merged[column] = "; ".join(dict.fromkeys(map(str, by_annotator.values())))
        elif len(different) <= 1:
            merged[column] = next(iter(by_annotator.values()), "")
        elif column in (VERDICT, CORRECTION):
            words = ", ".join(
                f"{who}: '{trim(str(value), 80)}'" for who, value in by_annotator.items()
            )
            raise ValueError(f"Annotators disagree: {words}.")
    return merged


def _plain(value: Any, is_verdict: Callable[[str], bool]) -> Any:
    """An answer of several choices or texts as one text: a verdict among them, or the only one."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, dict) and isinstance(value.get("choices"), list):
        value = value["choices"]
    if not isinstance(value, list):
        return value
    texts = [text for text in texts_in(value) if not is_blank(text)]
    return next(filter(is_verdict, texts), texts[0] if len(texts) == 1 else "\n".join(texts))


def _without_prefix(value: Any) -> Any:
    """
    >>> _without_prefix("/data/upload/3/0a1b2c3d-red.png"), _without_prefix("a/red.png")
    ('red.png', 'a/red.png')
    """
    return _UPLOAD.sub("", value) if isinstance(value, str) else value
