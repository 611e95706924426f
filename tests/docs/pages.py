"""The pages of the documentation and their contents."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_FEATURES = sorted(ROOT.glob("backend/features/*/README.md"))
PAGES = sorted(
    [
        *ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *OF_FEATURES,
        ROOT / "assets" / "models" / "README.md",
    ]
)  # fmt: skip
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fences(page: Path, language: str) -> list[str]:
    """The code blocks of a language."""
    return [body for name, body in _FENCE.findall(page.read_text("utf-8")) if name == language]


def shell_lines(page: Path) -> list[str]:
    """The commands of the shell blocks, with continued lines joined and comments removed."""
    text = "".join(fences(page, "sh")).replace("\\\n", " ")
    lines = (re.sub(r"\s+#.*$", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def code(page: Path) -> list[str]:
    """The inline code in the text."""
    return re.findall(r"`([^`\n]+)`", _FENCE.sub("", page.read_text(encoding="utf-8")))
