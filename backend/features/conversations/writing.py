"""Exports as conversations, as trainers of vision-language models read them: JSON Lines with the
turns about a picture in `conversations` (texts with a mark for the picture: LLaVA, LlamaFactory)
or `messages` (parts: TRL, Unsloth, ms-swift).

A pair that was imported from a conversation gets the turns of its source again, and only its
caption is another. Answers of the same conversation that are captions of their own are rows of
their own; what else was said is written with the first of them. A pair without a question gets one.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any

from backend.counts import count_of
from backend.datasets.export_row import ExportRow, Target, json_values, new_name
from backend.datasets.reading.conversations import (
    ASSISTANTS,
    CAPTION_TURNS,
    MARK,
    PICTURE_PARTS,
    SHOWN,
    Conversation,
    Exchange,
    Turn,
    content_of,
    text_of_turn,
)
from backend.datasets.writing.source_exchanges import (
    MARKER,
    captions_of,
    conversation_of,
    exchange_of,
)
from backend.datasets.writing.table_writing import LINE_FEATURES, ImagePaths, write_lines

#: The mark of a picture, which becomes a part, with the line breaks that part it from the text.
_PICTURE_IN_TEXT = re.compile(r"\n?(<image>)\n?", re.IGNORECASE)
_QUESTION = "Describe the image in one sentence."
_LLAVA = {"user": "human", "assistant": "gpt"}
_OPENAI = {"human": "user"} | dict.fromkeys(ASSISTANTS, "assistant")


def write_conversations(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `data.jsonl` with turns of `from` and `value`; returns the number of rows."""
    writer = _Writer(target, "conversations")
    paths = ImagePaths(target, "image")

    def values_of(row: ExportRow, path: str) -> dict[str, Any]:
        turns, row = writer.turns(row)
        dialogue = [_llava_turn(turn) for turn in turns]
        return {**json_values(row), "image": path, "conversations": dialogue}

    turn = [{"name": name, "dtype": "string"} for name in ("from", "value")]
    features = [{"name": "image", "dtype": "string"}, {"name": "conversations", "list": turn}]
    count = write_lines(rows, target, paths, values_of, [*LINE_FEATURES, *features])
    writer.report()
    return count


