"""What a pair's picture, caption and id have to be, and the id of a pair that has none."""

import hashlib
import re
from dataclasses import replace
from pathlib import PurePath
from typing import Literal

from backend.datasets.cells import split_proof, text_problem
from backend.datasets.safe_files.containers import ImageFile, Member, file_of, proof_of, with_proof
from backend.datasets.safe_files.images import check_image
from backend.errors import ImageError
from db.texts import has_controls, is_blank

#: Maximum number of characters; a cell with far more indicates a broken file.
LONGEST_CAPTION = 20_000
LONGEST_ID = 255
#: Of what people read of an id.
LONGEST_NAME = 60
#: What is done with each image: decode it, hash its bytes, or only look whether its file exists.
ImageCheck = Literal["decode", "hash", "exists"]
_DIGEST = re.compile(":[0-9a-f]{12}$")


def check_picture(check: ImageCheck, path: ImageFile) -> tuple[ImageFile, str]:
    """The image, with its proof if it was read, and what is wrong with it; "" if nothing is."""
    if check == "exists":
        return path, "" if file_of(path).is_file() else f"There is no file '{path.name}'."
    try:
        if isinstance(path, Member):  # read once
            content = path.read()
            if check == "decode":
                check_image(content, path.name)
            return replace(path, proof=proof_of(content)), ""
        if check == "decode":
            check_image(path)
        return with_proof(path), ""
    except ImageError as problem:
        return path, str(problem)
    except FileNotFoundError:
        return path, f"There is no file '{path.name}'."
    except OSError as problem:
        return path, f"'{path.name}' cannot be opened: {problem.strerror or problem}."


def caption_problem(text: str) -> str:
    """Why a text cannot be a caption; "" if it can."""
    if is_blank(text):
        return "The caption is empty."
    if len(text) > LONGEST_CAPTION:
        return f"The caption has {len(text)} characters; at most {LONGEST_CAPTION} are allowed."
    if problem := text_problem(text):
        return f"The caption cannot be stored: {problem}."
    return ""


def id_problem(identity: str) -> str:
    """Why a text cannot be an id; "" if it can."""
    if len(identity) > LONGEST_ID:
        return f"The id has {len(identity)} characters; at most {LONGEST_ID} are allowed."
    if has_controls(identity):
        return "The id holds controls or line ends."
    return ""


def derived_id(name: str, caption: str) -> str:
    """A deterministic id for datasets without ids, derived from the image's path relative to the
    root and the caption."""
    digest = hashlib.sha256(f"{name}\n{caption}".encode("utf-8", "replace")).hexdigest()[:12]
    return f"{name[-200:]}:{digest}"


def pair_name(external_id: str, picture: str | None = None, caption: str = "") -> str:
    """What people read of a pair's id: no digest of `derived_id`, and at most 60 characters.
    `picture`: its address, with `caption` what the digest is of; without them what follows a
    picture's file name is taken for one, unless it is a number.

    >>> pair_name("a/1.png:cf0d3dce9f18"), pair_name("a.png:000000391895")
    ('a/1.png', 'a.png:000000391895')
    >>> pair_name(derived_id("pictures/7", "a cat"), "pictures/7", "a cat")
    'pictures/7'
    """
    name = _DIGEST.sub("", external_id)
    if picture is not None:
        is_derived = external_id == derived_id(split_proof(picture)[0], caption)
    else:
        is_derived = bool(PurePath(name).suffix) and not external_id[len(name) + 1 :].isdecimal()
    return (name if is_derived else external_id)[:LONGEST_NAME]
