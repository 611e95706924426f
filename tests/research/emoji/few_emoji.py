"""A few emoji in every style, as `sets.fetch` stores them: coloured squares with real names."""

import json
from pathlib import Path
from typing import Any

from PIL import Image

from research.emoji.sets import NAMES, STYLES

_COOKS = {"man": "1F468-200D-1F373", "woman": "1F469-200D-1F373"}
_TONES = {1: ("light", "1F3FB"), 5: ("dark", "1F3FF")}
_OTHERS = {
    "cat face": ("1F431", 3, 34), "dog face": ("1F436", 3, 34), "red heart": ("2764-FE0F", 0, 14),
    "blue heart": ("1F499", 0, 14), "red apple": ("1F34E", 4, 42), "pizza": ("1F355", 4, 43),
    "flag: Peru": ("1F1F5-1F1EA", 9, 98), "flag: Togo": ("1F1F9-1F1EC", 9, 98),
}  # fmt: skip


def write_sets(folder: Path) -> Path:
    entries: list[dict[str, Any]] = [
        {"label": "light skin tone", "hexcode": "1F3FB", "group": 2, "subgroup": 32}
    ]
    for name, (code, group, subgroup) in _OTHERS.items():
        entries.append({"label": name, "hexcode": code, "group": group, "subgroup": subgroup})
    for who, code in _COOKS.items():
        first, rest = code.split("-", 1)
        skins = [
            {
                "label": f"{who} cook: {word} skin tone",
                "hexcode": f"{first}-{point}-{rest}",
                "tone": tone,
            }
            for tone, (word, point) in _TONES.items()
        ]
        entries.append(
            {"label": f"{who} cook", "hexcode": code, "group": 1, "subgroup": 25, "skins": skins}
        )
    names = folder / "sets" / NAMES.name
    names.mkdir(parents=True)
    (names / "data.json").write_text(json.dumps(entries))
    codes = [form["hexcode"] for entry in entries for form in (entry, *entry.get("skins", ()))]
    for number, package in enumerate(STYLES.values()):
        place = folder / "sets" / package.name.replace("/", "-").removeprefix("@")
        place.mkdir(parents=True)
        for k, code in enumerate(codes):
            name = code.lower() if number else code.lower().replace("-200d", "")
            shade = (40 * number, 20 * k, 200, 255)
            Image.new("RGBA", (64, 64), shade).save(place / f"{name}.png")
    return folder
