"""The named endpoints on a real server: their results and their messages."""

from collections.abc import Iterator

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from sqlalchemy import update

from backend.workspace import QueueFilter, Workspace
from db.models import Pair
from tests.traced_ui.serving import serving

PASSWORD = "a long password"


@pytest.fixture
def address(workspace: Workspace) -> Iterator[str]:
    with serving(workspace) as address:
        yield address


@pytest.fixture(scope="module")
def client(served: Workspace) -> Iterator[Client]:
    """A client for requests that are refused or only read."""
    with serving(served) as address:
        yield Client(address, verbose=False)


@pytest.fixture
def guarded(workspace: Workspace) -> Iterator[str]:
    workspace.accounts.add("Ada", PASSWORD)
    with serving(workspace, login=True) as address:
        yield address


def test_a_program_reviews_a_queue(address: str, workspace: Workspace) -> None:
    client = Client(address, verbose=False)
    (dataset,) = client.predict(api_name="/datasets")
    name = dataset["name"]
    page = client.predict(name, api_name="/queue", limit=1)
    assert len(page["pairs"]) == 1
    assert page["next"]
    rest = client.predict(name, api_name="/queue", after=page["next"])
    ids = [pair["id"] for pair in page["pairs"] + rest["pairs"]]
    assert len(ids) == len(set(ids)) == dataset["pairs"]
    whole = client.predict(ids[0], api_name="/pair")
    assert whole["caption"] == page["pairs"][0]["caption"]
    decided = client.predict(ids[0], whole["version"], "drop", api_name="/decide")
    assert (decided["verdict"], decided["version"]) == ("drop", whole["version"] + 1)
    assert workspace.review.open_pair(ids[0]).history[-1].author == "curator"
    assert client.predict(name, api_name="/progress")["reviewed"] == 1
    assert client.predict(name, api_name="/undo")["verdict"] is None
    assert client.predict(name, api_name="/redo")["verdict"] == "drop"
    assert client.predict(name, api_name="/undo")["id"] == ids[0]
    assert client.predict(name, api_name="/undo") is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1, 0, "nonsense"), "is not a verdict"),
        ((1, 7, "drop"), "decided"),
        ((99999, 0, "drop"), "no pair 99999"),
        ((1, 0, "correction"), "empty"),
    ],
)
def test_a_failed_request_is_reported_without_internals(
    client: Client, given: tuple[int, int, str], message: str
) -> None:
    with pytest.raises(AppError, match=message) as problem:
        client.predict(*given, api_name="/decide")
    assert "Traceback" not in str(problem.value)


def raw(address: str, endpoint: str, *given: object) -> str:
    """The events in the response to a plain HTTP request."""
    call = f"{address}gradio_api/call/{endpoint}"
    response = httpx.post(call, json={"data": given})
    assert response.status_code == 200, response.text
    event = response.json()["event_id"]
    return httpx.get(f"{call}/{event}", timeout=200).text


def test_a_request_may_leave_out_arguments_that_have_defaults(
    address: str, workspace: Workspace
) -> None:
    """Programs written before an argument was added leave it out."""
    (pair, *_) = workspace.review.queue_page(QueueFilter(1), limit=1).rows
    answer = raw(address, "decide", pair.pair_id, pair.verdict_version, "drop")
    assert "event: complete" in answer
    assert workspace.review.open_pair(pair.pair_id).decision == "drop"
    answer = raw(address, "decide", pair.pair_id)
    assert "event: error" in answer
    assert "'version' is missing: 1 of 7 were sent" in answer


def test_a_verdict_on_another_caption_than_was_seen_is_refused(
    address: str, workspace: Workspace
) -> None:
    client = Client(address, verbose=False)
    (dataset,) = client.predict(api_name="/datasets")
    pair, *_ = client.predict(dataset["name"], api_name="/queue")["pairs"]
    assert client.predict(pair["id"], api_name="/pair")["fingerprint"] == pair["fingerprint"]
    seen = (pair["id"], pair["version"], "drop", "", 0, "")
    with workspace.store.writing() as session:
        session.execute(update(Pair).values(caption="Another caption."))
    with pytest.raises(AppError, match="no longer in the database"):
        client.predict(*seen, pair["fingerprint"], api_name="/decide")
    now = client.predict(pair["id"], api_name="/pair")["fingerprint"]
    assert client.predict(*seen, now, api_name="/decide")["verdict"] == "drop"


def test_an_invalid_cursor_is_refused(client: Client) -> None:
    for after in [
        "x",
        "[]",
        "[1]",
        "{}",
        "1",
        '["a", 1]',
        '[0.5, "1"]',
        "[0.5, 1, 2]",
        "[NaN, 1]",
        "[0.5, null]",
        "[1e999, 1]",
        f"[1{'0' * 400}, 1]",
        f"[1, {2**70}]",
        "[[1], 1]",
        "[true, 1]",
        "[" * 5000,
    ]:
        (dataset,) = client.predict(api_name="/datasets")
        with pytest.raises(AppError, match="is not a queue position"):
            client.predict(dataset["name"], after=after, api_name="/queue")


@pytest.mark.parametrize(
    ("given", "message"),
    [({"order": "p_eror"}, "no order 'p_eror'.*p_error"), ({"review": "open"}, "no review 'open'")],
)
def test_an_invalid_queue_is_refused(client: Client, given: dict[str, str], message: str) -> None:
    (dataset,) = client.predict(api_name="/datasets")
    with pytest.raises(AppError, match=message):
        client.predict(dataset["name"], **given, api_name="/queue")


def test_a_program_logs_in_like_people(guarded: str, workspace: Workspace) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  (whatever the client makes of a 401)
        Client(guarded, verbose=False).predict(api_name="/datasets")
    client = Client(guarded, auth=("Ada", PASSWORD), verbose=False)
    pair = workspace.review.queue_page(QueueFilter(1)).rows[0].pair_id
    client.predict(pair, 0, "unsure", api_name="/decide")
    assert workspace.review.open_pair(pair).history[-1].author == "Ada"


@pytest.mark.parametrize("mcp", [False, True])
def test_mcp_tools_are_served_only_on_request(workspace: Workspace, mcp: bool) -> None:
    import httpx

    with serving(workspace, mcp=mcp) as address:
        result = httpx.get(f"{address}gradio_api/mcp/schema", timeout=200)
        if not mcp:
            assert result.status_code == 404 or "text/html" in result.headers["content-type"]
            return
        tools = {tool["name"]: tool for tool in result.json()}
        decide = tools["decide"]
        assert "Give a verdict on a pair" in decide["description"]
        assert "pair_id" in decide["inputSchema"]["properties"]
        assert "request" not in decide["inputSchema"]["properties"]
