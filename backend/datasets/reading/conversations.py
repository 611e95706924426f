"""Rows that are conversations about their pictures: which texts are questions, and which of the
answers are captions.

* Turns (`conversations` of LLaVA, `messages` of OpenAI and TRL), also as JSON text or as columns of
  a struct; `texts` of FineVision and The Cauldron and lists of questions with their answers.
* Columns: `question` and `answer`, swift's `query` and `response`, TRL's `prompt` and `completion`.
* Of several pictures, each belongs to the turn with its mark, and to that with its number where the
  marks (`<image_1>`) or parts (`{"type": "image", "index": 0}`) have numbers, or that with its file
  (`{"type": "image", "image": "b.jpg"}`).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, cycle
from typing import Any, NamedTuple

from backend.counts import counted
from backend.datasets.cells import EmbeddedImage, trim
from backend.datasets.columns import CAPTION_NAMES, IMAGE_NAMES, LIST_NAMES, usual_name
from backend.datasets.reading.json_captions import printed_by_python
from backend.datasets.reading.questions import (
    PICTURE_MARK,
    asks_for_description,
    asks_something_else,
    is_question,
    is_request,
    name_speakers,
)
from backend.datasets.safe_files.text_files import LONGEST_LINE

#: Columns with turns, and with lists of questions and answers.
TURN_COLUMNS = (
    "conversations",
    "conversation",
    "messages",
    "texts",
    "qa",
    "qas",
    "qa_pairs",
    "dialog",
)
#: Speakers whose turns are answers.
ASSISTANTS = ("assistant", "gpt", "model", "bot", "chatgpt")
#: Turns that are neither question nor answer.
_ASIDES = ("system", "tool", "function", "function_call", "observation")
_QUESTIONS = ("prompt", "query", "question", "instruction", "user", "human")
_ANSWERS = (
    "completion", "chosen", "response", "answer", "answers", "output", "assistant", "gpt",
    "multiple_choice_answer",
)  # fmt: skip
#: Columns with the answers from which one is to be chosen.
_CHOICES = ("choices", "options", "candidates", "multiple_choices")
#: Types of the parts of a turn that are pictures.
PICTURE_PARTS = ("image", "image_url", "input_image")
#: What stands in a text for a picture among the parts of its turn.
MARK = "<image>"
#: Marks of pictures in texts; those with a number name one.
SHOWN = re.compile(
    r"<image>|<\|?image_?(\d{1,3})\|?>|<\|vision_start\|><\|image_pad\|><\|vision_end\|>|"
    r"<\|image(?:_pad)?\|>",
    re.IGNORECASE,
)
#: The column of a pair that says which turns of its row are captions, by number from 0.
CAPTION_TURNS = "caption_turns"
_LONGEST_JSON = LONGEST_LINE


class NoPair(ValueError):
    """Raised if a row is not one image with a text; the message says why."""


class Mention(NamedTuple):
    """A picture that a turn shows. `index`: its number as the row has it, None if it has none;
    `path`: of its file, "" if it names none."""

    index: Any = None
    path: str = ""

    @property
    def number(self) -> int | None:
        """Data frames make fractions or texts of numbers, and NaN of none. Raises NoPair if it is
        no number."""
        index = self.index
        if index is None or index != index:
            return None
        is_number = isinstance(index, int | float) and not isinstance(index, bool)
        if is_number and index == index // 1:
            return int(index)
        if isinstance(index, str) and len(index) < 10 and index.strip().isdecimal():
            return int(index)
        raise NoPair(f"'{trim(str(index), 80)}' is no number of a picture ('index' of a part).")


@dataclass(frozen=True)
class Turn:
    """`source`: as the row has it; an empty one if the row has it as columns."""

    speaker: str
    text: str
    source: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_answer(self) -> bool:
        """Calls of tools without words are none."""
        is_silent = bool(self.source.get("tool_calls")) and not self.text
        return self.speaker in ASSISTANTS and not is_silent

    @property
    def is_question(self) -> bool:
        return self.speaker not in (*ASSISTANTS, *_ASIDES)

    @property
    def marks(self) -> int:
        """How many pictures it shows."""
        return len(self.shown)

    @property
    def shown(self) -> "list[Mention]":
        """The pictures that it shows, in order."""
        content = content_of(self.source)
        if not isinstance(content, list) or self.text != text_of_turn(self.source):
            return [Mention(m[1]) for m in SHOWN.finditer(self.text)]
        return [mention for part in content for mention in _shown_by(part)]


@dataclass(frozen=True)
class Exchange:
    """A question with its answer; `place`: the number of the answer's turn; `start`: of the first
    turn of the question."""

    question: str
    answer: str
    start: int
    place: int


@dataclass(frozen=True)
class Conversation:
    """`column`: of the turns; "" if they are columns of the row."""

    column: str
    turns: tuple[Turn, ...]
    has_choices: bool = False

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """In order. Several answers in a row are to the same question."""
        exchanges, places, question = list[Exchange](), list[int](), ""
        for place, turn in enumerate(self.turns):
            if turn.is_question:
                places.append(place)
            elif turn.is_answer:
                if places:
                    question = _joined([self.turns[number].text for number in places])
                start = places[0] if places else place
                exchanges.append(Exchange(question, turn.text, start, place))
                places = []
        return exchanges


def _joined(texts: Sequence[str]) -> str:
    """The turns before an answer as one question. A question that follows another, which nobody has
    answered, is meant alone."""
    is_other = any(map(asks_for_description, texts[:-1])) and asks_something_else(texts[-1])
    return texts[-1] if is_other else "\n".join(texts)


@dataclass
class AnswerRule:
    """Which answers are captions: those whose question asks for a description, all, or those whose
    question holds a text. Counts the others. `asks_in_text`: see `has_questions_in_text`;
    `takes_lists`: lists of texts may be questions and answers; `needs_answers`: a row without a
    caption is a problem; `names_picture`: whether a text is the name of a picture, by which an
    answer belongs to it; `with_choices`: requests that a service answered several times."""

    takes_all: bool = False
    question: str | None = None
    takes_lists: bool = True
    needs_answers: bool = True
    asks_in_text: bool = False
    names_picture: Callable[[str], bool] = bool
    left_out: int = 0
    with_choices: int = 0
    example: Exchange | None = None

    def captions(self, conversation: Conversation) -> list[Exchange]:
        """The exchanges whose answers are captions."""
        exchanges = conversation.exchanges
        captions = [each for each in exchanges if self._takes(each, conversation.has_choices)]
        others = [each for each in exchanges if each not in captions]
        if others:
            self.left_out += len(others)
            self.example = self.example or others[0]
        return captions

    def _takes(self, exchange: Exchange, has_choices: bool) -> bool:
        if self.takes_all:
            return True
        if self.question:
            return self.question.casefold() in exchange.question.casefold()
        return not has_choices and asks_for_description(exchange.question)

    def notes(self, file: str) -> Iterator[str]:
        """What was left out of a table, and what became several captions, for the user."""
        if self.with_choices:
            requests = "request has" if self.with_choices == 1 else "requests have"
            yield (
                f"'{file}': {self.with_choices:,} {requests} several answers (choices); each "
                "answer becomes a caption."
            )
        if self.example is None:
            return
        question, answer = _shorten(self.example.question), _shorten(self.example.answer)
        count = counted(self.left_out, "answer is no caption", "answers are no captions")
        yield (
            f"'{file}': {count}, "
            "because no description of the picture was asked for, such as "
            f"“{answer}” to “{question}”. The option "
            "“answers” imports all of them, the option “question” those to other questions."
        )


def _shorten(text: str) -> str:
    plain = " ".join(PICTURE_MARK.sub(" ", text).split())
    return trim(plain, 80) + ("…" if len(plain) > 80 else "")


def has_questions_in_text(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the texts in the column `text` of a table are questions, by its first rows: most are,
    and `answer` has their answers."""
    texts = [row for row in rows if isinstance(row.get("text"), str)]
    asking = [row for row in texts if row.get("answer") and is_question(row["text"])]
    return 2 * len(asking) > len(texts)


