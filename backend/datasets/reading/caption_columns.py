"""How the caption column of a table is read: texts, or lists, whose form its first rows decide."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from backend.datasets.cells import BadCell, json_value, trim
from backend.datasets.columns import OBJECT_NAMES, Columns
from backend.datasets.read_options import FORMS, LABELS, ListForm, ReadOptions, where_to_state
from backend.datasets.reading.caption_fields import ALL, FIELD_COLUMN, chosen_cells, chosen_names
from backend.datasets.reading.caption_lists import form_of, form_of_column
from backend.datasets.reading.caption_texts import (
    Captions,
    TextList,
    are_languages,
    captions_of_parts,
    check_list,
    listed_captions,
    text_parts,
)
from backend.datasets.reading.json_captions import (
    JSON_COLUMN,
    caption_field,
    no_caption_in,
    one_field,
    written_object,
)
from backend.datasets.reading.questions import is_request
from backend.datasets.reading.sample_fields import SampleField
from backend.errors import DatasetFormatError

Row = Mapping[str, Any]
#: A list of so many texts can contradict the form of its column: a shorter one may be both.
_CLEAR_TEXTS = 4
#: Columns that may have the text of tokens in another.
_TEXTS = ("raw", "sentence", "sentences", "caption", "captions", "text", "texts")
_PER_FORM: dict[ListForm, str] = {
    "captions": "each text is a caption",
    "tokens": "the tokens of each are joined into one caption",
    "tags": "the tags of each are one caption",
}


@dataclass(frozen=True)
class CaptionColumn:
    """`form`: what its lists of texts are; `is_stated`: by the user. `path`: of the captions in its
    JSON, () to detect it; `reserved`: names of other columns; `is_exact`: its texts are as this
    program wrote them; `fields`: how many captions each field of its JSON had so far; `chosen`: the
    kinds of captions that are read, () for those of the column alone; `separator`: what stands
    between several captions in one text, "" if each is one."""

    name: str
    language: str | None = None
    form: ListForm = "captions"
    is_stated: bool = False
    #: Lists are the problem of their rows: their form is open, and most captions are texts.
    refuses_lists: bool = False
    path: tuple[str, ...] = ()
    reserved: frozenset[str] = frozenset()
    is_exact: bool = False
    chosen: tuple[str, ...] = ()
    separator: str = ""
    fields: Counter[str] = field(default_factory=Counter)
    #: The lists that were written as text so far, by column, and the texts of several captions.
    written_lists: Counter[str] = field(default_factory=Counter)
    separated: Counter[str] = field(default_factory=Counter)

    def unpack(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row with the caption of a JSON object instead of that object, whose other fields
        become columns, as does the text of the JSON. Raises BadCell, which names the column."""
        cell = row.get(self.name)
        is_kept = isinstance(cell, dict) and not self.path and not self.chosen
        if self.is_exact or cell in (None, "") or is_kept:
            return row
        if self.path and isinstance(cell, list):
            inside = replace(self, path=(self.name, *self.path))
            return inside.unpack({**row, self.name: {self.name: cell}})
        try:
            values = _object_in(cell)
            if values is None:
                if self.path:
                    raise BadCell("it holds no JSON object")
                return row
            name, caption = self._caption_in(values)
            rest = json_value(values)
        except BadCell as problem:
            raise BadCell(f"The column '{trim(self.name)}': {problem}") from problem
        if len(self.path) <= 1:
            rest.pop(name, None)
        self.fields[name] += 1
        names = {*row, *self.reserved}
        others = {f"{self.name}.{key}" if key in names else key: rest[key] for key in rest}
        source = {JSON_COLUMN: cell} if isinstance(cell, str) else {}
        if self.chosen:
            source[FIELD_COLUMN] = name or self.name
        return {**source, **others, **row, self.name: caption}

    def _caption_in(self, values: dict[str, Any]) -> tuple[str, Any]:
        """The field of an object with its caption, and what it holds. Raises BadCell."""
        if not self.path:
            if name := caption_field(values, self.language):
                return name, one_field(values, name)
            if are_languages(values):
                return next(iter(values)) if len(values) == 1 else "", values
            raise BadCell(no_caption_in(values, self.name))
        value = SampleField("", self.path).value_in(values)
        if value is None:
            raise BadCell(no_caption_in(values, self.name))
        alone = one_field({self.path[-1]: value}, self.path[-1])
        # The name of a known field says how a list in it is read.
        return "][".join(self.path), alone if self.path[-1] in OBJECT_NAMES else value

    def notes(self, file: str) -> list[str]:
        """Which fields of JSON objects were read, and how many texts were lists."""
        notes = []
        if self.fields:
            names = self.fields.most_common(5)
            fields = ", ".join(f"'{trim(name, 80)}' of {n:,}" for name, n in names)
            notes.append(
                f"'{file}': {self.fields.total():,} captions in '{trim(self.name)}' are JSON "
                f"objects: the caption is {fields}; the other fields are columns. (For another "
                f"field, name '{trim(self.name)}[FIELD]' as the column with captions.)"
            )
        if self.separator:
            notes.append(
                f"'{file}': '{trim(self.separator)}' separates several captions in "
                f"{self.separated.total():,} texts of '{trim(self.name)}'."
            )
        if count := self.written_lists.total():
            notes.append(
                f"'{file}': lists that were written as text are read as lists in "
                f"'{trim(self.name)}' ({count:,})."
            )
        return notes

    def by_field(self, row: Row) -> Iterator[tuple[str, str, int | None]]:
        """The captions of each kind that was chosen, with its name ("": none was chosen), and their
        numbers where there may be several. Raises BadCell."""
        cells = [("", self.name, row.get(self.name))]
        for kind, column, cell in chosen_cells(row, self.name, self.chosen) or cells:
            captions, several = replace(self, name=column).captions({column: cell})
            for number, text in enumerate(captions):
                yield kind, text, number if several else None

    def captions(self, row: Row) -> tuple[list[str], bool]:
        """The captions of a row, and whether it may have several. Raises BadCell, which names the
        column."""
        try:
            return self._captions(row.get(self.name))
        except BadCell as problem:
            raise BadCell(f"The column '{trim(self.name)}': {problem}") from problem

    def value_of(self, cell: Any) -> Any:
        """The list of a cell in which it was written as text; else the cell. Raises BadCell for one
        of which a part is gone."""
        if self.is_exact or not isinstance(cell, str):
            return cell
        text = cell.strip()
        if values := listed_captions(text):
            return values
        check_list(text)
        return cell

    def _captions(self, cell: Any) -> tuple[list[str], bool]:
        values = self.value_of(cell)
        self.written_lists[self.name] += values is not cell
        cell = self._separate(values)
        parts = text_parts(cell, self.language)
        lists = [part for part in parts if isinstance(part, TextList)]
        if self.refuses_lists and any(len(texts.texts) > 1 for texts in lists):
            raise BadCell(
                f"this is a list ({_some(lists[0].texts)}), and the other captions are texts. "
                "State what lists are, or correct this row"
            )
        if not self.is_stated:
            for texts in lists:
                self._check(texts)
        captions = captions_of_parts(parts, self.form)
        is_one = len(lists) == len(parts) == 1 and not any(isinstance(c, list) for c in cell)
        is_joined = is_one and (lists[0].form or self.form) != "captions"
        return captions, len(captions) > 1 or (isinstance(cell, list) and not is_joined)

    def _separate(self, cell: Any) -> Any:
        """The captions of a text in which the separator stands between them; else the cell."""
        if not self.separator or self.is_exact or not isinstance(cell, str):
            return cell
        captions = [part.strip() for part in cell.split(self.separator) if part.strip()]
        self.separated[self.name] += len(captions) > 1
        return Captions(captions) if captions else cell

    def _check(self, texts: TextList) -> None:
        """Raises BadCell for a list with questions, or that is clearly something else than those of
        its column."""
        is_list = self.form == "captions" and texts.form is None and len(texts.texts) > 1
        if request := next(filter(is_request, texts.texts), None) if is_list else None:
            raise BadCell(
                f"a text of this list (“{trim(request, 40)}”) asks for a description. Write "
                "questions and answers as turns with 'role' and 'content', or state that lists are "
                f"captions with the option “{LABELS['lists']}” (lists)"
            )
        if texts.form is not None or len(texts.texts) < _CLEAR_TEXTS:
            return
        form = form_of(texts.texts)
        if form not in (None, self.form):
            raise BadCell(
                f"this list looks like {form} ({_some(texts.texts)}), those of the other rows like "
                f"{self.form}. State what all are, or correct this row"
            )


