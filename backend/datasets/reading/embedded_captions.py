"""Captions embedded in images, in the order of the Metadata Working Group (2.0, section 4.1:
Description), the newest standard first: XMP `dc:description`, IPTC `Caption/Abstract` (2:120), EXIF
`ImageDescription`, Windows' `XPComment` and `XPTitle`, and a PNG's `Description` text.
"""

from collections.abc import Iterator
from typing import Any

from PIL import ExifTags, Image, IptcImagePlugin
from PIL.ImageFile import ImageFile as OpenedFile

from backend.datasets.safe_files.containers import ImageFile
from backend.datasets.safe_files.images import opened_image
from db.texts import is_blank

_IPTC_CAPTION = (2, 120)
_PNG_TEXTS = ("Description", "description", "Caption", "caption", "Comment", "comment", "Title")


def captions_in(path: ImageFile) -> dict[str, str]:
    """Non-empty captions by the field that contains them, in order of preference.

    Raises ImageError if the file is not an image.
    """
    with opened_image(path) as image:
        image.load()  # a PNG may store its texts after its pixels
        return {place: text.strip() for place, text in _texts(image) if not is_blank(text)}


def _texts(image: Image.Image) -> Iterator[tuple[str, str]]:
    yield "xmp_description", _xmp(image)
    yield "iptc_caption", _iptc(image)
    exif = image.getexif()
    description = exif.get(ExifTags.Base.ImageDescription)
    yield "exif_description", _utf8(description) if isinstance(description, str | bytes) else ""
    for place, tag in (
        ("exif_comment", ExifTags.Base.XPComment),
        ("exif_title", ExifTags.Base.XPTitle),
    ):
        content = exif.get(tag)
        if isinstance(content, bytes | tuple):
            yield place, bytes(content).decode("utf-16-le", "replace").rstrip("\0")
    for name in _PNG_TEXTS:
        if isinstance(text := image.info.get(name), str):
            yield f"png_{name.lower()}", str(text)


def _xmp(image: Image.Image) -> str:
    """`dc:description`; if there are several languages, the default one."""
    description: Any = image.getxmp().get("xmpmeta", {})
    for name in ("RDF", "Description"):
        description = description.get(name, {}) if isinstance(description, dict) else {}
    content: Any = ""
    for part in description if isinstance(description, list) else [description]:
        content = content or (part.get("description", "") if isinstance(part, dict) else "")
    for name in ("Alt", "li"):
        if isinstance(content, dict):
            content = content.get(name, content.get("text", ""))
    entries = content if isinstance(content, list) else [content]
    texts = [e.get("text", "") if isinstance(e, dict) else e for e in entries]
    default = [
        e.get("text", "") for e in entries if isinstance(e, dict) and e.get("lang") == "x-default"
    ]
    return next((text for text in (*default, *texts) if isinstance(text, str) and text), "")


def _iptc(image: Image.Image) -> str:
    about: Any = IptcImagePlugin.getiptcinfo(image) if isinstance(image, OpenedFile) else None
    content = (about or {}).get(_IPTC_CAPTION)
    if isinstance(content, list):
        content = b"\n".join(content)
    if not isinstance(content, bytes):
        return ""
    # Without the UTF-8 marker the standard prescribes ISO 646/4873; in practice it is either.
    return _utf8(content)


def _utf8(content: str | bytes) -> str:
    """Decode as UTF-8, falling back to Latin-1: Pillow reads EXIF text as Latin-1, according to the
    standard, but programs write UTF-8."""
    raw = content.encode("latin-1", "replace") if isinstance(content, str) else content
    raw = raw.rstrip(b"\0")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return content.rstrip("\0") if isinstance(content, str) else raw.decode("latin-1")