def conversation_in(
    values: Mapping[str, Any], rule: AnswerRule | None = None
) -> Conversation | None:
    """The conversation of a row; None if it has none. Raises NoPair for a turn without a text."""
    rule = rule or AnswerRule()
    has_choices = any(values.get(name) for name in _CHOICES)
    named = [name for name in CAPTION_NAMES if isinstance(values.get(name), str)]
    for name in TURN_COLUMNS:
        turns = turns_of(values.get(name))
        if not turns and rule.takes_lists and named in ([], [name]):
            turns = _turns_of_texts(values.get(name))
        if turns:
            return Conversation(name, tuple(turns), has_choices)
    if rule.asks_in_text and named == ["text"] and values.get("answer"):
        asking = [Turn("user", values["text"])]
        return Conversation("", (*asking, *_answering(values, "answer")), has_choices)
    if named:
        return None
    questions, answers = values.get("questions"), values.get("answers")
    if isinstance(questions, list) and isinstance(answers, list) and len(questions) == len(answers):
        both = zip(questions, answers, strict=True)
        turns = turns_of([{"question": question, "answer": answer} for question, answer in both])
        return Conversation("", tuple(turns), has_choices) if turns else None
    question = next((name for name in _QUESTIONS if values.get(name) is not None), "")
    answer = next((name for name in _ANSWERS if values.get(name) is not None), "")
    if not question or not answer:
        if rule.needs_answers:
            _check_turns(values)
        return None
    asking = turns_of(values[question])
    if not asking:
        text = values[question] if isinstance(values[question], str) else ""
        more = values.get("input") if question == "instruction" else ""
        asking = [Turn("user", "\n".join(t for t in (text, more) if isinstance(t, str) and t))]
    answering = _answering(values, answer)
    return Conversation("", (*asking, *answering), has_choices) if answering else None


