"""Does the measure of quoted text tell right quotations from wrong ones? Signs in drawn scenes.

`python -m research.evaluation.signs --count 30 --seed 10 --seed 11 --seed 12` (needs the extra
`text`). Of each picture three captions: what its sign says, what another sign says, and what it
says with one letter changed, dropped or added. Nothing is fitted.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from sklearn.metrics import roc_auc_score

from backend.features.picture_text.measure import PICTURE_TEXT, picture_text
from research.markdown_tables import table
from research.scenes.renderer import render
from research.scenes.world import make_scene

_SEED = 11_000_000_000
TEXTS = (
    "EXIT", "STOP", "Open", "Closed", "No Parking", "Main Street", "Bakery", "Hotel Lux", "SALE 50",
    "Platform 9", "Wet Paint", "Push", "Pull", "Cafe Roma", "Taxi", "Police", "One Way", "School",
    "Fresh Fish", "Keep Left", "Museum", "Post Office", "No Entry", "Tickets", "Garage", "Library",
    "Bus 42", "River Road", "Danger", "Happy Birthday", "Welcome Home", "Do Not Enter",
)  # fmt: skip
_FORMS = ("A sign that reads {}", 'A sign with the words "{}" on it', "The board says “{}”.")
_PAINTS = (("white", "black"), ("red", "white"), ("green", "white"), ("yellow", "black"),
           ("navy", "white"), ("black", "orange"), ("lightgrey", "maroon"))  # fmt: skip
KINDS = ("another sign's", "one letter off")


@dataclass(frozen=True)
class Sign:
    text: str
    picture: Image.Image
    rotated: bool
    lines: int


def draw_sign(rng: random.Random) -> Sign:
    """A sign somewhere in a drawn scene: of one to three lines, some of them rotated or blurred."""
    text = rng.choice(TEXTS)
    words = text.split()
    lines = words if len(words) > 1 and rng.random() < 0.5 else [text]
    board, ink = rng.choice(_PAINTS)
    size = rng.randrange(14, 40)
    font = ImageFont.load_default(size)
    width = int(max(font.getlength(line) for line in lines)) + size
    sign = Image.new("RGBA", (width, int(1.3 * size * len(lines) + size)), board)
    sign_lines = [line.upper() if rng.random() < 0.4 else line for line in lines]
    ImageDraw.Draw(sign).multiline_text((size / 2, size / 2), "\n".join(sign_lines), ink, font)
    is_rotated = rng.random() < 0.4
    if is_rotated:
        sign = sign.rotate(rng.uniform(-30, 30), expand=True, resample=Image.Resampling.BICUBIC)
    picture = render(make_scene(rng), 384)
    room = (max(1, 384 - sign.width), max(1, 384 - sign.height))
    picture.paste(sign, (rng.randrange(room[0]), rng.randrange(room[1])), sign)
    if rng.random() < 0.3:
        picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 1.5)))
    return Sign(text, picture, is_rotated, len(lines))


def one_letter_off(text: str, rng: random.Random) -> str:
    place = rng.choice([i for i, letter in enumerate(text) if letter.isalnum()])
    other = rng.choice([c for c in "ABDEGHKMNPRSTUWXZ" if c != text[place].upper()])
    return text[:place] + rng.choice((other, "", text[place] + other)) + text[place + 1 :]


def measure_signs(count: int, seed: int) -> dict[str, list[float]]:
    """The measure of the right captions and of each kind of wrong ones."""
    rng = random.Random(_SEED + 1_000_000 * seed)
    values: dict[str, list[float]] = {"right": [], KINDS[0]: [], KINDS[1]: [], "rotated": []}
    for _ in range(count):
        sign = draw_sign(rng)
        form = rng.choice(_FORMS)
        other = rng.choice([text for text in TEXTS if text != sign.text])
        captions = (sign.text, other, one_letter_off(sign.text, rng))
        for kind, text in zip(("right", *KINDS), captions, strict=True):
            wording = text if form != _FORMS[0] else text.upper()
            value = picture_text(form.format(wording), lambda picture=sign.picture: picture)
            values[kind].append(0.0 if value is None else value)
        if sign.rotated:
            values["rotated"].append(values["right"][-1])
    return values


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    labels = [0] * len(right) + [1] * len(wrong)
    return float(roc_auc_score(labels, [-value for value in (*right, *wrong)]))


def interval(
    right: Sequence[float], wrong: Sequence[float], draws: int = 2000
) -> tuple[float, ...]:
    """95 %, by bootstrap over pictures."""
    rng = np.random.default_rng(0)
    a, b = np.array(right), np.array(wrong)
    rows = (rng.integers(0, len(a), len(a)) for _ in range(draws))
    areas = [auc(a[row].tolist(), b[row].tolist()) for row in rows]
    return tuple(np.quantile(areas, (0.025, 0.975)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, action="append", required=True)
    args = parser.parse_args()
    values: dict[str, list[float]] = {}
    for seed in args.seed:
        for kind, numbers in measure_signs(args.count, seed).items():
            values.setdefault(kind, []).extend(numbers)
    line = PICTURE_TEXT.line or 0.0
    right = values["right"]
    rows = []
    for kind in KINDS:
        wrong = values[kind]
        low, high = interval(right, wrong)
        share = f"{auc(right, wrong):.3f} [{low:.3f}, {high:.3f}]"
        rows.append([kind, len(wrong), share, f"{np.mean(np.array(wrong) < line):.0%}"])
    print(table(["wrong quotation", "pictures", "AUC", f"below {line}"], rows))
    for name in ("right", "rotated"):
        print(
            name, len(values[name]), f"below {line}: {np.mean(np.array(values[name]) < line):.1%}"
        )


if __name__ == "__main__":
    main()
