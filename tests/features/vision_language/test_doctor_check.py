"""What `doctor --vlm-url` finds out about a server."""

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from backend.features.vision_language.doctor_check import check_server
from backend.features.vision_language.sight import UNLIKE, drawn_examples, drawn_square
from research.chat_server import Respond, chat_server
from tests.cli.invoking import invoked


def shown_in(body: dict[str, Any]) -> str:
    """What the drawn picture shows that is asked about."""
    url = body["messages"][-1]["content"][0]["image_url"]["url"]
    image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    return min(KNOWN, key=lambda name: np.abs(np.asarray(image, int) - KNOWN[name]).mean())


KNOWN = {
    **{example.text: np.asarray(example.own_picture, int) for example in drawn_examples()},
    **{f"A {colour} square.": np.asarray(drawn_square(colour), int) for colour in UNLIKE},
}


def seeing(body: dict[str, Any]) -> tuple[int, Any]:
    text = body["messages"][-1]["content"][1]["text"]
    if not body.get("logprobs"):
        return 200, shown_in(body)
    p = 0.9 if text.endswith(shown_in(body)) else 0.1
    return 200, {"Yes": p, "No": 1 - p}


def one_picture(body: dict[str, Any]) -> tuple[int, Any]:
    """Says the same of all pictures."""
    return 200, {"Yes": 0.6, "No": 0.4}


def describing_one(body: dict[str, Any]) -> tuple[int, Any]:
    """The same, without probabilities."""
    return 200, "A picture."


def without_probabilities(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, shown_in(body)


@pytest.mark.parametrize(
    ("server", "state", "sight"),
    [
        (seeing, "ok", "'small'"),
        (one_picture, "problem", "blind:"),
        (describing_one, "problem", "blind:"),
        (without_probabilities, "warning", "'small'"),
    ],
)
def test_a_server_is_asked_whether_it_sees(
    server: Respond, state: str, sight: str, tmp_path: Path
) -> None:
    with chat_server(server) as served:
        finding = check_server(served.url)
        assert (finding.state, finding.message.split()[0]) == (state, sight)
        assert len(served.requests) <= 2 * len(drawn_examples()) + 4
        environment = {"TRACED_DATA_DIRECTORY": str(tmp_path), "COLUMNS": "200"}
        status, out, _ = invoked(environment, "doctor", "--vlm-url", served.url)
        assert (status == 1) == (state == "problem")
        assert served.url in "".join(out.split())


def test_a_server_that_cannot_be_asked_is_a_problem() -> None:
    assert check_server("http://127.0.0.1:9/v1").state == "problem"
    with chat_server(seeing) as served:
        served.models = ["a", "b"]
        assert check_server(served.url).state == "problem"
        assert check_server(served.url, "b").state == "ok"