def _check_turns(values: Mapping[str, Any]) -> None:
    """Raises NoPair for a row whose only texts are turns in a form that is not read."""
    if usual_name(values, (*CAPTION_NAMES, *LIST_NAMES)):
        return
    for name in TURN_COLUMNS:
        value = values.get(name)
        if value and (isinstance(value, list | dict) or _begins_as_turns(value)):
            raise NoPair(
                f"The column '{name}' holds no turns of a form that is read: a list of objects "
                "with 'role' and 'content', or with 'from' and 'value', also as JSON. (numpy "
                "prints lists without commas: write the table as JSON lines or Parquet.) If "
                "another column has the captions, name it."
            )


def _answering(values: Mapping[str, Any], name: str) -> list[Turn]:
    """The turns of the answers in a column. A text that only looks like turns is an answer."""
    turns = turns_of(values[name])
    is_written = isinstance(values[name], str)
    if turns and (not is_written or any(turn.is_answer and turn.text for turn in turns)):
        return turns
    return list(_answers(values, name))


def _answers(values: Mapping[str, Any], name: str) -> Iterator[Turn]:
    """The answers in a column: a text, a list of texts or of VQA's records, the number of one of
    the choices."""
    value = values[name]
    choices = next((values[each] for each in _CHOICES if values.get(each)), None)
    if isinstance(value, int) and not isinstance(value, bool):
        is_place = isinstance(choices, list) and 0 <= value < len(choices)
        value = str(choices[value]) if choices and is_place else str(value)
    for each in value if isinstance(value, list) else [value]:
        text = each.get("answer") if isinstance(each, dict) else each
        if isinstance(text, str) and not isinstance(text, EmbeddedImage):
            yield Turn("assistant", text)


def turns_of(value: Any) -> list[Turn]:
    """The turns of a cell; none if it holds something else. Raises NoPair."""
    value = _parsed(value)
    if isinstance(value, dict) and value and all(isinstance(c, list) for c in value.values()):
        lists = value.values()  # a struct of columns
        value = [dict(zip(value, cells, strict=False)) for cells in zip(*lists, strict=False)]
    value = [value] if isinstance(value, dict) else value
    if not isinstance(value, list) or not value or not all(isinstance(t, dict) for t in value):
        return []
    if all("role" in turn or "from" in turn for turn in value):
        return [Turn(_speaker(turn), text_of_turn(turn), turn) for turn in value]
    turns = list[Turn]()
    for each in value:
        question = next((each[n] for n in _QUESTIONS if isinstance(each.get(n), str)), None)
        names = [name for name in _ANSWERS if name in each]
        filled = next((name for name in names if each[name] is not None), "")
        answers = list(_answers(each, filled)) if filled else [Turn("assistant", "")]
        if question is None or not names or not answers:
            return []
        turns += [Turn("user", question), *answers]
    return turns


