"""A link to what *Try one picture* found: the caption, the numbers, and the digest of the picture's
file. The picture is not in it, unless it is an example that this server has itself."""

import hashlib
import math
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from backend.features.playground.checking import Analysis
from backend.review.queue_form import id_in

#: Characters of a caption in a link: servers and browsers refuse much longer addresses.
LONGEST_CAPTION = 4000
_LONGEST_NAME = 200
_DIGEST = re.compile(r"[0-9a-f]{64}")


class SharedResult(NamedTuple):
    """`digest`: SHA-256 of the picture's file, as `sha256sum` prints it; `example`: the pair whose
    picture it is, if the server has it; `s`, `p_error`: what the link says, None if it does not."""

    caption: str
    digest: str
    s: float | None = None
    p_error: float | None = None
    model: str = ""
    example: int | None = None

    @property
    def address(self) -> str:
        """Its address, from the page.

        >>> SharedResult("a dog", "0" * 64, 0.5).address
        'try?caption=a+dog&picture=0000000000000000000000000000000000000000000000000000000000000000\
&match=0.5000'
        """
        fields = {"caption": self.caption, "picture": self.digest}
        fields |= {
            name: f"{value:.4f}"
            for name, value in (("match", self.s), ("wrong", self.p_error))
            if value is not None
        }
        if self.model:
            fields["model"] = self.model[:_LONGEST_NAME]
        if self.example is not None:
            fields["example"] = str(self.example)
        return f"try?{urlencode(fields)}"


def shared_in(query: str | None) -> SharedResult | None:
    """The result in the query of an address; None if there is none."""
    try:
        fields = dict(parse_qsl((query or "").removeprefix("?"), max_num_fields=50))
    except ValueError:  # more than a link has
        return None
    caption, digest = fields.get("caption", ""), fields.get("picture", "")
    if not caption or len(caption) > LONGEST_CAPTION or not _DIGEST.fullmatch(digest):
        return None
    return SharedResult(
        caption, digest, _number(fields.get("match")), _number(fields.get("wrong"), 0, 1),
        fields.get("model", "")[:_LONGEST_NAME], id_in(fields.get("example", "")),
    )  # fmt: skip


def share(result: Analysis, digest: str, example: int | None = None) -> SharedResult | None:
    """The link to a result; None without a picture's digest, and for a caption that is too long
    for one."""
    if not digest or len(result.caption) > LONGEST_CAPTION:
        return None
    p_error = None if result.is_beyond_model else result.p_error
    return SharedResult(result.caption, digest, result.s_0, p_error, result.scored_by, example)


def digest_of(picture: Path) -> str:
    """SHA-256 of the file; "" for one that is gone."""
    try:
        with picture.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _number(text: str | None, least: float = -math.inf, most: float = math.inf) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and least <= value <= most else None
