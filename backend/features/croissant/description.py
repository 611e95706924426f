"""The description of an export for programs: Croissant 1.0 (https://mlcommons.org/croissant), which
catalogues and search engines of datasets read. The card says the same for people.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.read_options import PICTURES

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
#: Of the files that hold rows.
_FORMATS = {
    ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".jsonl": "application/jsonlines",
    ".parquet": "application/x-parquet", ".json": "application/json", ".tar": "application/x-tar",
    ".arrow": "application/vnd.apache.arrow.stream", ".txt": "text/plain",
}  # fmt: skip


def croissant(
    folder: Path,
    digests: Mapping[str, str],
    tables: Mapping[str, Sequence[str]],
    version: str,
    about: Mapping[str, Any],
) -> str:
    """The description of the files in `folder` as JSON-LD. `digests`: SHA-256 by file name;
    `tables`: the Parquet files of each table (`records.write_tables`); `about`:
    properties of the dataset, by schema.org's and Croissant's names."""
    objects, patterns = [], {}
    for file, digest in digests.items():
        path = PurePosixPath(file)
        ending = path.suffix.lower()
        if ending in PICTURES or (ending == ".txt" and len(path.parts) > 1):
            patterns[f"{path.parts[0]}/*{ending}" if len(path.parts) > 1 else f"*{ending}"] = ending
            continue
        objects.append(
            {"@type": "cr:FileObject", "@id": _id(file), "name": file, "contentUrl": file,
             "encodingFormat": _FORMATS.get(ending, "application/octet-stream"),
             "sha256": digest}
        )  # fmt: skip
    sets = [
        {"@type": "cr:FileSet", "@id": _id(pattern), "name": pattern, "includes": pattern,
         "encodingFormat": "text/plain" if ending == ".txt" else f"image/{ending[1:]}"}
        for pattern, ending in sorted(patterns.items())
    ]  # fmt: skip
    for split, files in tables.items():
        if len(files) > 1:
            sets.append(
                {"@type": "cr:FileSet", "@id": f"{split}-files", "name": f"{split}-files",
                 "includes": files, "encodingFormat": _FORMATS[PurePosixPath(files[0]).suffix]}
            )  # fmt: skip
    description = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "dataset",
        "version": version,
        **about,
        "distribution": [*objects, *sets],
        "recordSet": [_records(folder, split, files) for split, files in sorted(tables.items())],
    }
    return json.dumps(description, ensure_ascii=False, indent=1) + "\n"


def _records(folder: Path, split: str, files: Sequence[str]) -> dict[str, Any]:
    """The columns of a table, or of the shards of one."""
    origin = {"fileSet": {"@id": f"{split}-files"}}
    if len(files) == 1:
        origin = {"fileObject": {"@id": _id(files[0])}}
    fields, ids = [], set[str]()
    for column, kind in _columns(folder / files[0]).items():
        identity = name = f"{split}/{_id(column)}"
        while identity in ids:
            identity += "_"
        ids.add(identity)
        source = {**origin, "extract": {"column": column}}
        fields.append(
            {"@type": "cr:Field", "@id": identity, "name": name, "dataType": kind, "source": source}
        )
    return {"@type": "cr:RecordSet", "@id": split, "name": split, "field": fields}


def _id(name: str) -> str:
    """The name as an identifier, which has no blanks.

    >>> _id('a "b" c.csv'), _id("images/*.png")
    ('a_b_c.csv', 'images/*.png')
    """
    return re.sub(r"[^\w./*-]+", "_", name)


def _columns(file: Path) -> dict[str, str]:
    """The columns that hold text, numbers or truth values, with their types."""
    kinds = {field.name: _type_of(field.type) for field in pq.read_schema(file)}
    return {name: kind for name, kind in kinds.items() if kind}


def _type_of(kind: pa.DataType) -> str:
    """ "" for a type that has no plain one."""
    if pa.types.is_floating(kind):
        return "sc:Float"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    return "sc:Text" if pa.types.is_string(kind) else ""
