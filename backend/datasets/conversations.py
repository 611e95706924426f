"""Convert conversations about images to plain rows of an image and a caption.

* LLaVA: `image` and `conversations`, a list of turns with `from` and `value`.
* TRL, LLaMA-Factory and chat APIs: `images` (or `image`) and `messages`, a list of turns with
  `role` and `content`, which is text or a list of parts; or `prompt` and `completion`.
* Data-Juicer: `images` and a `text` with a special token for each image and for each chunk's end.

The assistant's answers become captions of the image. The source's own columns are kept in addition
to the derived ones.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from backend.datasets.columns import IMAGE_NAMES
from backend.datasets.rows import TableRow

#: Data-Juicer's special tokens (data_juicer/utils/mm_utils.py: SpecialTokens).
_DJ_IMAGE, _DJ_END = "<__dj__image>", "<|__dj__eoc|>"
_TURNS = ("conversations", "conversation", "messages")
_ASSISTANTS = ("assistant", "gpt", "model", "bot")
_ANSWERS = ("completion", "chosen", "response", "answer")


def plain_rows(rows: Iterable[TableRow], caption_column: str | None = None) -> Iterator[TableRow]:
    """The rows, with known conversation formats converted to columns `image` and `caption`; one row
    may become several. `caption_column`: if given and present, conversations are not converted.

    A row that is not one image with a text becomes a row with a problem.
    """
    for row in rows:
        if row.values is None:
            yield row
            continue
        try:
            yield from _plain(row, row.values, caption_column)
        except _NoPair as problem:
            yield TableRow(row.number, None, str(problem))


class _NoPair(ValueError):
    """Raised if a row is not one image with a text; the message says why."""


def _plain(row: TableRow, values: dict[str, Any], given: str | None) -> Iterator[TableRow]:
    if _is_data_juicer(values):
        yield from _data_juicer(row, values)
        return
    has_caption = given in values if given else "caption" in values or "captions" in values
    answers = None if has_caption else _answers(values)
    if answers is None:
        # The row may still have a list of images with an ordinary caption.
        if not _lists_images(values):
            yield row
            return
        made: dict[str, Any] = {"image": _single_image(_images(values))}
    else:
        made = {"image": _single_image(_images(values))}
        made["caption"] = answers[0] if len(answers) == 1 else answers
    rest = {key: value for key, value in values.items() if key not in ("image", "images")}
    yield TableRow(row.number, {**rest, **made})


def _lists_images(values: dict[str, Any]) -> bool:
    usual = {name for name in values if name.strip().lower() in IMAGE_NAMES}
    if not usual:
        return isinstance(values.get("images"), list)
    return usual == {"image"} and isinstance(values["image"], list)


def _answers(values: dict[str, Any]) -> list[str] | None:
    """The assistant's answers; None if the row is not a conversation. Raises _NoPair if a
    conversation has no answer."""
    for name in _TURNS:
        turns = values.get(name)
        if isinstance(turns, list) and all(isinstance(turn, dict) for turn in turns):
            answers = [_text(turn) for turn in turns if _speaker(turn) in _ASSISTANTS]
            if not answers:
                raise _NoPair(f"The conversation in '{name}' holds no answer of an assistant.")
            return answers
    if "prompt" in values:
        for name in _ANSWERS:
            answer = values.get(name)
            if isinstance(answer, str):
                return [answer]
            if isinstance(answer, list) and all(isinstance(turn, dict) for turn in answer):
                return [_text(turn) for turn in answer if _speaker(turn) in _ASSISTANTS] or None
    return None


def _speaker(turn: dict[str, Any]) -> str:
    return str(turn.get("role") or turn.get("from") or "").strip().lower()


def _text(turn: dict[str, Any]) -> str:
    content = turn.get("content", turn.get("value"))
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, dict | str) for part in content):
        texts = (part if isinstance(part, str) else part.get("text") for part in content)
        return "\n".join(text for text in texts if isinstance(text, str))
    raise _NoPair("A turn of the conversation holds neither text nor a list of parts.")


def _images(values: dict[str, Any]) -> list[Any]:
    """The images named by the row or, if there are none, by the parts of its turns."""
    for name in ("images", "image"):
        value = values.get(name)
        if value is not None and value != []:
            return [_path(image) for image in (value if isinstance(value, list) else [value])]
    for name in IMAGE_NAMES:
        if isinstance(values.get(name), str) and values[name]:
            return [values[name]]
    turns = next((values[name] for name in (*_TURNS, "prompt") if name in values), None)
    parts = (
        part
        for turn in (turns if isinstance(turns, list) else [])
        if isinstance(turn, dict) and isinstance(turn.get("content"), list)
        for part in turn["content"]
        if isinstance(part, dict)
    )
    named = (part.get("image") or part.get("image_url") or part.get("path") for part in parts)
    return [_path(path) for path in named if path]


def _path(value: Any) -> Any:
    """The path of an image, which may be given as an object with a path or a URL."""
    if isinstance(value, dict):
        value = value.get("path") or value.get("url") or value.get("file_name") or ""
    if isinstance(value, str) and value.startswith("file://"):
        return type(value)(value.removeprefix("file://"))
    return value


def _single_image(images: list[Any]) -> Any:
    if not images:
        raise _NoPair("This row does not name an image.")
    if len(images) > 1:
        raise _NoPair(f"This row shows {len(images)} images; a pair has one.")
    return images[0]


def _is_data_juicer(values: dict[str, Any]) -> bool:
    text = values.get("text")
    return (
        isinstance(text, str)
        and isinstance(values.get("images"), list)
        and (_DJ_IMAGE in text or _DJ_END in text)
    )


def _data_juicer(row: TableRow, values: dict[str, Any]) -> Iterator[TableRow]:
    """One pair per chunk: the n-th image token in the text refers to the n-th image."""
    images = [_path(image) for image in values["images"]]
    chunks = [chunk for chunk in values["text"].split(_DJ_END) if chunk.strip()]
    marks = sum(chunk.count(_DJ_IMAGE) for chunk in chunks)
    if marks != len(images):
        raise _NoPair(
            f"Its text has {marks} image marks ({_DJ_IMAGE}), but its list has {len(images)} "
            "images."
        )
    rest = {key: value for key, value in values.items() if key not in ("images", "text")}
    place = 0
    for number, chunk in enumerate(chunks):
        count = chunk.count(_DJ_IMAGE)
        shown, place = images[place : place + count], place + count
        made = {**rest, "text": chunk.replace(_DJ_IMAGE, "").strip()}
        if len(chunks) > 1 and rest.get("id") is not None:
            made["id"] = f"{rest['id']}#{number}"
        if count == 1:
            yield TableRow(row.number, {**made, "image": shown[0]})
        else:
            yield TableRow(
                row.number, None,
                f"Piece {number + 1} of its text shows {count} images; a pair has one.",
            )  # fmt: skip
