"""Units of work as floating-point operations: a product of [m, k] and [k, n] counts as 2 m k n."""

from dataclasses import dataclass

from backend.engine.scoring.work import Work


@dataclass(frozen=True)
class Shape:
    """Dimensions of a text tower. `patch_width` is 0 if it does not attend to images."""

    layers: int
    width: int
    inner: int  #: width of the feed-forward layers
    patch_width: int = 0
    patches: int = 0
    out: int = 0  #: outputs of the head: an embedding, or ITM's two logits


def operations(work: Work, shape: Shape) -> int:
    """Operations of the whole text side, including the keys and values of images."""
    d, below = shape.width, shape.layers - 1
    looks = 4 * d * d if shape.patch_width else 0  # cross-attention's queries and output
    a_token = 2 * d * d + looks + 4 * d * shape.inner  # all except queries, keys and values
    first = work.projections * 6 * d * d
    between = work.tokens * 6 * d * d * (below - 1) if below else 0
    last = work.tokens * 4 * d * d + work.sequences * (2 * d * d + a_token)
    attention = 4 * d * (work.attended * below + work.attended_last)
    attention += 4 * d * (work.seen * below + work.seen_last)
    images = work.images * shape.layers * shape.patches * 4 * d * shape.patch_width
    head = work.sequences * 2 * d * shape.out
    return first + between + work.tokens * a_token * below + last + attention + images + head


def plain_operations(work: Work, shape: Shape) -> int:
    """Operations of the naive reference: every token passes every layer, including the last."""
    d = shape.width
    looks = 4 * d * d if shape.patch_width else 0
    a_token = 8 * d * d + looks + 4 * d * shape.inner
    attention = 4 * d * (work.attended + work.seen)
    images = work.images * shape.patches * 4 * d * shape.patch_width
    return (work.tokens * a_token + attention + images) * shape.layers + (
        work.sequences * 2 * d * shape.out
    )
