"""An option of several commands."""

from pathlib import Path
from typing import Annotated

from pydantic.fields import FieldInfo

from backend.datasets.read_options import ReadOptions

_FIELD: FieldInfo = ReadOptions.model_fields["image_root"]
ImageRoot = Annotated[Path | None, _FIELD]
