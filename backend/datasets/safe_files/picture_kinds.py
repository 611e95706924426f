"""What the first bytes of a file say of its format."""

import re

#: Magic bytes of each image format and its file extensions, the usual one first.
_KINDS: tuple[tuple[re.Pattern[bytes], tuple[str, ...]], ...] = (
    (re.compile(rb"\xff\xd8\xff"), (".jpg", ".jpeg", ".jpe", ".jfif")),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), (".png", ".apng")),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), (".webp",)),
    (re.compile(rb"GIF8[79]a"), (".gif",)),
    (re.compile(rb"BM"), (".bmp", ".dib")),
    (re.compile(rb"II\*\0|MM\0\*"), (".tiff", ".tif")),
    (re.compile(rb"P[1-6]\s"), (".ppm", ".pgm", ".pbm", ".pnm")),
    (re.compile(rb"....ftyp(?:avif|avis)", re.DOTALL), (".avif",)),
)
#: Of formats that an export leaves as they are, or that cannot be read and are named so: HEIC,
#: JPEG 2000 and JPEG XL, QOI, Photoshop, DDS, PDF, icons, SGI, PCX, and Targa, which has no magic
#: bytes but few values for its kind of colours, kind of pixels and bits of each.
_OTHERS = re.compile(
    rb"....ftyp(?:hei[cfmsx]|hev[cx]|mif1|msf1)|\0\0\0\x0c(?:jP  |JXL )|\xff\x4f\xff\x51|\xff\x0a|"
    rb"qoif|8BPS|DDS |%PDF|\0\0[\x01\x02]\0|icns|\x01\xda[\0\x01][\x01\x02]|"
    rb"\n[\0\x02-\x05]\x01[\x01\x02\x04\x08]|"
    rb".[\0\x01][\x01-\x03\x09-\x0b].{13}[\x01\x08\x0f\x10\x18\x20]",
    re.DOTALL,
)


def endings_of(content: bytes) -> tuple[str, ...]:
    """The file extensions of a picture's format, the usual one first; none if it is not known.

    >>> endings_of(b"GIF89a..."), endings_of(b"a dog")
    (('.gif',), ())
    """
    return next((endings for beginning, endings in _KINDS if beginning.match(content)), ())


def begins_like_picture(content: bytes) -> bool:
    """Whether it is a picture by its first bytes, of any format."""
    return bool(endings_of(content)) or _OTHERS.match(content) is not None
