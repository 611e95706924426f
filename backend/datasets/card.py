"""The dataset card: what is in an export, what was removed, and on whose word."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol


class Counts(Protocol):
    """What the card counts; `backend.views.ExportCounts` is one."""

    @property
    def total(self) -> int: ...
    @property
    def kept(self) -> int: ...
    @property
    def corrected(self) -> int: ...
    @property
    def tagged(self) -> int: ...
    @property
    def left_out(self) -> dict[str, int]: ...
    @property
    def by_decision(self) -> dict[str, int]: ...


def dataset_card(
    *, name: str, created: datetime, version: str, facts: Mapping[str, Any], counts: Counts
) -> str:
    """Markdown with the metadata block that the Hugging Face hub reads."""
    lines = [
        "---",
        "tags:",
        "- image-text",
        "- caption-cleaning",
        "---",
        f"# {_plain(name)}, cleaned",
        "",
        f"Exported by TRACED Curator {version} on {created:%Y-%m-%d %H:%M} UTC.",
        "",
        "## What is in it",
        "",
        f"{counts.kept} of {counts.total} image-caption pairs. {counts.corrected} captions were "
        f"corrected; {counts.tagged} pairs are kept with a tag.",
        "",
        "| what became of a pair | pairs |",
        "|---|---|",
        f"| kept | {counts.kept} |",
        *(f"| left out, {_plain(why)} | {n} |" for why, n in sorted(counts.left_out.items())),
        "",
        "## Verdicts",
        "",
        "| verdict | pairs |",
        "|---|---|",
        *(f"| {_plain(decision)} | {n} |" for decision, n in sorted(counts.by_decision.items())),
        "",
        "## How it was decided",
        "",
        *(f"- {_plain(key)}: {_plain(str(value))}" for key, value in facts.items()),
        "",
        "## Columns",
        "",
        "`id`, `caption`, `original_caption` (before correction), `split`, `verdict` (empty: none "
        "was given), `p_error` (probability that the original caption is wrong, as the detector "
        "estimates), `s_0` (image-text score, higher matches better), `icc` (concreteness, higher "
        "is more concrete), `tags`, and the columns of the source.",
        "",
    ]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text of strangers as one line of Markdown."""
    cleaned = " ".join(text.split())
    for mark in "\\`*_[]<>|#":
        cleaned = cleaned.replace(mark, "\\" + mark)
    return cleaned