def caption_column(
    rows: Sequence[dict[str, Any]], columns: Columns, file: str, options: ReadOptions, exact: bool,
    forms: dict[str, ListForm], note: Callable[[str], None], path: tuple[str, ...] = (),
) -> tuple[Columns, CaptionColumn]:  # fmt: skip
    """How the captions of a table are read, by its first rows: the columns, among them another of
    the captions where the detected one has the tokens of that, and the reading of the column.

    `path`: of the captions in the JSON of the column. `exact`: the table was written by this
    program, and holds texts. `forms`: what lists are in earlier tables of the dataset, by column,
    to which those of this one are added. `note` is called with what was understood.
    Raises DatasetFormatError if the form of the lists is open.
    """
    roles = (columns.image, columns.id, columns.split, columns.writer)
    column = CaptionColumn(
        columns.caption, options.language, options.lists or "captions",
        is_stated=options.lists is not None, path=path, is_exact=exact,
        reserved=frozenset(filter(None, roles)), chosen=chosen_names(options.caption_fields),
        separator=options.captions_separator or "",
    )  # fmt: skip
    if exact:
        return columns, column
    rows = list(_unpack_rows(rows, column))
    column.fields.clear()
    _check_chosen(rows, column, file)
    lists = _lists(rows, column)
    form = options.lists or form_of_column(lists, column.name) or forms.get(column.name)
    if form == "tokens" and options.caption_column is None:
        for other in _other_columns(rows, column.name):
            note(f"'{file}': '{column.name}' holds tokens; captions are read from '{other}'.")
            columns = replace(columns, caption=other)
            options = options.model_copy(update={"caption_column": other})
            return caption_column(rows, columns, file, options, exact, forms, note)
    if form is None:
        if 2 * len(lists) >= len(rows):
            raise _open_form(lists, column.name, file)
        # Most captions are texts: the lists are the problem of their rows.
        return columns, replace(column, refuses_lists=True)
    if any(len(texts) > 1 for texts in lists):
        forms[column.name] = form
        note(
            f"'{file}': lists in '{column.name}' are read as {form}: {_PER_FORM[form]}"
            + ("." if options.lists else " (if they are something else, state what).")
        )
    return columns, replace(column, form=form)


