"""DetailVerifyBench (Wang et al. 2026): captions of over 200 words, hallucinations marked in them.

Sentences are judged, and words within the wrong ones. Three forms of its JSONL are read, as in its
authors' `alter_data_format.py`: marked by people (`description_tag`), and two in which errors were
put in (`description_tag` with `image_path`, `hallucinated_description`).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backend.engine.claims.sentences import sentences_of
from backend.errors import DatasetFormatError
from research.benchmarks.benchmark import (
    Benchmark,
    Content,
    Item,
    Pictures,
    PublishedFigure,
    check_fields,
    read_json_lines,
    word_indices,
)

_TITLE = "DetailVerifyBench"
_TAG = re.compile(r"</?HALLUCINATION>", re.IGNORECASE)
_SOURCE = "data/leaderboard.json of github.com/zyx-hhnkh/DetailVerifyBench"


def _read(path: Path, pictures: Pictures) -> Content:
    entries = check_fields(read_json_lines(path, _TITLE), {}, path, _TITLE)
    lacking = [number for number, entry in enumerate(entries)
               if not _tag(entry) or not _names(entry)]  # fmt: skip
    if lacking:
        raise DatasetFormatError(
            f"'{path}' is not a file of {_TITLE}, or another version of it: {len(lacking):,} of "
            f"{len(entries):,} entries lack description_tag or hallucinated_description, or "
            f"filename or image_path; entry {lacking[0]} first."
        )
    items: list[Item] = []
    for entry in entries:
        names = _names(entry)
        if (picture := pictures.find(*names)) is None:
            continue
        text, wrong = _untag(_tag(entry))
        kind = str(entry.get("category") or "")
        for index, claim in enumerate(sentences_of(text)):
            sentence = claim.of(text)
            words = word_indices(sentence, [(a - claim.start, b - claim.start) for a, b in wrong])
            items.append(
                Item(f"{names[0]}:{index}", picture, sentence, bool(words), kind, names[0], words)
            )
    return Content(items)


def _tag(entry: Mapping[str, Any]) -> str:
    return str(entry.get("description_tag") or entry.get("hallucinated_description") or "")


def _names(entry: Mapping[str, Any]) -> list[str]:
    if name := entry.get("filename"):
        return [f"{entry.get('category', '')}/{name}".lstrip("/"), str(name)]
    path = str(entry.get("image_path") or "")
    return [path.removeprefix("./"), Path(path).name] if path else []


def _untag(markup: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and where they were.

    >>> _untag("A <Hallucination>red</Hallucination> dog")
    ('A red dog', [(2, 5)])
    """
    text, spans, start, last = "", [], 0, 0
    for mark in _TAG.finditer(markup):
        text += markup[last : mark.start()]
        if mark.group().startswith("</"):
            spans.append((start, len(text)))
        else:
            start = len(text)
        last = mark.end()
    return text + markup[last:], spans


DETAILVERIFYBENCH = Benchmark(
    "detailverifybench", _TITLE, "its JSONL, such as test_gt_withtag.jsonl",
    "github.com/zyx-hhnkh/DetailVerifyBench, alter_data_format.py", _read,
    cited_for=("F1 by word", "F1", "AUC"),
    published=(
        PublishedFigure("GPT-5.4, real errors", "F1 by word, mean of captions", 0.07, _SOURCE),
        PublishedFigure("Gemini-3.1-Pro-Preview, real errors", "F1 by word, mean of captions", 0.12,
                  _SOURCE),
        PublishedFigure("GPT-5.4, injected errors", "F1 by word, mean of captions", 0.45, _SOURCE),
        PublishedFigure(
            "Gemini-3.1-Pro-Preview, injected errors", "F1 by word, mean of captions", 0.66, _SOURCE
        ),
    ),
)  # fmt: skip
