"""The dataset card: what is in an export, what was removed, and on what basis."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

import yaml

from backend.datasets.export_row import Changes, Target
from backend.measures import MEASURES, export_names
from backend.verdict_texts import word_of

#: Maximum number of column names listed.
_MOST_NAMES = 50


class Counts(Protocol):
    """The counts shown on the card; implemented by `backend.jobs.export_reports.ExportCounts`."""

    @property
    def total(self) -> int: ...
    @property
    def kept(self) -> int: ...
    @property
    def caption_changes(self) -> list[str]: ...
    @property
    def tagged(self) -> int: ...
    @property
    def left_out(self) -> dict[str, int]: ...
    @property
    def by_decision(self) -> dict[str, int]: ...


#: The paper of the method, as in CITATION.cff.
CITATION = """\
@inproceedings{afriat2026seeing,
  title     = {Seeing What's Wrong: A Trajectory-Guided Approach to Caption Error Detection},
  author    = {Afriat, Gabriel Isaac and Lucas, Ryan and Meng, Xiang and Hou, Yufang and
               Zhu, Yada and Mazumder, Rahul},
  booktitle = {International Conference on Learning Representations (ICLR)},
  year      = {2026},
  url       = {https://openreview.net/forum?id=73FGjnKu1P}
}"""


def state_of(counts: Counts) -> str:
    """Whether captions were cleaned, or only written."""
    return "cleaned" if counts.caption_changes or counts.left_out else "exported"


def _changes_of_pairs(counts: Counts) -> str:
    """What happened, and nothing of what did not."""
    changes = counts.caption_changes
    captions = f"Captions: {', '.join(changes)}." if changes else "No caption was changed."
    tagged = f" {counts.tagged:,} kept with a tag." if counts.tagged else ""
    return captions + tagged


def dataset_card(
    *, name: str, created_at: datetime, version: str, facts: Mapping[str, Any], counts: Counts
) -> str:
    """Markdown with the metadata block that the Hugging Face hub reads."""
    lines = [
        "---",
        "tags:",
        "- image-text",
        "- caption-cleaning",
        "---",
        f"# {_plain(name)}, {state_of(counts)}",
        "",
        f"Exported by TRACED Curator {version} on {created_at:%Y-%m-%d %H:%M} UTC.",
        "",
        "## What is in it",
        "",
        f"{counts.kept} of {counts.total} image-caption pairs. {_changes_of_pairs(counts)}",
        "",
        "| what became of the pairs | pairs |",
        "|---|---|",
        f"| kept | {counts.kept} |",
        *(f"| left out, {_plain(why)} | {n} |" for why, n in sorted(counts.left_out.items())),
        "",
        "## Verdicts",
        "",
        "Of the pairs that are in it:",
        "",
        "| verdict | pairs |",
        "|---|---|",
        *(f"| {_plain(word_of(name))} | {n} |" for name, n in sorted(counts.by_decision.items())),
        "",
        "## How it was decided",
        "",
        *(f"- {_plain(key)}: {_plain(str(value))}" for key, value in facts.items()),
        "",
        "## Columns",
        "",
        "`id`, `caption`, `original_caption` (before correction), `caption_kind` (where the "
        "caption is from: human; corrected; edited: in bulk, without review of each; or an "
        "enrichment by a model: blend of several people's captions, visual, holistic), "
        "`split`, `verdict` (empty: none was given; enriched: the "
        "original caption was right), `note` (of the verdict), `writer`, `writer_kind`, "
        "`writer_prompt`, `writer_date` (who or what wrote the caption), `original_writer`, "
        "`picture` (what it has: dark, "
        "bright, blurry, odd_size, odd_aspect, low_information, exact_duplicate, near_duplicate), "
        "`tags`, and the columns of the source. Of the original caption:",
        "",
        *(f"- `{name}`: {MEASURES[name].explanation}" for name in export_names()),
        "",
        "## Citation",
        "",
        "The method that found the errors:",
        "",
        "```bibtex",
        *CITATION.splitlines(),
        "```",
        "",
    ]
    return "\n".join(lines)


def finished_card(card: str, target: Target, version: str) -> str:
    """Complete the card with what is known only after writing.

    `version`: three numbers, as in "1.2.3", which tell loaders of the Hugging Face Hub that the
    content changed.
    """
    opening = "---\n"
    if target.files and card.startswith(opening):
        files = [{"split": split, "path": paths} for split, paths in sorted(target.files.items())]
        config = {"config_name": "default", "version": version, "data_files": files}
        metadata: dict[str, Any] = {"configs": [config | target.loader]}
        if target.features:
            metadata["dataset_info"] = [{"config_name": "default", "features": target.features}]
        text = yaml.safe_dump(metadata, sort_keys=False, width=math.inf, allow_unicode=True)
        card = opening + text + card.removeprefix(opening)
    sentences = _changes_in_words(target.changes)
    if not sentences:
        return card
    return "\n".join([card.rstrip("\n"), "", "## Changed on the way out", "",
                      *(f"- {line}" for line in sentences), ""])  # fmt: skip


def _changes_in_words(changes: Changes) -> list[str]:
    sentences = [
        f"The source's column {code(old)} is called {code(new)}."
        for old, new in sorted(changes.renamed.items())[:_MOST_NAMES]
    ]
    if changes.not_json:
        sentences.append(
            "NaN and infinity, which JSON does not have, are null in: " + _names(changes.not_json)
        )
    if changes.no_text:
        sentences.append(
            "Half characters (lone surrogates) are U+FFFD in: " + _names(changes.no_text)
        )
    if changes.packed:
        sentences.append(
            "Packed as JSON text into the column `extra`, because loaders expect one type a "
            "column: " + _names(changes.packed)
        )
    return sentences + changes.remarks


def _names(names: set[str]) -> str:
    codes = [code(name) for name in sorted(names)]
    more = f" and {len(codes) - _MOST_NAMES} more" if len(codes) > _MOST_NAMES else ""
    return ", ".join(codes[:_MOST_NAMES]) + more + "."


def code(name: str) -> str:
    """A column's name as Markdown code; backticks in it are replaced."""
    return "`" + " ".join(name.replace("`", "'").split()) + "`"


def _plain(text: str) -> str:
    """Untrusted text as one line of Markdown."""
    line = " ".join(text.split())
    for mark in "\\`*_[]<>|#":
        line = line.replace(mark, "\\" + mark)
    return line
