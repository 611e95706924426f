"""`select RESULTS --decisions FILE --out DESTINATION/`: the shards, cleaned.

Every shard that was scored is written again as a WebDataset tar of the same name: without the pairs
that the decisions or a threshold leave out, with corrected captions. A picture's bytes are copied,
not decoded. A tar appears as a whole, so the same command continues after a kill.
"""

import hashlib
import json
import tempfile
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

from backend.datasets.cells import trim
from backend.datasets.export_row import Changes, ExportRow, exportable
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files.locations import Location, StoredFile
from backend.datasets.writing.shard_writing import write_samples
from backend.engine.languages.foreign import foreign_language
from backend.engine.presets import languages_of
from backend.errors import SettingsError
from backend.features.shards.decisions import Decision, Decisions
from backend.features.shards.reports import ShardSelection
from backend.features.shards.shard_scores import (
    SET_ASIDE,
    check_places,
    claim,
    detector_in,
    read_result,
    result_of,
    run_in,
    scored_shards,
)
from backend.jobs.export_reports import unread_note
from backend.learning_texts import level_caveat
from backend.progress import Progress, no_progress
from db.texts import is_blank

#: In the destination: what made it.
_MADE_BY = "selection.json"


def select_shards(
    results: str,
    out: str,
    decisions: Decisions,
    drop_above: float | None = None,
    progress: Progress = no_progress,
) -> ShardSelection:
    """Write the shards behind `results` to `out`; both are folders or addresses. Pairs without a
    decision stay unless their probability of error is above `drop_above`, in a language that the
    model reads, or they are set aside; pairs without a score leave.

    Raises SettingsError for results or a destination that do not fit, and for decisions on shards
    that there are not; DatasetFormatError if the source changed.
    """
    scores, target = Location(results), Location(out)
    run = run_in(scores)
    source = Location(run["source"])
    for place in (source, scores):
        check_places(place, target)
    shards = scored_shards(scores, source)
    if strange := {shard for shard, _ in decisions if shard} - shards.keys():
        raise SettingsError(
            f"There are decisions on '{trim(min(strange))}', and {scores} has no such shard."
        )
    files = {file.name: file for file in scores.files()}
    content = [
        sorted(files[result_of(name)].version for name in shards),
        sorted((*key, decision.keep, decision.caption) for key, decision in decisions.items()),
    ]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    identity = {"results": str(scores), "drop_above": drop_above, "content": digest}
    if claim(target, _MADE_BY, identity):
        raise SettingsError(
            f"{target} holds a selection by other scores, decisions or thresholds. Name another "
            "destination, or remove it."
        )
    present = {file.name for file in target.files()}
    counts: Counter[str] = Counter()
    for number, (name, shard) in enumerate(shards.items(), 1):
        tar = str(PurePosixPath(name).with_suffix(".tar"))
        if tar not in present:
            counts += _write(source, shard, scores, files[result_of(name)], target, tar,
                             decisions, drop_above, languages_of(run["model"]))  # fmt: skip
            counts["shards"] += 1
        progress(number, len(shards), f"Written {name}")
    level_note = "" if drop_above is None else level_caveat(detector_in(scores).report)
    level_note = " ".join(filter(None, (level_note, unread_note(counts["unread"]))))
    return ShardSelection(
        len(shards), counts["shards"], counts["kept"], counts["corrected"], counts["left out"],
        counts["decided"], len(decisions), str(target), counts[SET_ASIDE], level_note,
    )  # fmt: skip


def _write(
    source: Location,
    shard: StoredFile,
    scores: Location,
    result: StoredFile,
    target: Location,
    tar: str,
    decisions: Decisions,
    drop_above: float | None,
    languages: frozenset[str],
) -> Counter[str]:
    counts: Counter[str] = Counter()
    rows: list[ExportRow] = []
    with tempfile.TemporaryDirectory(prefix="traced-shard-") as folder:
        columns = ("id", "p_error", "s_0", "icc")
        table = read_result(scores.copy(result, Path(folder)), columns)
        scores_of = {row.pop("id"): row for row in table.to_pylist()}
        for pair in read_dataset(source.copy(shard, Path(folder)), image_check="exists"):
            numbers = scores_of.get(pair.id)
            decision = decisions.get((shard.name, pair.id)) or decisions.get(("", pair.id))
            counts["decided"] += decision is not None
            if decision is None and numbers is not None:
                is_kept = drop_above is None or (numbers["p_error"] or 0) <= drop_above
                if not is_kept and foreign_language(pair.caption, languages):
                    is_kept = True
                    counts["unread"] += 1
                decision = Decision(is_kept and not numbers[SET_ASIDE])
                counts[SET_ASIDE] += numbers[SET_ASIDE]
            if numbers is None or decision is None or not decision.keep:
                counts["left out"] += 1
                continue
            row = _row(
                pair, pair.caption if is_blank(decision.caption) else decision.caption, numbers
            )
            counts["kept"] += 1
            counts["corrected"] += row.caption != pair.caption
            rows.append(row)
        if rows:
            tar_file = Path(folder) / "selected.tar"
            write_samples(tar_file, list(enumerate(rows)))
            target.put_file(tar, tar_file)
    return counts


def _row(pair: SourcePair, caption: str, numbers: dict[str, Any]) -> ExportRow:
    kind = "human" if caption == pair.caption else "corrected"
    numbers = {name: value for name, value in numbers.items() if name != SET_ASIDE}
    row = ExportRow(
        pair.id, pair.image_path, caption, pair.caption, pair.split, extra=pair.extra,
        caption_kind=kind, numbers=numbers,
    )  # fmt: skip
    return exportable(row, Changes())