def write_messages(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `data.jsonl` with turns of `role` and `content` and a list of one image; returns the
    number of rows. Questions and answers are lists of parts: TRL adds the picture to a text by
    itself and trains on the characters of a mark."""
    writer = _Writer(target, "messages")
    paths = ImagePaths(target, "images")

    def values_of(row: ExportRow, path: str) -> dict[str, Any]:
        turns, row = writer.turns(row)
        dialogue = [_openai_turn(turn) for turn in turns]
        return {**json_values(row), "images": [path], "messages": dialogue}

    # Questions and answers are parts, other turns texts: no other type holds both.
    features = [{"name": "images", "list": "string"}, {"name": "messages", "dtype": "json"}]
    count = write_lines(rows, target, paths, values_of, [*LINE_FEATURES, *features])
    writer.report()
    return count


@dataclass
class _Writer:
    """Chooses the turns of each row; `column`: in which they are written."""

    target: Target
    column: str
    _captions_with_markers: int = 0
    #: Conversations with several captions whose other turns are written, by their digest.
    _written: set[bytes] = field(default_factory=set)

    def turns(self, row: ExportRow) -> tuple[list[Turn], ExportRow]:
        """The turns of the row, and the row without the columns that they come from."""
        answer, markers = MARKER.subn(r"(\1)", row.caption)
        self._captions_with_markers += markers > 0
        conversation = conversation_of(row)
        exchange = exchange_of(row, conversation) if conversation is not None else None
        if conversation is None or exchange is None:
            turns = [Turn("user", f"{MARK}\n{_QUESTION}"), Turn("assistant", answer)]
            return turns, self._rename(row, row.extra)
        places = self._places(row, conversation, exchange)
        turns = [
            replace(turn, text=answer if place == exchange.place else _plain_text(turn))
            for place, turn in enumerate(conversation.turns)
            if place in places
        ]
        used = (conversation.column, CAPTION_TURNS)
        extra = {name: value for name, value in row.extra.items() if name not in used}
        return _with_one_mark(turns), self._rename(row, extra)

    def _places(
        self, row: ExportRow, conversation: Conversation, exchange: Exchange
    ) -> frozenset[int]:
        """The numbers of the turns that are written for the row."""
        asides = {n for n, t in enumerate(conversation.turns) if not t.is_answer | t.is_question}
        for each in conversation.exchanges:
            asides -= _places_of(each)
        alone = frozenset(asides | _places_of(exchange))
        captions = captions_of(row, conversation)
        others = frozenset(range(len(conversation.turns)))
        for each in captions:
            if each != exchange:
                others -= _places_of(each)
        if others == alone or sum(turn.marks for turn in conversation.turns) > 1:
            return alone
        if len(captions) > 1:
            texts = json.dumps([str(row.image_path), [turn.text for turn in conversation.turns]])
            digest = hashlib.sha256(texts.encode("utf-8", "replace")).digest()
            if digest in self._written:
                return alone
            self._written.add(digest)
        return others

    def _rename(self, row: ExportRow, extra: Mapping[str, Any]) -> ExportRow:
        """The row with these columns, of which none has the name of ours."""
        names = {name: new_name(name, frozenset({self.column})) for name in extra}
        self.target.changes.renamed |= {old: new for old, new in names.items() if old != new}
        return replace(row, extra={names[name]: value for name, value in extra.items()})

    def report(self) -> None:
        if self._captions_with_markers:
            self.target.changes.remarks.append(
                "Markers of pictures (`<image>`) in "
                f"{count_of(self._captions_with_markers, 'caption')} are "
                f"written as `(image)` in `{self.column}`: trainers take a picture for each. The "
                "column `caption` has them as they are."
            )


def _places_of(exchange: Exchange) -> set[int]:
    return {*range(exchange.start, exchange.place + 1)}


def _plain_text(turn: Turn) -> str:
    """Without marks, which belong into questions alone."""
    return turn.text if turn.is_question else MARKER.sub(r"(\1)", turn.text)


def _with_one_mark(turns: Sequence[Turn]) -> list[Turn]:
    """The turns with one mark, since the row has one picture: at its first mention in a question,
    else in the first question. Trainers take a picture for each mark and know none with numbers, so
    that further mentions become words."""
    marks = chain([MARK], repeat("(image)"))
    turns = [
        replace(turn, text=SHOWN.sub(lambda _: next(marks), turn.text))
        if turn.is_question
        else turn
        for turn in turns
    ]
    is_marked = next(marks) != MARK
    if is_marked:
        return turns
    first = next((place for place, turn in enumerate(turns) if turn.is_question), None)
    if first is None:
        return [Turn("user", MARK), *turns]
    question = replace(turns[first], text=f"{MARK}\n{turns[first].text}")
    return [*turns[:first], question, *turns[first + 1 :]]


def _llava_turn(turn: Turn) -> dict[str, Any]:
    if "value" in turn.source:
        return {**turn.source, "value": turn.text}
    return {"from": _LLAVA.get(turn.speaker, turn.speaker), "value": turn.text}


def _openai_turn(turn: Turn) -> dict[str, Any]:
    rest = {name: cell for name, cell in turn.source.items() if name not in ("from", "value")}
    role = _OPENAI.get(turn.speaker, turn.speaker)
    return {**rest, "role": role, "content": _content(turn)}


def _content(turn: Turn) -> Any:
    """The content of the source where it still says the text and is none (a call of a tool), a
    system's or a tool's, or parts; else the text as parts. Pictures are named in the column of
    images alone."""
    source = content_of(turn.source)
    if turn.source and turn.text == text_of_turn(turn.source):
        if source is None or not (turn.is_question or turn.is_answer or isinstance(source, list)):
            return source
        if isinstance(source, list):
            return [each for part in source for each in _parts_of_part(part)]
    return _parts_of(turn.text)


def _parts_of_part(part: Any) -> list[Any]:
    if isinstance(part, dict) and part.get("type") in PICTURE_PARTS:
        return [{"type": "image"}]
    text = part if isinstance(part, str) else part.get("text")
    if isinstance(part, str) or (isinstance(text, str) and MARK in text.lower()):
        return _parts_of(text)
    return [part]


def _parts_of(text: str) -> list[dict[str, str]]:
    """A text as parts, with a picture for each mark. A line break beside a mark only parts the two,
    as between parts that are read (`text_of_turn`)."""
    texts = _PICTURE_IN_TEXT.split(text)
    return [
        {"type": "image"} if number % 2 else {"type": "text", "text": each}
        for number, each in enumerate(texts)
        if each or len(texts) == 1
    ]
