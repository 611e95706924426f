"""M-HalDetect (Gunjal et al., AAAI 2024): answers of a model, with their wrong passages marked.

Sentences are judged, as in HalDec-Bench: wrong where a passage marked INACCURATE touches them.
Sentences of which nothing was marked, or which are analysis or unsure only, are no evidence of
either and are counted in the report.
"""

from pathlib import Path

from backend.datasets.cells import trim
from backend.engine.claims.sentences import sentences_of
from backend.errors import DatasetFormatError
from research.benchmarks.benchmark import (
    Benchmark,
    Content,
    Item,
    Pictures,
    PublishedFigure,
    check_fields,
    read_json,
    word_indices,
)

_TITLE = "M-HalDetect"
_WRONG, _RIGHT = "INACCURATE", "ACCURATE"


def _read(path: Path, pictures: Pictures) -> Content:
    whole = read_json(path, _TITLE)
    if not isinstance(whole, list):
        raise DatasetFormatError(
            f"'{path}' is not a file of {_TITLE}: no list. Its files are train_raw.json and "
            "val_raw.json."
        )
    entries = check_fields(
        whole, {"image": str, "response": str, "annotations": list}, path, _TITLE
    )
    items: list[Item] = []
    unclear = sentences = 0
    for number, entry in enumerate(entries):
        name = entry["image"]
        picture = pictures.find(name, f"val2014/{name}")
        if picture is None:
            continue
        text = entry["response"]
        spans = _spans(text, entry["annotations"], f"entry {number} of '{path}'")
        for index, claim in enumerate(sentences_of(text)):
            sentences += 1
            labels = {label for start, end, label in spans
                      if start < claim.end and claim.start < end}  # fmt: skip
            if not labels & {_WRONG, _RIGHT}:
                unclear += 1
                continue
            sentence = claim.of(text)
            wrong = [(start - claim.start, end - claim.start) for start, end, label in spans
                     if label == _WRONG]  # fmt: skip
            items.append(
                Item(f"{number}:{index}", picture, sentence, _WRONG in labels,
                     "first two sentences" if index < 2 else "later sentences", name,
                     word_indices(sentence, wrong))
            )  # fmt: skip
    notes = [f"{unclear:,} of {sentences:,} sentences are marked neither right nor wrong: they are "
             "not judged."] if unclear else []  # fmt: skip
    return Content(items, notes=notes)


def _spans(text: str, annotations: list[object], where: str) -> list[tuple[int, int, str]]:
    """(start, end, label) of each annotation, which has to quote the text that it marks."""
    spans = []
    for mark in annotations:
        try:
            start, end, label, quote = (mark[k] for k in ("start", "end", "label", "text"))  # type: ignore[index]
        except (TypeError, KeyError) as problem:
            raise DatasetFormatError(
                f"{where} is not of {_TITLE}: an annotation needs start, end, label and text."
            ) from problem
        if text[start:end] != quote:
            raise DatasetFormatError(
                f"{where}: characters {start} to {end} of the answer are not "
                f"'{trim(str(quote))}', which they are said to be."
            )
        spans.append((int(start), int(end), str(label)))
    return spans


MHALDETECT = Benchmark(
    "mhaldetect", _TITLE, "val_raw.json", "github.com/hendryx-scale/mhal-detect", _read,
    cited_for=("AUC", "average precision", "F1", "F1 by word"),
    published=(PublishedFigure("Qwen2.5-VL-7B", "AUC", 0.787, "HalDec-Bench, arXiv:2603.15253"),),
)  # fmt: skip
