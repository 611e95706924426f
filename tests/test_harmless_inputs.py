"""Nothing in the repository is an input that crashes or hangs software that is not ours, or gets
past a check of it: what happens is said in words, and guards are tested with harmless values."""

import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT

#: What stands in no file, with an example that shows that it would be found. The examples are put
#: together here, so that this file holds none either.
TRIGGERS = {
    "a repetition within a repetition": (r"\(\\?\w[+*]\)[+*]", "(" + "a+" + ")+$"),
    "a repetition of a million": (r"(?<!\{)\{\d{7,}\}", "a{" + "10000000" + "}"),
    "an object of YAML that ends the program": (r"apply:os\.\w+", "apply:os." + "abort"),
    "a password file": (r"etc(/|%2f)passwd", "/etc" + "/passwd"),
    "a test of a crash elsewhere": (
        r"(?i)\b(crash|abort|hang)(e?s)? (py)?(arrow|gradio|torch|pillow|chromium|sqlite)\b",
        "it crashes " + "arrow",
    ),
    "a way around a check": (
        r"(?i)(bypass(es|ed)?|gets? (past|around)|way around) (the )?"
        r"(arrow|gradio|pillow|chromium|sqlite|fsspec)'?s",
        "a way around " + "Gradio's check",
    ),
}
TEXTS = (".py", ".md", ".js", ".html", ".sh", ".toml", ".yml", ".yaml", ".css", ".txt", ".json")


def lines() -> Iterator[tuple[str, str]]:
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for path in listing.stdout.splitlines():
        if path.endswith(TEXTS) and (ROOT / path).is_file():
            for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1):
                yield f"{path}:{number}", line


@pytest.mark.parametrize("name", TRIGGERS)
def test_no_file_holds(name: str) -> None:
    pattern, example = TRIGGERS[name]
    assert re.search(pattern, example)
    assert [place for place, line in lines() if re.search(pattern, line)] == []
