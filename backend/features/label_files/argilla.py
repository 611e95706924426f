"""Records of Argilla: what its people were shown (`fields`), what is known of it (`metadata`), what
was suggested, and what they answered.

They are written nested (`to_json`, `to_list`; Argilla 1 and the server list the answers of each
person) or flat (`to_datasets`, the hub). Both become the flat columns: the fields, the metadata,
`QUESTION.responses` with `.users` and `.status`, `QUESTION.suggestion` with `.agent` and `.score`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from backend.datasets.cells import TableRow
from backend.datasets.columns import CAPTION_NAMES, usual_name
from backend.datasets.reading.conversations import NoPair
from backend.datasets.reading.row_forms import RowContext, RowForm
from db.texts import is_blank

RESPONSES, SUGGESTION = ".responses", ".suggestion"
#: States of answers that were not submitted.
_NOT_SUBMITTED = ("draft", "discarded")
#: Where a record may have the id that its source gave it; those of its server come later.
_IDS = ("external_id", "id")


class Answer(NamedTuple):
    """What a person (a user's id, "" if nobody says) submitted as answer to a question."""

    value: Any
    person: str


def is_record(values: Mapping[str, Any]) -> bool:
    """Whether it is a nested record."""
    return isinstance(values.get("fields"), dict) and any(
        isinstance(values.get(name), dict | list) for name in ("responses", "suggestions")
    )


def has_answers(columns: Iterable[str]) -> bool:
    """Whether there are answers among the columns of flat records."""
    return any(name.endswith(RESPONSES) for name in columns)


def _rows(row: TableRow, values: dict[str, Any], context: RowContext) -> Iterator[TableRow]:
    try:
        columns = flatten_record(values) if is_record(values) else values
        captions = [columns] if context.caption_column else list(captions_of_record(columns))
    except (KeyError, TypeError, AttributeError) as problem:
        raise NoPair("This record has not the form that Argilla exports.") from problem
    return (replace(row, values=caption_values) for caption_values in captions)


def _note(file: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Where answers are read."""
    if not any(map(has_answers, rows)):
        return ""
    return (
        f"'{file}' has answers of people, which are columns. To take them as verdicts, give the "
        "same file again as labels that were given elsewhere."
    )


FORM = RowForm(lambda values, _: is_record(values) or has_answers(values), _rows, note=_note)


def flatten_record(values: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a nested record. Of equal names the field keeps its own; others get the name
    of their part in front."""
    nested = ("fields", "metadata", "vectors", "responses", "suggestions")
    rest = {name: value for name, value in values.items() if name not in nested}
    own_id = next((rest[name] for name in _IDS if rest.get(name) is not None), None)
    columns = dict(_mapping(values.get("fields")))
    for name, value in [
        *({} if own_id is None else {"id": own_id}).items(),
        *_mapping(values.get("metadata")).items(),
        *((name, value) for name, value in rest.items() if name != "id"),
        *_mapping(values.get("vectors")).items(),
    ]:
        if value is not None:
            columns[f"metadata.{name}" if name in columns else name] = value
    return columns | _suggestion_columns(values) | _answer_columns(values)


def captions_of_record(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The columns of a flat record, once for each caption that a person wrote, or with the caption
    that was suggested, if a question asks for the caption and no field has one."""
    names = [name.removesuffix(end) for name in columns for end in _ENDS if name.endswith(end)]
    question = usual_name(names, CAPTION_NAMES)
    if not question or usual_name(columns, CAPTION_NAMES):
        yield dict(columns)
        return
    answers = [each for each in answers_of(columns).get(question, ()) if _is_text(each.value)]
    suggestion = columns.get(f"{question}{SUGGESTION}")
    if not answers and _is_text(suggestion):
        agent = _writer(columns.get(f"{question}{SUGGESTION}.agent"), "model")
        yield {**columns, "caption": suggestion, **agent}
        return
    # A record without a text has an empty caption, which is reported.
    for number, answer in enumerate(answers or [Answer("", "")], 1):
        identity = columns.get("id")
        if identity is not None and number < len(answers):
            identity = f"{identity}#{number}"
        own_id = {} if identity is None else {"id": identity}
        yield {
            **columns, **own_id, "caption": answer.value, **_writer(answer.person, "person"),
        }  # fmt: skip


def answers_of(columns: Mapping[str, Any]) -> dict[str, list[Answer]]:
    """The submitted answers to each question of a record, nested or flat."""
    columns = _answer_columns(columns) if "responses" in columns else columns
    answers: dict[str, list[Answer]] = {}
    for name, values in columns.items():
        if name.endswith(RESPONSES) and isinstance(values, list):
            people = _cells(columns.get(f"{name}.users"), len(values))
            states = _cells(columns.get(f"{name}.status"), len(values))
            answers[name.removesuffix(RESPONSES)] = [
                Answer(value, "" if person is None else str(person))
                for value, person, state in zip(values, people, states, strict=True)
                if state not in _NOT_SUBMITTED
            ]
    return answers


_ENDS = (RESPONSES, SUGGESTION)


def _answer_columns(values: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The flat columns of nested responses: lists by question, or an object for each person."""
    columns: dict[str, list[Any]] = {}

    def add(question: str, value: Any, person: Any, state: Any) -> None:
        name = f"{question}{RESPONSES}"
        for column, cell in ((name, value), (f"{name}.users", person), (f"{name}.status", state)):
            columns.setdefault(column, []).append(cell)

    responses = values.get("responses")
    for question, answers in _mapping(responses).items():
        for answer in answers:
            add(question, answer["value"], answer.get("user_id"), answer.get("status"))
    for response in responses if isinstance(responses, list) else []:
        for question, answer in (response.get("values") or {}).items():
            add(question, answer["value"], response.get("user_id"), response.get("status"))
    return {name: cells for name, cells in columns.items() if set(map(type, cells)) != {type(None)}}


def _suggestion_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """The flat columns of nested suggestions: by question, or a list that names the questions."""
    suggestions = values.get("suggestions")
    named = list(_mapping(suggestions).items())
    named += [
        (str(each.get("question_name") or each.get("question_id")), each)
        for each in (suggestions if isinstance(suggestions, list) else [])
    ]
    return {
        f"{question}{SUGGESTION}{end}": suggestion[key]
        for question, suggestion in named
        for key, end in (("value", ""), ("score", ".score"), ("agent", ".agent"))
        if suggestion.get(key) is not None
    }


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _cells(value: Any, count: int) -> list[Any]:
    """As many cells as answers; a record without them has None for each."""
    return value if isinstance(value, list) and len(value) == count else [None] * count


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not is_blank(value)


def _writer(name: Any, kind: str) -> dict[str, str]:
    return {"writer": str(name), "writer_kind": kind} if name else {}
