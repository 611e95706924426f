#!/usr/bin/env bash
# JSON says what is a text, and one would expect a reader of JSON lines to believe it. DuckDB looks into
# the texts: a column whose first values look like dates, times or UUIDs becomes one of these, and is
# written back otherwise ("12:30" as 12:30:00). A caption or an id of that form is no text any more; a
# plain text behind the sample of 20,480 rows then ends the query. Columns that are named with their types are left alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
"$folder/env/bin/python" - "$folder/rows.jsonl" <<'PYTHON'
import json
import sys

import duckdb

row = {"id": "0025", "caption": "2020-01-01", "clock": "12:30", "key": "550e8400-e29b-41d4-a716-446655440000"}
with open(sys.argv[1], "w") as file:
    file.write(json.dumps(row) + "\n")
table = duckdb.sql(f"select * from read_json_auto('{sys.argv[1]}')")
types = {name: str(kind) for name, kind in zip(table.columns, table.types)}
print("duckdb", duckdb.__version__, types)
print(table.fetchall()[0])
if types != {"id": "VARCHAR", "caption": "DATE", "clock": "TIME", "key": "UUID"}:
    sys.exit("This has changed: texts of JSON get other types now.")
columns = ", ".join(f"{name}: 'VARCHAR'" for name in row)
plain = duckdb.sql(f"select * from read_json('{sys.argv[1]}', columns={{{columns}}})").fetchall()[0]
print(plain)
if plain != tuple(row.values()):
    sys.exit("This has changed: columns that are named as texts are changed as well.")
PYTHON
