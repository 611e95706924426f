"""A cache of answers in a folder: one file each, named by a hash of the whole question."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backend.engine.language_models.question import Answer, Question


@dataclass(frozen=True)
class AnswerCache:
    """`folder`: None disables the cache; `who`: everything that identifies the model."""

    folder: Path | None
    who: dict[str, str]

    def read(self, question: Question) -> Answer | None:
        path = self._path(question)
        try:
            value: Any = json.loads(path.read_text("utf-8")) if path is not None else None
            return None if value is None else Answer(**(value | {"kept": True}))
        except (OSError, ValueError, TypeError):
            return None  # missing or unreadable: a cache miss

    def write(self, question: Question, answer: Answer) -> None:
        path = self._path(question)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".part-{os.getpid()}")
        beside.write_text(json.dumps(asdict(answer), ensure_ascii=False), "utf-8")
        beside.replace(path)

    def _path(self, question: Question) -> Path | None:
        if self.folder is None:
            return None
        key_fields: dict[str, Any] = {**self.who, **asdict(question)}
        key_fields.pop("schema")  # implied by the prompt, and not sent to every server
        if not question.alternatives:  # answers from before questions had them stay valid
            key_fields.pop("alternatives")
        image = key_fields.pop("image")
        if image is not None:
            key_fields["image"] = hashlib.sha256(image).hexdigest()
        key = json.dumps(key_fields, sort_keys=True, ensure_ascii=True)
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
