"""A curator's day without the packages of models: python light_journey.py DATA_FOLDER

Prints, as JSON, what pages, API and jobs of the scored demo answer.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from backend.cli.output import open_workspace
from backend.errors import MODEL_PACKAGES
from backend.features.playground.page import checking
from backend.jobs import retrain, scored_demo
from backend.settings import load_settings
from traced_ui import rooms
from traced_ui.server import create_app

VERDICTS = 12


def main(folder: Path) -> dict[str, Any]:
    settings = load_settings({"data_directory": str(folder)}, {})
    scored_demo.unpack(settings)
    workspace = open_workspace(settings)
    dataset = workspace.start()
    assert dataset is not None
    client = TestClient(create_app(workspace, dataset), base_url="http://127.0.0.1")
    about = f"/api/v1/datasets/{dataset}"

    def wait_for(answer: Any) -> dict[str, Any]:
        job = {"status": "", **answer.json()}
        while job["status"] in ("waiting", "running", "queued"):
            time.sleep(0.05)
            job = client.get(f"/api/v1/jobs/{job['id']}").json()
        return {"http": answer.status_code, **job}

    pages = {page.path: client.get(f"/{page.path}").status_code for page in rooms.PAGES}
    rows = client.get(f"{about}/queue", params={"limit": VERDICTS}).json()["pairs"]
    verdicts = [
        client.put(
            f"/api/v1/pairs/{row['id']}/verdict",
            json={"verdict": "drop" if number % 2 else "correct"},
            headers={"If-Match": row["etag"]},
        ).status_code
        for number, row in enumerate(rows)
    ]
    charts = client.get(f"{about}/progress").json()
    jobs = {
        kind: wait_for(client.post(f"{about}/jobs", json={"kind": kind, **options}))
        for kind, options in {
            "train": {}, "score": {}, "map": {},
        }.items()
    }  # fmt: skip
    (learnt,) = (c.id for c in workspace.jobs.classifiers(dataset) if c.basis == "verdicts")
    retrain.adopt(workspace.store, learnt)
    after = client.get(f"{about}/queue", params={"limit": VERDICTS}).json()["pairs"]
    jobs["export"] = wait_for(
        client.post(f"{about}/exports", json={"out": str(folder / "clean"), "format": "jsonl"})
    )
    picture = workspace.review.image_path(rows[0]["id"])
    answer, *_ = checking(workspace)(str(picture), "A red circle", dataset)
    meaning = client.get(f"{about}/queue", params={"meaning": "a dog"})
    return {
        "pages": pages, "verdicts": verdicts, "charts": charts, "jobs": jobs,
        "try": re.sub("<[^>]+>", "", answer),
        "meaning": {"status": meaning.status_code, **meaning.json()},
        "imported": sorted(name for name in MODEL_PACKAGES if sys.modules.get(name)),
        "moved": [row["p_error"] for row in rows] != [row["p_error"] for row in after],
        "exported": sorted(path.name for path in (folder / "clean").rglob("*")),
    }  # fmt: skip


def without_models() -> None:
    """Make the packages of models missing in this process."""
    for name in MODEL_PACKAGES:
        sys.modules.setdefault(name, None)  # pyrefly: ignore[no-matching-overload]


if __name__ == "__main__":
    without_models()
    print(json.dumps(main(Path(sys.argv[1]))))
