"""Samples of a tar: which of the files that share a name are its picture, its caption and its
metadata, and what is wrong with a sample where that is uncertain."""

import json
import tarfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from backend.datasets.cells import EmbeddedImage, json_object, trim
from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.read_options import CAPTIONS, PICTURES, UNREADABLE_PICTURES
from backend.datasets.reading.caption_texts import TextReader
from backend.datasets.reading.conversations import TURN_COLUMNS
from backend.datasets.reading.json_captions import (
    beside_text,
    caption_field,
    one_field,
    read_of_metadata,
    written_object,
)
from backend.datasets.reading.sample_fields import (
    NAMED_LIKE_CAPTIONS,
    SampleChoice,
    SampleField,
)
from backend.datasets.safe_files.containers import SEPARATOR, tar_member
from backend.datasets.safe_files.images import unreadable_picture
from backend.errors import DatasetFormatError
from db.texts import compose

#: Maximum bytes of a sample's caption or metadata; larger members are not read.
MOST_TEXT = 4_000_000
#: Maximum number of members of a tar that are taken together as one key's samples.
MOST_MEMBERS = 1000
#: Members by which is told whether texts with names of their own are of kinds.
_MOST_AHEAD = 10_000
#: Names of texts that a message lists.
_LISTED = 20


@dataclass(frozen=True)
class TarMember:
    """A file in a tar. `key`: its name up to the first dot, `stem`: up to the last one, `ending`:
    the rest after the key, all in normal form C; `text`: the content of a text, else None;
    `text_id`: what it is in `TextTars` if it comes from a tar of texts."""

    name: str
    key: str
    stem: str
    ending: str
    address: EmbeddedImage
    text: bytes | None
    text_id: int = 0

    @property
    def suffix(self) -> str:
        """For `k.image.jpg` and `k.caption.txt` the last extension counts."""
        return PurePosixPath(self.ending).suffix or self.ending

    @property
    def is_picture(self) -> bool:
        return self.suffix in PICTURES

    def continues(self, group: "list[TarMember]") -> bool:
        """Whether this member may belong to the sample of the members before it. `k.01.jpg` and
        `k.01.txt` are a sample of their own; what follows under another stem begins the next."""
        first = group[0]
        return self.key == first.key and (
            self.stem == group[-1].stem
            or first.stem == first.key
            or len({member.stem for member in group}) > 1
            or not has_picture_and_text(group)
        )


def has_picture_and_text(group: list[TarMember]) -> bool:
    is_there = any(member.is_picture for member in group)
    return is_there and any(member.text is not None for member in group)


def _parts(member: str) -> tuple[str, str, str]:
    """Key, stem and ending of a member's name, as in `TarMember`."""
    member = member.replace("\\", "/")
    name = PurePosixPath(member)
    before, dot, rest = name.name.partition(".")
    key, ending = str(name.with_name(before)) if before else member, f"{dot}{rest}".lower()
    return key, str(name.with_suffix("")) if name.suffix and ending else key, ending


def read_member(
    path: Path, archive: tarfile.TarFile, entry: tarfile.TarInfo, endings: Collection[str]
) -> TarMember:
    """`endings`: of the members whose text is read."""
    key, stem, ending = _parts(compose(entry.name))
    inner = tar_member(entry.offset_data, entry.size, entry.name)
    text = None
    last = PurePosixPath(ending).suffix or ending
    if (last in endings or ending in endings) and entry.size <= MOST_TEXT:
        file = archive.extractfile(entry)
        text = file.read() if file is not None else b""
    address = EmbeddedImage(f"{path.name}{SEPARATOR}{inner}")
    return TarMember(entry.name, key, stem, ending, address, text)


