"""Which texts are addresses of object storage rather than paths; `locations` opens them."""

from collections.abc import Mapping
from urllib.parse import unquote

#: The package that opens each scheme; "" needs none.
SCHEMES: Mapping[str, str] = {
    "s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "hf": "huggingface_hub", "https": "", "http": "",
}  # fmt: skip


def is_address(text: object) -> bool:
    """Whether it is an address.

    >>> is_address("s3://bucket/folder"), is_address("C:/folder"), is_address("hf:OWNER/DATASET")
    (True, False, False)
    """
    scheme, mark, _ = str(text).partition("://")
    return bool(mark) and scheme in SCHEMES


def is_below(address: str, folder: str) -> bool:
    """Whether the address is `folder` or lies in it, however a server reads dots and escapes.

    >>> is_below("s3://b/f/x", "s3://b/f/"), is_below("s3://b/fx", "s3://b/f")
    (True, False)
    >>> is_below("https://h/f/%2e%2e/x", "https://h/f")
    False
    """
    parts = unquote(address).replace("\\", "/").split("/")
    inside = f"{address.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
    return inside and not {".", ".."} & set(parts)
