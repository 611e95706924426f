"""Suggested enrichments in exports."""

import json
from pathlib import Path

from backend.workspace import Workspace
from db.queries import suggestion_queries
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import image_folder


def test_enriched_captions_are_exported_on_request(workspace: Workspace, tmp_path: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    rows = [{"id": f"{i}", "file_name": "a.png", "caption": f"a dog {i}"} for i in range(2)]
    workspace.jobs.import_dataset(image_folder(tmp_path / "pairs", rows, ("a.png",)))
    with workspace.store.writing() as session:
        richer = suggestion_queries.NewSuggestion(
            2, "boost", "a brown dog", 0.5, 0.6, kind="boost", provenance={"boost": "blend"}
        )
        suggestion_queries.save_suggestions(session, [richer])

    def kinds(folder: str, *options: str) -> list[tuple[str, str]]:
        out = tmp_path / folder
        as_json(environment, "export", "pairs", str(out), "--format", "jsonl", *options)
        lines = (out / "data.jsonl").read_text().splitlines()
        return [(row["caption"], row["caption_kind"]) for row in map(json.loads, lines)]

    assert kinds("1") == [("a dog 0", "human"), ("a dog 1", "human")]
    enriched = ("--captions", "enriched")
    assert kinds("2", *enriched) == [("a dog 0", "human"), ("a brown dog", "blend")]
    out = str(tmp_path / "3")
    assert as_json(environment, "export", "pairs", out, *enriched, "--dry-run")["enriched"] == 1
    status, _, err = invoked(environment, "export", "pairs", out, "--captions", "longer")
    assert status == 2
    assert "decided" in err
