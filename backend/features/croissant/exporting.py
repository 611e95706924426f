"""`croissant.json` of every export, and the tables that it describes. (The help of `export` reads
this module: what writes is imported when it is used.)"""

from collections.abc import Mapping
from pathlib import Path

from backend.features.croissant.names import NAME, TABLES
from backend.jobs.export_steps import ExportStep, WrittenExport


def describe(export: WrittenExport, folder: Path, digests: Mapping[str, str]) -> dict[str, str]:
    """Write the tables and the description; returns the SHA-256 of the tables, by file name."""
    from backend.datasets.writing import export_folder
    from backend.datasets.writing.dataset_writer import version_of
    from backend.features.croissant import records
    from backend.features.croissant.about import about
    from backend.features.croissant.description import croissant

    tables = records.write_tables(folder)
    sums = export_folder.digests(folder, earlier=digests)
    text = croissant(folder, sums, tables, version_of(sums), about(export))
    (folder / NAME).write_text(text, encoding="utf-8")
    return {name: digest for name, digest in sums.items() if name not in digests}


STEP = ExportStep("croissant", describe=describe, describes=(NAME, TABLES))