class CaptionEndings:
    """Keeps captions to one kind of texts where `k.en.txt` and `k.de.txt` stand in different
    samples: the kind of the first one that is read. Names that do not come again are no kinds:
    their texts are read, which is noted."""

    def __init__(self) -> None:
        self._first: TarMember | None = None
        self._kind = self._picture = ""
        #: The first text's name behind its key; how many texts had each until now, and have in
        #: what follows of this tar, which is looked at when it is first asked for.
        self._name = ""
        self._before, self._ahead = Counter[str](), Counter[str]()
        self._members: Callable[[], Iterator[TarMember]] | None = None
        self._is_noted = False

    def begin_tar(self, members: Callable[[], Iterator[TarMember]]) -> None:
        """`members`: of the tar whose samples are checked next."""
        self._members, self._ahead = members, Counter()

    def _comes_again(self, *names: str) -> bool:
        if self._members is not None:
            members, self._members = self._members, None
            with suppress(ValueError):  # damage is reported where it is reached
                texts = (m for m in islice(members(), _MOST_AHEAD) if m.suffix in CAPTIONS)
                self._ahead.update(_name_behind(text, text.key) for text in texts)
        return any(counts[name] > 1 for counts in (self._before, self._ahead) for name in names)

    def check(
        self, picture: TarMember | None, text: TarMember, is_only: bool, note: Callable[[str], None]
    ) -> None:
        """`is_only`: the sample has no other text. Raises DatasetFormatError for a text of another
        kind. Where pictures have names of several kinds too, these are no kinds of captions."""
        of_picture = _letters(picture.stem[len(picture.key) :]) if picture else ""
        start = picture.stem if picture and text.stem.startswith(picture.stem) else text.key
        name = _name_behind(text, start)
        kind = _letters(name)
        if self._first is None:
            self._first, self._kind, self._picture, self._name = text, kind, of_picture, name
        if name in self._before or len(self._before) < MOST_MEMBERS:
            self._before[name] += 1
        if kind == self._kind:
            return
        first, own = (trim(ending, 40) for ending in (self._first.ending, text.ending))
        are_kinds = of_picture == self._picture
        if are_kinds and (not is_only or self._comes_again(name, self._name)):
            others = {own}
            if is_only:
                names = islice(filter(None, self._before | self._ahead), _LISTED)
                others |= {trim(f"{name}{text.suffix}", 40) for name in names}
            every = [first, *sorted(others - {first})]
            raise DatasetFormatError(
                f"The caption of the sample '{trim(text.key, 80)}' is in '*{own}', the first one "
                f"in '*{first}'. Name the one that is meant as the column with captions, or name "
                "all of them, each as a separate author: "
                f"{','.join(ending.removeprefix('.') for ending in every)}."
            )
        if not self._is_noted:
            self._is_noted = True
            note(f"Captions are in texts of several endings ('*{first}', '*{own}'), one a sample.")


def _name_behind(text: TarMember, start: str) -> str:
    """What the name of a text has behind this beginning; "" if that says no kind."""
    name = text.stem[len(start) :].lower()
    is_plain = name in PICTURES or name.removeprefix(".") in CAPTION_NAMES
    return "" if is_plain or not _letters(name) else name


def _letters(name: str) -> str:
    """What a part of a name says, without its marks and numbers."""
    return "".join(filter(str.isalpha, name))


