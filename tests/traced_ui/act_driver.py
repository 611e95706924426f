"""Verdicts on a review page without a browser, run by `research.bench.act_cost` in each checkout:
prints the processor time of each in seconds, as JSON. `python act_driver.py PAIRS VERDICTS`"""

import html
import json
import re
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
    stages = dict[int, str]()
    sample_ids: set[int] = set()

    def post(**body: Any) -> Any:
        nonlocal state
        request = Post.model_validate({"state": state.model_dump(), **body})
        result = answer(OpenPage(workspace, request.state), request)
        state = PageState.model_validate(result["state"])
        for pair, drawn in ((result["ahead"] or {}).get("drawn") or {}).items():
            marks[int(pair)], stages[int(pair)] = drawn["mark"], drawn["stage"]
            sample_ids.update([int(pair)] if drawn["sampled"] else [])
        return result

    first = post(acts=[{"action": "visit", "dataset": 1, "address": {}}])
    stages[state.pair or 0] = first["parts"]["stage"]
    order = post()["ahead"]["order"]
    for _ in range(verdicts):
        seen = _seen(stages[state.pair or 0])
        verdict = {"author": state.author, "action": "correct", **seen}
        state.show(order[0])  # as the browser does at once
        state.sampled += [order[0]] if order[0] in sample_ids else []
        start = time.process_time()
        result = post(verdicts=[verdict], have={pair: marks[pair] for pair in order})
        times.append(time.process_time() - start)
        assert not result["returned"], result["returned"]
        order = result["ahead"]["order"]
    return times


def _seen(stage: str) -> dict[str, Any]:
    """How a verdict names the pair of this HTML, which is the same in older checkouts."""
    values = {key: html.unescape(text) for key, text in re.findall(r'data-(\w+)="(.*?)"', stage)}
    return {
        "pair": int(values["pair"]), "version": int(values["version"]),
        "fingerprint": values["fingerprint"], "name": values["name"],
    }  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
