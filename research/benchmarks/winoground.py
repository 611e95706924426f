"""Winoground (Thrush et al., CVPR 2022): two pictures and two captions of the same words."""

from pathlib import Path

from research.benchmarks.benchmark import (
    Benchmark,
    Comparison,
    Content,
    Item,
    Pictures,
    check_fields,
    read_json_lines,
)

_TITLE = "Winoground"
_SIDES = ("0", "1")


def _read(path: Path, pictures: Pictures) -> Content:
    fields: dict[str, type | tuple[type, ...]] = {"id": int}
    fields |= {f"{name}_{side}": str for name in ("image", "caption") for side in _SIDES}
    items: list[Item] = []
    comparisons: list[Comparison] = []
    for entry in check_fields(read_json_lines(path, _TITLE), fields, path, _TITLE):
        names = [entry[f"image_{side}"] for side in _SIDES]
        found_pictures = [pictures.find(f"{name}.png", f"images/{name}.png", name)
                          for name in names]  # fmt: skip
        if None in found_pictures:
            continue
        group, kind = str(entry["id"]), str(entry.get("collapsed_tag") or "")
        row: dict[tuple[str, str], int] = {}
        for side, picture in zip(_SIDES, found_pictures, strict=True):
            for text in _SIDES:
                assert picture is not None
                row[side, text] = len(items)
                items.append(
                    Item(f"{group}:{side}:{text}", picture, entry[f"caption_{text}"], side != text,
                         kind, group)
                )  # fmt: skip
        by_text = ((row["0", "0"], row["0", "1"]), (row["1", "1"], row["1", "0"]))
        by_image = ((row["0", "0"], row["1", "0"]), (row["1", "1"], row["0", "1"]))
        comparisons += [
            Comparison(group, orders, kind, figure)
            for figure, orders in (
                ("text score", by_text), ("image score", by_image),
                ("group score", by_text + by_image),
            )
        ]  # fmt: skip
    return Content(items, comparisons)


WINOGROUND = Benchmark(
    "winoground", _TITLE, "examples.jsonl", "huggingface.co/datasets/facebook/winoground", _read,
    cited_for=("text score", "image score", "group score", "AUC"),
)  # fmt: skip
