"""A pair is liked on Review, and seen in each place of the feature: journey.py DATA_FOLDER"""

import json
import sys
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from backend.cli.output import open_workspace
from backend.jobs import scored_demo
from backend.settings import load_settings
from traced_ui.page_state import PageState
from traced_ui.server import create_app


def main(folder: Path) -> dict[str, Any]:
    settings = load_settings({"data_directory": str(folder), "author": "Ada <b>"}, {})
    scored_demo.unpack(settings)
    workspace = open_workspace(settings)
    dataset = workspace.start()
    client = TestClient(create_app(workspace, dataset), base_url="http://127.0.0.1")

    def post(state: Any, **act: Any) -> Any:
        answer = client.post("/review/acts", json={"state": state, "acts": [act]})
        assert answer.status_code == 200, answer.text
        return answer.json()

    opened = post(PageState().model_dump(), action="visit", dataset=dataset, address={})
    pair = opened["state"]["pair"]
    liked = post(opened["state"], action="like", pair=pair, request="once")
    again = post(opened["state"], action="like", pair=pair, request="once")
    visit = {"action": "visit", "dataset": dataset}
    queue = post(again["state"], **visit, address={"liked": "yes"})
    panel = post(queue["state"] | {"is_filtering": True}, **visit, address={"liked": "yes"})
    about = f"/api/v1/datasets/{dataset}"
    likes = client.get(f"{about}/queue", params={"filters": "liked=yes"}).json()
    return {
        "pair": pair,
        "before": opened["parts"]["stage"],
        "after": liked["parts"]["stage"],
        "queue": queue["state"]["pair"],
        "rows": queue["parts"]["queue"],
        "panel": panel["parts"]["queue"],
        "api": client.get(f"/api/v1/pairs/{pair}").json().get("liking"),
        "listed": likes,
        "page": client.get("/favourites").status_code,
        "is_in_bar": "favourites" in client.get("/").text,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
