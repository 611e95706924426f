"""Measures how many words a caption has for each thousand pixels of its picture."""

from collections.abc import Callable

from PIL import Image

from db.measures import Measure


def density(caption: str, picture: Callable[[], Image.Image]) -> float:
    """`picture` opens it; a measure of the caption alone need not call it."""
    size = picture().size
    return 1000 * len(caption.split()) / (size[0] * size[1])


MEASURE = Measure(
    name="x_density",
    title="Word density",
    explanation="How many words the caption has for each thousand pixels of its picture.",
    unit="words",
    low=0.0,
    compute=density,
    order="fewest words first",
    word="density",
    bar="Density",
    scale=(0.0, 10.0),
)
