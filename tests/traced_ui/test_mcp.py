"""The actions as MCP tools, called with the official client."""

import base64
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from PIL import Image

from backend.workspace import QueueFilter, Workspace
from tests.traced_ui.serving import serving
from traced_ui.api import TOOLS
from traced_ui.mcp_tools import DESTRUCTIVE, WRITING

PASSWORD = "a long password"


@asynccontextmanager
async def session(address: str, token: str = "") -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        streamablehttp_client(f"{address}gradio_api/mcp/", headers=headers) as (read, write, _),
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
            await client.call_tool("datasets", {}),
            await client.call_tool("pair", {"pair_id": pair}),
            await client.call_tool("pair", {"pair_id": 99999}),
        )

    with serving(workspace, mcp=True) as address:
        listed, shown, absent = run_client(address, work)
    assert json.loads(listed.content[0].text)[0]["name"] == "pairs"
    text, image = shown.content
    assert json.loads(text.text)["id"] == pair
    assert (image.type, image.mimeType) == ("image", "image/jpeg")
    with Image.open(io.BytesIO(base64.b64decode(image.data))) as picture:
        assert picture.format == "JPEG"
    assert absent.isError
    assert "no pair 99999" in absent.content[0].text


def test_tools_say_whether_they_write(workspace: Workspace) -> None:
    async def work(client: ClientSession) -> Any:
        return (await client.list_tools()).tools

    with serving(workspace, mcp=True) as address:
        tools = {tool.name: tool.annotations for tool in run_client(address, work)}
    assert set(tools) == set(TOOLS)
    for name, hints in tools.items():
        assert hints.readOnlyHint == (name not in WRITING), name
        assert hints.destructiveHint == (name in DESTRUCTIVE), name
    assert set(TOOLS) >= WRITING


def test_with_login_tools_act_for_the_owner_of_the_token(workspace: Workspace) -> None:
    workspace.accounts.add("Ada", PASSWORD)
    pair = workspace.review.queue_page(QueueFilter(1)).rows[0].pair_id

    async def work(client: ClientSession) -> Any:
        return await client.call_tool(
            "decide", {"pair_id": pair, "version": 0, "verdict": "unsure"}
        )

    with serving(workspace, mcp=True, login=True) as address:
        answer = httpx.post(f"{address}login", data={"username": "Ada", "password": PASSWORD})
        decided = run_client(address, work, answer.json()["token"])
        with pytest.raises(BaseException):  # noqa: B017, PT011  (a group of whatever it raises)
            run_client(address, work)
    assert not decided.isError, decided.content
    assert workspace.review.open_pair(pair).history[-1].author == "Ada"


def test_the_api_still_works_with_mcp_tools(workspace: Workspace) -> None:
    workspace.accounts.add("Ada", PASSWORD)
    pair = workspace.review.queue_page(QueueFilter(1)).rows[0].pair_id
    with serving(workspace, mcp=True, login=True) as address:
        client = Client(address, auth=("Ada", PASSWORD), verbose=False)
        assert client.predict(api_name="/datasets")[0]["name"] == "pairs"
        client.predict(pair, 0, "drop", api_name="/decide")
        with pytest.raises(AppError, match="no pair 99999"):
            client.predict(99999, api_name="/pair")
    assert workspace.review.open_pair(pair).history[-1].author == "Ada"
