"""The actions as MCP tools, called with the official client."""

import base64
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from PIL import Image

from backend.features.mcp import feature
from backend.features.mcp.service import OF_FEATURES, SERVICE, TOOLS
from backend.workspace import QueueFilter, Workspace
from tests.fixtures.features import has_feature
from tests.traced_ui.conftest import imported, workspace
from tests.traced_ui.serving import serving

__all__ = ["imported", "workspace"]

PASSWORD = "a long password"


@asynccontextmanager
async def session(address: str, token: str = "") -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        streamablehttp_client(f"{address}mcp", headers=headers) as (read, write, _),
        ClientSession(read, write) as client,
    ):
        await client.initialize()
        yield client


def run_client(
    address: str, work: Callable[[ClientSession], Awaitable[Any]], token: str = ""
) -> Any:
    async def run() -> Any:
        async with session(address, token) as client:
            return await work(client)

    # In a separate thread: after browser tests the main thread has a running event loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, run).result()


def test_results_are_json_and_a_pair_includes_its_picture(workspace: Workspace) -> None:
    pair = workspace.review.queue_page(QueueFilter(1)).rows[0].pair_id

    async def work(client: ClientSession) -> Any:
        return (
            (await client.list_tools()).tools,
            await client.call_tool("datasets", {}),
            await client.call_tool("pair", {"pair": pair}),
            await client.call_tool("pair", {"pair": 99999}),
            await client.call_tool("pair", {"pair": "x"}),
            await client.call_tool("check", {"pair": pair}),
        )

    with serving(workspace, services=[SERVICE]) as address:
        tools, listed, shown, *refused = run_client(address, work)
    assert json.loads(listed.content[0].text)[0]["name"] == "pairs"
    text, image = shown.content
    assert json.loads(text.text)["id"] == pair
    assert (image.type, image.mimeType) == ("image", "image/jpeg")
    with Image.open(io.BytesIO(base64.b64decode(image.data))) as picture:
        assert picture.format == "JPEG"
    assert all(answer.isError for answer in refused)
    assert "99999" in refused[0].content[0].text
    hints = {tool.name: tool.annotations for tool in tools}
    there = [name for name in OF_FEATURES if has_feature(name)]
    assert list(hints) == [*(name for name, *_ in TOOLS), *there]
    assert {name for name, hint in hints.items() if not hint.readOnlyHint} == {
        "next", "decide", "judge_claim", "undo", "redo", "suggest",
    }  # fmt: skip
    assert {name for name, hint in hints.items() if hint.destructiveHint} == {
        "decide", "judge_claim", "undo", "redo",
    }  # fmt: skip
    decide = next(tool for tool in tools if tool.name == "decide")
    assert {"pair", "etag", "verdict"} <= set(decide.inputSchema["properties"])
    assert not {"caller", "context"} & set(decide.inputSchema["properties"])


def test_with_login_tools_act_for_a_login_or_a_key(workspace: Workspace) -> None:
    workspace.accounts.add("Ada", PASSWORD)
    _, key = workspace.accounts.keys.add("Ada", "a test", "review")
    _, reading = workspace.accounts.keys.add("Ada", "a test", "read")
    pair = workspace.review.queue_page(QueueFilter(1)).rows[0].pair_id

    async def work(client: ClientSession) -> Any:
        shown = await client.call_tool("pair", {"pair": pair})
        text: Any = shown.content[0]
        etag = json.loads(text.text)["etag"]
        given = {"pair": pair, "etag": etag, "verdict": "unsure"}
        return await client.call_tool("decide", given)

    with serving(workspace, services=[SERVICE], login=True) as address:
        answer = httpx2.post(f"{address}login", data={"username": "Ada", "password": PASSWORD})
        for number, token in enumerate((answer.json()["token"], key), 1):
            decided = run_client(address, work, token)
            assert not decided.isError, decided.content
            acts = workspace.review.open_pair(pair).verdict.history
            assert (len(acts), acts[-1].author) == (number, "Ada")
        assert run_client(address, work, reading).isError
        assert len(workspace.review.open_pair(pair).verdict.history) == 2
        workspace.accounts.change("Ada", active=False)
        for token in (key, ""):
            with pytest.raises(BaseException):  # noqa: B017, PT011  (a group of what it raises)
                run_client(address, work, token)


def test_tools_are_served_only_on_request(workspace: Workspace) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    for services in ((), (SERVICE,)):
        with serving(workspace, services=services) as address:
            status = httpx2.post(f"{address}mcp", json=ping, headers=accept).status_code
        assert (status == 200) == bool(services), status


def test_every_tool_is_in_the_readme() -> None:
    text = Path(feature.__file__).with_name("README.md").read_text(encoding="utf-8")
    names = (*(name for name, *_ in TOOLS), *OF_FEATURES)
    assert [name for name in names if f"`{name}`" not in text] == []
