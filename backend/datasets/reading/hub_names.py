"""Names of datasets of the Hugging Face Hub: `hf:OWNER/NAME[@SUBSET][:REVISION]`."""

import re
from dataclasses import dataclass

from backend.datasets.cells import trim
from backend.datasets.read_options import is_address
from backend.errors import SettingsError

#: Distinguishes the name of a Hub dataset from a path.
PREFIX = "hf:"
_NAME = re.compile(
    r"hf:(?P<repository>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95})"
    r"(?:@(?P<subset>[^<>:/\\|?*@\x00-\x1f]{1,200}))?"
    r"(?::(?P<revision>[A-Za-z0-9_][\w./-]{0,199}))?",
    re.ASCII,
)


def is_hub_name(text: object) -> bool:
    """Whether it is meant as the name of a dataset of the hub, right or wrong; never a path.

    >>> is_hub_name("hf:OWNER/NAME"), is_hub_name("hf:/etc"), is_hub_name("hf://datasets/o/n")
    (True, True, False)
    """
    return str(text).startswith(PREFIX) and not is_address(text)


@dataclass(frozen=True)
class HubName:
    """A dataset of the hub: `OWNER/NAME`, one of its subsets, and a branch, tag or commit."""

    repository: str
    subset: str | None = None
    revision: str | None = None

    @classmethod
    def parse(cls, text: str) -> "HubName":
        """Read `hf:OWNER/NAME[@SUBSET][:REVISION]`. Raises SettingsError for anything else.

        >>> HubName.parse("hf:owner/pets@en:v1.0")
        HubName(repository='owner/pets', subset='en', revision='v1.0')
        """
        match = _NAME.fullmatch(text)
        if match is None or ".." in text or "--" in match["repository"]:
            raise SettingsError(
                f"'{trim(text)}' names no dataset of the hub: write hf:OWNER/NAME, with @SUBSET "
                "for one of several and :REVISION for a branch, a tag or a commit. Datasets "
                "without an owner have one by now (hf:nlphuji/flickr30k); a folder or a file of "
                "this machine is given without hf:."
            )
        return cls(match["repository"], match["subset"], match["revision"])

    @property
    def title(self) -> str:
        """What its dataset is called here by default."""
        subset = f"@{self.subset}" if self.subset else ""
        return self.repository.rpartition("/")[2] + subset + self._at

    def __str__(self) -> str:
        return f"{PREFIX}{self.repository}{f'@{self.subset}' if self.subset else ''}{self._at}"

    @property
    def _at(self) -> str:
        return f":{self.revision}" if self.revision else ""
