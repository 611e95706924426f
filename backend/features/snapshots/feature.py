"""What named states of a dataset add."""

_FEATURE = "backend.features.snapshots"
ENTRY_POINTS = {
    "tables": {"snapshots": f"{_FEATURE}.tables:TABLES"},
    "operations": {
        "snapshot": f"{_FEATURE}.operation:SNAPSHOT",
        "diff": f"{_FEATURE}.operation:DIFF",
        "restore": f"{_FEATURE}.operation:RESTORE",
    },
    "commands": {"snapshots": f"{_FEATURE}.command:COMMANDS"},
    "export_steps": {"snapshot": f"{_FEATURE}.exporting:STEP"},
    "pages": {"snapshots": f"{_FEATURE}.page:PAGE"},
}
#: Further options of `export`, by their group: no package takes these names.
OPTIONS_OF_EXPORT = {"export_steps": ("snapshot",)}
#: Words for it, which stand nowhere in the core. (The word alone is the hub's, of its cache, and
#: the database's, of what a transaction sees.)
NOUNS = (
    '"snapshot"', "snapshot_pair", "snapshotpair", "snapshotrow", "snapshotreport",
    "options.snapshot", "snapshots_page", "dataset_versions", "restored snapshot",
    "restores a snapshot", "of a dataset's snapshot", "named state",
)  # fmt: skip