def samples_of(
    group: list[TarMember], texts: TextReader, choice: SampleChoice, endings: CaptionEndings
) -> Iterator[dict[str, Any] | str]:
    """The columns of each sample among consecutive members of one key, or the problem with it."""
    key = trim(group[0].key, 80)
    if len(group) > MOST_MEMBERS:
        yield (
            f"More than {MOST_MEMBERS:,} files are named '{key}' up to the first dot, and which "
            "text belongs to which picture is uncertain. Rename them."
        )
        return
    names = [member.ending for member in group]
    period = next((n for n, name in enumerate(names) if name in names[:n]), len(names))
    if names != names[:period] * (len(names) // period):
        twice = ", ".join(dict.fromkeys(trim(member.name, 80) for member in group[:6]))
        yield (
            f"Files of the sample '{key}' occur twice ({twice}), and which text belongs to which "
            "picture is uncertain. Give every sample a name of its own."
        )
        return
    for start in range(0, len(group), period):
        sample = group[start : start + period]
        try:
            yield _columns(sample, texts, choice, endings)
        except DatasetFormatError as problem:
            yield str(problem)
        except (ValueError, RecursionError) as problem:
            yield f"The text of the sample '{key}' is broken: {problem}."


def _columns(
    sample: list[TarMember], texts: TextReader, choice: SampleChoice, endings: CaptionEndings
) -> dict[str, Any]:
    """The columns of one sample. Raises DatasetFormatError if its picture or its text is uncertain,
    or is missing, and ValueError if a text is broken."""
    picture = _picture(sample, texts.note, choice)
    metadata = _only([m for m in sample if m.suffix == ".json" and m.text is not None
                      and not _is_caption_file(m, choice)],
                     "metadata files", texts.note)  # fmt: skip
    text = texts.decode(metadata.text or b"", _short_name(metadata)) if metadata else "{}"
    values = json_object(text)
    caption = _caption(sample, values, texts, choice, partial(endings.check, picture))
    if "caption" in caption:
        values = beside_text(values, caption["caption"], texts.note)
    else:
        values = {**values, **caption}
    if "id" not in values:
        key, stem, _ = _parts(sample[0].name)
        values["__key__"] = stem if len({member.stem for member in sample}) == 1 else key
    return {**values, "image": picture.address if picture else ""}


def _short_name(member: TarMember) -> str:
    return f"{trim(member.key, 80)}{member.ending}"


def _picture(
    sample: list[TarMember], note: Callable[[str], None], choice: SampleChoice
) -> TarMember | None:
    for field in choice.picture_fields:
        if member := next((m for m in sample if m.ending == field.ending and m.is_picture), None):
            return member
    picture = _only([m for m in sample if m.is_picture], "pictures", note)
    if picture is None and (other := [m for m in sample if m.suffix in UNREADABLE_PICTURES]):
        raise DatasetFormatError(unreadable_picture(other[0].name))
    return picture


def _is_caption_file(member: TarMember, choice: SampleChoice) -> bool:
    """Whether it was chosen as the file of captions, such as `.detail.json` beside `.json`."""
    return member.ending != ".json" and any(
        f.ending == member.ending for f in choice.caption_fields
    )


def _caption(
    sample: list[TarMember], values: dict[str, Any], texts: TextReader, choice: SampleChoice,
    check: Callable[[TarMember, bool, Callable[[str], None]], None],
) -> dict[str, Any]:  # fmt: skip
    """The column with the caption; empty if it is one of `values`. `check`: the file with it, where
    that was detected. Raises as `_columns`."""
    for field in choice.caption_fields:
        member = next((m for m in sample if m.ending == field.ending and m.text is not None), None)
        if member is None:
            continue
        value = _chosen_value(member, field, values, texts)
        if value is not None:
            return {choice.captions: value}
    if choice.captions:
        if choice.captions in values or choice.may_lack_captions:
            return {}
        raise DatasetFormatError(_no_caption(sample, values, choice))
    captions = [m for m in sample if m.text is not None and m.suffix in CAPTIONS]
    if not captions and not any(name.lower() in CAPTION_NAMES for name in values):
        captions = [m for m in sample if m.text is not None and m.suffix in NAMED_LIKE_CAPTIONS]
    if len({member.text for member in captions}) == 1:
        captions = captions[:1]
    caption = _only(captions, "texts", texts.note)
    if caption is not None:
        check(caption, len(captions) == 1, texts.note)
        return {"caption": texts.captions(caption.text or b"", _short_name(caption))}
    if any(name.lower() in (*CAPTION_NAMES, *TURN_COLUMNS) for name in values):
        return {}
    if field := caption_field(values):
        texts.note(read_of_metadata(field))
        return {"caption": one_field({field: values.pop(field)}, field)}
    if choice.may_lack_captions or not any(member.is_picture for member in sample):
        return {"caption": ""}
    raise DatasetFormatError(_no_caption(sample, values, choice))


def _chosen_value(
    member: TarMember, field: SampleField, values: dict[str, Any], texts: TextReader
) -> Any:
    """What a chosen field holds in its file; None if the file has no such value. A value of the
    sample's own JSON is moved out of `values`."""
    if not field.path and member.suffix != ".json":
        return texts.captions(member.text or b"", _short_name(member))
    text = texts.decode(member.text or b"", _short_name(member))
    document = written_object(text) or json.loads(text)
    value = field.value_in(document)
    if value is not None and len(field.path) == 1 and member.ending == ".json":
        values.pop(field.path[0], None)
    return value


def _no_caption(sample: list[TarMember], values: dict[str, Any], choice: SampleChoice) -> str:
    """Which sample lacks a caption, what lies beside its picture, and what to do."""
    others = [f"'{trim(m.ending, 40)}'" for m in sample if not m.is_picture][:10]
    fields = [f"'json[{trim(name, 40)}]'" for name in values][:20]
    lack = f"no '{trim(choice.captions)}'" if choice.captions else "no caption"
    key = trim(sample[0].key, 80)
    if not others:
        return (
            f"The sample '{key}' has {lack}: no text has the name of its picture, its folder "
            "included, in this tar or in tars of texts. If other tars hold the texts, import the "
            "folder that all of them are in, with the same names for a picture and its text."
        )
    return (
        f"The sample '{key}' has {lack}. Beside its picture: {', '.join((*others, *fields))}. If "
        f"one of them holds it, name that as the column with captions: {(fields or others)[0]}."
    )


def _only(members: list[TarMember], what: str, note: Callable[[str], None]) -> TarMember | None:
    """The one member, or the one with a plain ending (`k.jpg` beside `k.mask.jpg`); None if there
    is none. Raises DatasetFormatError if several remain."""
    plain = [member for member in members if member.stem == member.key] or members
    if len(plain) > 1:
        names = ", ".join(f"'{trim(member.name, 80)}'" for member in plain[:4])
        ending = trim(plain[0].ending.removeprefix("."), 40)
        is_choice = what == "texts" and plain[0].ending != plain[1].ending
        remedy = "give every pair a name of its own"
        if is_choice:
            remedy = f"name the ending of those with captions as their column: {ending}"
        raise DatasetFormatError(
            f"This sample has several {what} ({names}), and which of them is meant is uncertain. "
            f"Keep one, or {remedy}."
        )
    for member in members:
        if member is not plain[0]:
            note(f"Files '*{trim(member.ending, 80)}' are left out: their samples have a "
                 f"'*{plain[0].ending}'.")  # fmt: skip
    return plain[0] if plain else None
