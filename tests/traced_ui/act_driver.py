"""Verdicts on a review page without a browser, run by `research.bench.act_cost` in each checkout:
prints the processor time of each in seconds, as JSON. `python act_driver.py PAIRS VERDICTS`"""

import json
import sys
import tempfile
import time
from typing import Any

from backend.settings import load_settings
from backend.workspace import Workspace
from research.bench.generated_store import generate
from traced_ui.board import Post, answer
from traced_ui.page_state import PageState
from traced_ui.review_actions import OpenPage

#: The first verdicts fill caches and are not counted.
_WARMING = 10


def main(pairs: int, verdicts: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(load_settings({"data_directory": folder}, {}))
        generate(workspace.store, pairs)
        times = _times(workspace, verdicts + _WARMING)
        workspace.store.close()
    print(json.dumps(times[_WARMING:]))


def _times(workspace: Workspace, verdicts: int) -> list[float]:
    state, marks, times = PageState(), dict[int, str](), list[float]()
    sample_ids: set[int] = set()

    def post(**body: Any) -> Any:
        nonlocal state
        request = Post.model_validate({"state": state.model_dump(), **body})
        result = answer(OpenPage(workspace, request.state), request)
        state = PageState.model_validate(result["state"])
        for pair, drawn in ((result["ahead"] or {}).get("drawn") or {}).items():
            marks[int(pair)] = drawn["mark"]
            sample_ids.update([int(pair)] if drawn["sampled"] else [])
        return result

    post(acts=[{"action": "visit", "dataset": 1, "address": {}}])
    order = post()["ahead"]["order"]
    for _ in range(verdicts):
        view = workspace.review.open_pair(state.pair or 0)
        verdict = {
            "author": state.author, "pair": view.pair_id, "version": view.verdict.version,
            "fingerprint": view.fingerprint, "name": view.name, "action": "correct",
        }  # fmt: skip
        state.show(order[0])  # as the browser does at once
        state.sampled += [order[0]] if order[0] in sample_ids else []
        start = time.process_time()
        result = post(verdicts=[verdict], have={pair: marks[pair] for pair in order})
        times.append(time.process_time() - start)
        assert not result["returned"], result["returned"]
        order = result["ahead"]["order"]
    return times


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
