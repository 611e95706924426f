"""One edit applied to many captions: find and replace, a prefix, a suffix; vague claims are taken
out by the caller, who knows them.

The edit runs in a process of its own (`process.py`), with limits on time and memory: an
expression can take all memory when it is compiled and all time when it is searched for, and neither
can be interrupted within a process that serves others.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from backend.errors import SettingsError

#: Seconds for compiling the expression, and for each caption. Any sensible expression takes
#: microseconds.
COMPILE_SECONDS, CAPTION_SECONDS = 5, 1.0
#: Address space of the process, in bytes; it needs 50 MB. macOS does not limit it.
MEMORY = 768 * 2**20
LONGEST_FIND = 1_000
#: An edit that would make a caption longer than this is rejected.
LONGEST_RESULT = 20_000
_PROCESS = Path(__file__).with_name("process.py")


@dataclass(frozen=True)
class BulkEdit:
    """The edit of each caption: first, all matches of `find` are replaced, then `prefix` and
    `suffix` are added unless already present. `is_regex`: `find` is a regular expression, and
    `replace` may refer to its groups (\\1, \\g<name>)."""

    find: str = ""
    replace: str = ""
    is_regex: bool = False
    ignore_case: bool = False
    prefix: str = ""
    suffix: str = ""
    #: Before that, claims that describe nothing visible are taken out of captions that have others.
    remove_vague: bool = False
    #: Before all else, the fault of this name is mended, of those that features can mend.
    mend: str = ""

    @property
    def changes_text(self) -> bool:
        """Whether it does more than to take claims out."""
        return bool(self.find or self.replace or self.prefix or self.suffix)


def apply_edit(edit: BulkEdit, captions: Sequence[str], seconds: float) -> list[str]:
    """The captions after the edit.

    Raises SettingsError for an edit that does nothing, an invalid expression, and a caption that
    takes too long to edit or would become too long; TimeoutError after `seconds` for all captions.

    >>> apply_edit(BulkEdit(find="colour", replace="color", prefix="A photo: "), ["a colour"], 10)
    ['A photo: a color']
    """
    _check(edit)
    request = {
        "edit": asdict(edit),
        "captions": list(captions),
        "limits": {
            "memory": MEMORY, "compile": COMPILE_SECONDS, "caption": CAPTION_SECONDS,
            "length": LONGEST_RESULT,
        },
    }  # fmt: skip
    try:
        process = subprocess.run(
            # -P: keep this folder off sys.path, so that its modules cannot shadow installed ones.
            [sys.executable, "-P", str(_PROCESS)],
            input=json.dumps(request).encode("ascii"), capture_output=True, check=False,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if process.returncode == -signal.SIGALRM:
        raise SettingsError(
            f"The expression takes more than {COMPILE_SECONDS} s to compile: it is too large. Use "
            "smaller repetitions than {100000}, and do not nest them."
        )
    if process.returncode < 0:  # ended by the system: out of memory, or of its stack
        raise SettingsError(_TOO_MUCH_MEMORY)
    if process.returncode:
        raise RuntimeError(f"The edit's process failed: {process.stderr.decode(errors='replace')}")
    answer = json.loads(process.stdout)
    if "captions" in answer:
        return list(answer["captions"])
    raise SettingsError(_refusal(**answer))


_TOO_MUCH_MEMORY = (
    f"The edit takes more than {MEMORY // 2**20} MB of memory. Simplify the expression: use "
    "smaller repetitions than {100000}, and do not nest them."
)


def _refusal(problem: str, caption: str = "", reason: str = "") -> str:
    excerpt = f"“{caption[:60]}”"
    return {
        "invalid": f"The expression is invalid: {reason}.",
        "memory": _TOO_MUCH_MEMORY,
        "time": f"The expression takes more than {CAPTION_SECONDS:g} s for the caption {excerpt}: "
        "it tries too many combinations. Avoid a repetition within a repetition.",
        "length": f"The caption {excerpt} would have more than {LONGEST_RESULT:,} characters.",
    }[problem]


def _check(edit: BulkEdit) -> None:
    if edit.replace and not edit.find:
        raise SettingsError("There is a replacement but nothing to find.")
    if not (edit.find or edit.prefix or edit.suffix):
        raise SettingsError("Give text to find, a prefix or a suffix, or remove vague sentences.")
    for name, text in (("find", edit.find), ("replacement", edit.replace),
                       ("prefix", edit.prefix), ("suffix", edit.suffix)):  # fmt: skip
        if len(text) > LONGEST_FIND:
            raise SettingsError(f"The {name} has at most {LONGEST_FIND:,} characters.")
        if "\0" in text:
            raise SettingsError(f"The {name} holds a NUL character.")