#: How turns begin that are written as text, also as text in a text.
_WRITTEN_TURNS = re.compile(
    r"""\s*+"?\s*+(?:(?:\[\s*+)?\{\s*+(?:\\?"|')\w++(?:\\?"|')\s*+:|\[\s*+(?:\\?"|'))"""
)


def _begins_as_turns(value: Any) -> bool:
    return isinstance(value, str) and _WRITTEN_TURNS.match(value) is not None


def _parsed(value: Any) -> Any:
    """What a text holds: JSON, also as a text in JSON, or lists and objects that Python printed;
    the value itself if it holds none. Raises NoPair for what begins so and cannot be read."""
    if not _begins_as_turns(value):
        return value
    if len(value) > _LONGEST_JSON:
        raise NoPair(f"A text of {len(value):,} characters is too long to be read as turns.")
    try:
        inner = json.loads(value)
        return json.loads(inner) if isinstance(inner, str) else inner
    except RecursionError:
        return value
    except ValueError:
        return printed_by_python(value.strip()) or value


def _turns_of_texts(value: Any) -> list[Turn]:
    """The turns of a list of texts, questions and answers in turn, also in pairs: the first asks
    for a description or shows the picture, or two or more are questions. Raises NoPair where it is
    uncertain which of them are answers."""
    texts = _parsed(value)
    if isinstance(texts, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in texts):
        texts = list(chain.from_iterable(texts))
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return []
    if not texts:
        return []
    questions = [is_question(text) for text in texts]
    are_in_turn = len(texts) % 2 == 0 and all(questions[::2]) and not any(questions[1::2])
    is_named = len(texts) > 1 and name_speakers(*texts[:2])
    if not is_named and not is_request(texts[0]) and not (are_in_turn and len(texts) > 2):
        return []
    if is_named or not are_in_turn:
        raise NoPair(
            f"There are questions among the texts of this row (“{_shorten(texts[0])}”), and which "
            "of them are answers is uncertain. Write them as turns with 'role' and 'content', or "
            "name the column as that of the captions if all of them are captions."
        )
    speakers = cycle(("user", "assistant"))
    return [Turn(speaker, text) for speaker, text in zip(speakers, texts, strict=False)]


def _speaker(turn: Mapping[str, Any]) -> str:
    return str(turn.get("role") or turn.get("from") or "").strip().lower()


def content_of(turn: Mapping[str, Any]) -> Any:
    return turn.get("content", turn.get("value"))


def _shown_by(part: Any) -> list[Mention]:
    """The pictures that a part shows."""
    if isinstance(part, dict) and part.get("type") in PICTURE_PARTS:
        path = _path_of_part(part)
        return [Mention(part.get("index"), path if isinstance(path, str) else "")]
    text = part if isinstance(part, str) else part.get("text")
    return Turn("", text).shown if isinstance(text, str) else []


def text_of_turn(turn: Mapping[str, Any]) -> str:
    """The text of a turn, with the mark of a picture for each among its parts."""
    content = content_of(turn)
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, dict | str) for part in content):
        texts = (part if isinstance(part, str) else _text_of_part(part) for part in content)
        return "\n".join(text for text in texts if text is not None)
    raise NoPair("A turn of the conversation holds neither text nor a list of parts.")


def _text_of_part(part: Mapping[str, Any]) -> str | None:
    if part.get("type") in PICTURE_PARTS:
        return MARK
    return part["text"] if isinstance(part.get("text"), str) else None


def pairs_in(
    values: dict[str, Any], conversation: Conversation, rule: AnswerRule
) -> Iterator[tuple[Any, list[Exchange]]]:
    """The pictures of the row, each with the exchanges whose answers are its captions. Raises
    NoPair if it has none."""
    if not conversation.exchanges:
        column = conversation.column or "this row"
        raise NoPair(f"The conversation in '{column}' holds no answer of an assistant.")
    images = images_in(values)
    captions = rule.captions(conversation)
    if not captions:
        question = _shorten(conversation.exchanges[0].question)
        raise NoPair(
            f"No question of this row asks for a description of the picture: “{question}”. State "
            "which questions do, or take all answers."
        )
    if len(images) <= 1:
        yield single_image(images), captions
        return
    by_turn = _pictures_by_turn(conversation, images)
    if not by_turn:
        raise NoPair(f"This row shows {len(images)} images; a pair has one.")
    for number, image in enumerate(images):
        about = [each for each in captions if _picture_of(each, by_turn) == number]
        if about:
            yield image, about
    if any(_picture_of(each, by_turn) is None for each in captions):
        raise NoPair("An answer of this row is about several images; a pair has one.")


