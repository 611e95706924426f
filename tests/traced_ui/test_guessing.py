"""Cookies and password guesses on a real port: attackers are locked out, and owners are not."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fastapi.testclient import TestClient

from backend.accounts.throttle import Throttle
from backend.workspace import Workspace
from tests.traced_ui.serving import serving
from traced_ui.server import create_app

PASSWORD = "a long password"


@pytest.fixture
def address(workspace: Workspace) -> Iterator[str]:
    workspace.accounts.add("Ada", PASSWORD)
    with serving(workspace, login=True) as address:
        yield address


@pytest.fixture(scope="module")
def unguessed(served: Workspace) -> Iterator[str]:
    """A server for tests without wrong passwords, which would count in later tests."""
    served.accounts.add("Ada", PASSWORD)
    with serving(served, login=True) as address:
        yield address


def log_in(client: httpx.Client | TestClient, password: str = PASSWORD, name: str = "Ada") -> int:
    return client.post("login", data={"username": name, "password": password}).status_code


def guess(address: str, number: int) -> int:
    with httpx.Client(base_url=address, timeout=200) as client:
        return log_in(client, f"wrong password {number}")


@pytest.mark.parametrize(
    "neighbours",
    ['a{b}="x"; ', "broken; ", "päth=ü; ", 'j={"a": [1, 2]}; ', "=; ;; a=b=c; ",
     'open="never closed; '],
)  # fmt: skip
def test_cookies_of_other_programs_lock_no_one_out(unguessed: str, neighbours: str) -> None:
    with httpx.Client(base_url=unguessed, timeout=200) as client:
        assert log_in(client) == 200
        token = client.cookies["traced_login"]
    for cookies in (f"{neighbours}traced_login={token}", f"traced_login={token}; {neighbours}"):
        header = {b"Cookie": cookies.rstrip("; ").encode("latin-1")}
        assert httpx.get(f"{unguessed}gradio_api/info", headers=header).status_code == 200, cookies


@pytest.mark.parametrize("before", [True, False])
def test_a_login_works_next_to_a_cookie_of_the_same_name(unguessed: str, before: bool) -> None:
    """The other cookie is set for another path: a browser sends both in an unspecified order."""
    with httpx.Client(base_url=unguessed, timeout=200) as client:
        assert log_in(client) == 200
        token = client.cookies["traced_login"]
    mine, other = f"traced_login={token}", "traced_login=of somebody else"
    header = {"Cookie": f"{other}; {mine}" if before else f"{mine}; {other}"}
    assert httpx.get(f"{unguessed}gradio_api/info", headers=header, timeout=200).status_code == 200
    httpx.post(f"{unguessed}logout", headers=header, timeout=200)
    assert httpx.get(f"{unguessed}gradio_api/info", headers=header, timeout=200).status_code == 401


def test_guesses_in_parallel_are_counted_before_they_are_checked(address: str) -> None:
    with ThreadPoolExecutor(40) as pool:
        answers = Counter(pool.map(lambda number: guess(address, number), range(40)))
    assert answers == {401: 5, 429: 35}


def test_guesses_of_others_do_not_lock_out_a_known_device(address: str) -> None:
    with httpx.Client(base_url=address, timeout=200) as known:
        assert log_in(known) == 200
        known.post("logout")
        while guess(address, 0) != 429:
            pass
        assert log_in(known) == 200, "this browser has logged in before"
        assert [log_in(known, "wrong password") for _ in range(5)] == [401] * 5
        assert log_in(known) == 429, "but it cannot guess without end either"


def test_a_device_cookie_is_valid_only_for_its_account(address: str, workspace: Workspace) -> None:
    workspace.accounts.add("Ben", PASSWORD)
    with httpx.Client(base_url=address, timeout=200) as bens:
        assert log_in(bens, name="Ben") == 200
        assert [log_in(bens, "wrong password") for _ in range(6)] == [401] * 5 + [429]
    with httpx.Client(base_url=address, timeout=200) as forged:
        forged.cookies.set("traced_device", "0" * 32 + "." + "0" * 64)
        assert log_in(forged) == 429


def test_a_device_cookie_is_no_login(unguessed: str) -> None:
    with httpx.Client(base_url=unguessed, timeout=200) as client:
        assert log_in(client) == 200
        del client.cookies["traced_login"]
        assert client.get("gradio_api/info").status_code == 401


def test_the_wait_is_reported_to_programs(address: str) -> None:
    with httpx.Client(base_url=address, timeout=200) as client:
        for _ in range(5):
            log_in(client, "wrong password")
        answer = client.post("login", data={"username": "Ada", "password": PASSWORD})
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 60


def test_addresses_of_one_ipv6_network_count_as_one(workspace: Workspace) -> None:
    """A customer has 2^64 of them and could guess from each."""
    app = create_app(workspace, login=True)

    def guesses(*addresses: str) -> Counter[int]:
        clients = (
            TestClient(app, "http://127.0.0.1", client=(address, 50_000)) for address in addresses
        )
        return Counter(
            log_in(client, "wrong password", f"name {number}")
            for number, client in enumerate(clients)
        )

    assert guesses(*(f"2001:db8:1:2:{n:x}::1" for n in range(60))) == {401: 30, 429: 30}
    assert guesses(*(f"2001:db8:3:{n:x}::1" for n in range(60))) == {401: 60}
    assert guesses(*(f"::ffff:192.0.2.{n}" for n in range(60))) == {401: 60}
    assert guesses(*["192.0.2.7", "::ffff:192.0.2.7"] * 20) == {401: 29, 429: 11}, "one address"


def test_many_names_do_not_evict_the_count_of_another() -> None:
    throttle = Throttle(keys=64, clock=lambda: 0.0)
    owner = {"name Ada at x": 1, "name Ada": 1}
    assert throttle.admit(owner) == 0
    for number in range(1000):
        throttle.admit({f"name {number} at y": 5, "address y": 30, f"name {number}": 100})
    assert throttle.admit(owner) > 0