def _check_chosen(rows: Sequence[Row], column: CaptionColumn, file: str) -> None:
    """Raise DatasetFormatError for a kind of captions that no row has."""
    names = {name for row in rows for name in (*row, str(row.get(FIELD_COLUMN)))}
    if missing := [name for name in column.chosen if name not in (ALL, *names)]:
        headings = ", ".join(f"'{trim(name)}'" for name in sorted(names - {"None"})[:50])
        raise DatasetFormatError(
            f"'{file}' has no captions named '{trim(missing[0])}'. There are: {headings}.",
            **where_to_state("caption_fields"),
        )


def _object_in(cell: Any) -> dict[str, Any] | None:
    """The object of a cell; None if it holds none. Raises BadCell for several."""
    if isinstance(cell, dict):
        return cell
    texts = cell if isinstance(cell, list) else [cell]
    objects = [written_object(text) for text in texts if isinstance(text, str)]
    if len(texts) > 1 and any(value is not None for value in objects):
        raise BadCell("it is a list with JSON objects. Give each caption a row of its own")
    return next(iter(objects), None)


def _unpack_rows(rows: Iterable[dict[str, Any]], column: CaptionColumn) -> Iterator[dict[str, Any]]:
    for row in rows:
        try:
            yield column.unpack(row)
        except BadCell:
            continue  # it is reported when the row is read


def _lists(rows: Iterable[Row], column: CaptionColumn) -> list[tuple[str, ...]]:
    """The lists of texts in the column, but those whose field says what they are."""
    lists = []
    for row in rows:
        try:
            parts = text_parts(column.value_of(row.get(column.name)), column.language)
        except BadCell:
            continue  # it is reported when the row is read
        lists += [p.texts for p in parts if isinstance(p, TextList) and p.form is None]
    return lists


def _other_columns(rows: Sequence[Row], name: str) -> list[str]:
    """Columns named like captions that have the text from which the tokens were cut."""
    names = dict.fromkeys(key for row in rows for key in row)
    usual = {key.strip().lower(): key for key in names if key != name}
    others = [usual[each] for each in _TEXTS if each in usual]
    return [other for other in others if _has_texts(rows, other)]


def _has_texts(rows: Sequence[Row], name: str) -> bool:
    cells = [cell for row in rows if (cell := row.get(name)) not in (None, "", [])]
    lists = _lists(rows, CaptionColumn(name))
    is_text = all(isinstance(cell, str | list) for cell in cells)
    return bool(cells) and is_text and form_of_column(lists, name) == "captions"


def _open_form(lists: Sequence[Sequence[str]], name: str, file: str) -> DatasetFormatError:
    by_form = {form: [ls for ls in lists if form_of(ls) == form] for form in FORMS}
    looks = [f"{len(ls):,} look like {form} ({_some(ls[0])})" for form, ls in by_form.items() if ls]
    example = _some(max(lists, key=len))
    kinds = "; ".join(looks) if looks else f"such as {example}"
    return DatasetFormatError(
        f"'{file}': the column '{trim(name)}' holds lists, {kinds}. Are their texts several "
        "captions of a picture, or the tokens or the tags of one caption? Say which, and import "
        "again.",
        terminal="State it with --lists captions, --lists tokens or --lists tags.",
        page=where_to_state("lists")["page"],
    )


def _some(texts: Sequence[str]) -> str:
    more = ", …" if len(texts) > 5 else ""
    return "[" + ", ".join(f"'{trim(text, 40)}'" for text in texts[:5]) + more + "]"