def _pictures_by_turn(conversation: Conversation, images: Sequence[Any]) -> list[list[int]]:
    """The pictures that each turn shows, from 0: by their files where each mention names one, else
    by their numbers where each has one, else in order; marks in answers are words. None of them
    where it is uncertain which pictures are shown. Raises NoPair if files and numbers or the order
    contradict each other."""
    shown = [[] if _is_answer_in_words(turn) else turn.shown for turn in conversation.turns]
    numbers = [mention.number for mentions in shown for mention in mentions]
    files = [_place_of_file(each.path, images) for mentions in shown for each in mentions]
    places = _places_of_numbers(numbers, len(images))
    is_ordered = all(number is None for number in numbers)
    if files and None not in files and (is_ordered or not places):
        places = files
    if any(file not in (None, place) for file, place in zip(files, places, strict=False)):
        raise NoPair("The turns of this row name other files of pictures than their numbers do.")
    in_turn = iter(place for place in places if place is not None)
    return [[next(in_turn) for _ in mentions] for mentions in shown] if places else []


def _is_answer_in_words(turn: Turn) -> bool:
    return turn.is_answer and not isinstance(content_of(turn.source), list)


def _places_of_numbers(numbers: Sequence[int | None], count: int) -> Sequence[int | None]:
    """The pictures of mentions with these numbers, which may be counted from 0 or 1, or in order;
    none where it is uncertain."""
    named = {number for number in numbers if number is not None}
    if len(numbers) == count and not named:
        return range(count)
    first = min(named, default=0)
    if None in numbers or first > 1 or named != set(range(first, first + count)):
        return []
    return [number - first for number in numbers if number is not None]


def _place_of_file(path: str, images: Sequence[Any]) -> int | None:
    """Which of the pictures the file is, by its path, else by its name; None if it is none of them
    or several."""
    for name_of in (str, file_name_of):
        places = [n for n, image in enumerate(images) if path and name_of(image) == name_of(path)]
        if places:
            return places[0] if len(places) == 1 else None
    return None


def file_name_of(path: Any) -> str:
    return str(path).replace("\\", "/").rpartition("/")[2]


def _picture_of(exchange: Exchange, by_turn: Sequence[list[int]]) -> int | None:
    """The picture that the question shows, or the only one so far; None if there are several."""
    for turns in (by_turn[exchange.start : exchange.place], by_turn[: exchange.place]):
        if pictures := {number for numbers in turns for number in numbers}:
            return pictures.pop() if len(pictures) == 1 else None
    return None


def images_in(values: Mapping[str, Any]) -> list[Any]:
    """The images named by the row or, if there are none, by the parts of its turns."""
    for name in ("images", "image"):
        value = values.get(name)
        if value is not None and value != []:
            return [image_path(image) for image in (value if isinstance(value, list) else [value])]
    for name in IMAGE_NAMES:
        if isinstance(values.get(name), str) and values[name]:
            return [values[name]]
    turns = (turn for name in (*TURN_COLUMNS, "prompt") for turn in turns_of(values.get(name)))
    contents = (turn.source.get("content") for turn in turns)
    parts = (part for content in contents if isinstance(content, list) for part in content)
    dicts = (part for part in parts if isinstance(part, dict))
    return [path for part in dicts if (path := _path_of_part(part))]


def _path_of_part(part: Mapping[str, Any]) -> Any:
    """As image_path, of a part; None if it has none."""
    names = ("image", "image_url", "path", "source")
    path = next((part[name] for name in names if part.get(name)), None)
    return image_path(path) if path else None


def image_path(value: Any) -> Any:
    """The path of an image, or the picture itself as text, which may be in an object."""
    if isinstance(value, dict):
        names = ("path", "url", "file_name", "data")
        value = next((value[name] for name in names if value.get(name)), "")
    if isinstance(value, str) and value.startswith("file://"):
        return type(value)(value.removeprefix("file://"))
    return value


def single_image(images: list[Any]) -> Any:
    if not images:
        raise NoPair("This row does not name an image.")
    if len(images) > 1:
        raise NoPair(f"This row shows {len(images)} images; a pair has one.")
    return images[0]
