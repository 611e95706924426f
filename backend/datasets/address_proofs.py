"""The proof at the end of an image's address: "#" and a hash of its bytes (see `containers`).

Apart from `containers`, so that commands that only show an address need not import pyarrow.
"""

import re

_PROVED = re.compile(r"(.*)#([0-9a-f]{32})", re.DOTALL)


def split_proof(relative: str) -> tuple[str, str]:
    """The place of an image, and its proof; "" if it has none."""
    match = _PROVED.fullmatch(relative)
    return (match[1], match[2]) if match else (relative, "")


def picture_key(relative: str) -> str:
    """What identifies a picture: its proof, or its place if it has none."""
    place, proof = split_proof(relative)
    return proof or place
