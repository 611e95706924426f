"""An export with its description, as Croissant's own reader reads it."""

from pathlib import Path

import mlcroissant

from backend.datasets.writing import export_folder
from backend.datasets.writing.dataset_writer import version_of
from backend.features.croissant import records
from backend.features.croissant.description import croissant
from backend.features.croissant.names import NAME


def described_in(out: Path) -> mlcroissant.Dataset:
    """Describe the export in this folder, and read it by the description."""
    tables = records.write_tables(out)
    sums = export_folder.digests(out)
    (out / NAME).write_text(croissant(out, sums, tables, version_of(sums), {}), encoding="utf-8")
    return mlcroissant.Dataset(jsonld=out / NAME)
