"""Cookies and password guesses on a real port: attackers are locked out, and owners are not."""

import itertools
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx2
import pytest
from fastapi.testclient import TestClient

from backend.accounts.throttle import Throttle
from backend.workspace import Workspace
from tests.traced_ui.serving import serving
from traced_ui.server import create_app

PASSWORD = "a long password"


@pytest.fixture(scope="module")
def server(served: Workspace) -> Iterator[str]:
    with serving(served, login=True) as address:
        yield address


@dataclass(frozen=True)
class Place:
    """A network address from which an account, which nobody else in the tests has, logs in."""

    server: str
    source: str
    name: str

    def client(self) -> httpx2.Client:
        transport = httpx2.HTTPTransport(local_address=self.source)
        return httpx2.Client(base_url=self.server, timeout=200, transport=transport)

    def guess(self, number: int = 0) -> int:
        with self.client() as client:
            return log_in(client, f"wrong password {number}", self.name)


_numbers = itertools.count(2)


@pytest.fixture
def place(server: str, served: Workspace) -> Place:
    number = next(_numbers)
    served.accounts.add(f"user {number}", PASSWORD)
    return Place(server, f"127.0.0.{number}", f"user {number}")


def log_in(client: httpx2.Client | TestClient, password: str = PASSWORD, name: str = "Ada") -> int:
    return client.post("login", data={"username": name, "password": password}).status_code


@pytest.mark.parametrize(
    "neighbours",
    ['a{b}="x"; ', "broken; ", "päth=ü; ", 'j={"a": [1, 2]}; ', "=; ;; a=b=c; ",
     'open="never closed; '],
)  # fmt: skip
def test_cookies_of_other_programs_lock_no_one_out(place: Place, neighbours: str) -> None:
    with place.client() as client:
        assert log_in(client, name=place.name) == 200
        token = client.cookies["traced_login"]
    for cookies in (f"{neighbours}traced_login={token}", f"traced_login={token}; {neighbours}"):
        header = {b"Cookie": cookies.rstrip("; ").encode("latin-1")}
        assert httpx2.get(f"{place.server}gradio_api/info", headers=header).status_code == 200, (
            cookies
        )


def test_a_login_works_next_to_a_cookie_of_the_same_name(place: Place) -> None:
    """The other cookie is set for another path: a browser sends both in an unspecified order."""
    for is_before in (True, False):
        with place.client() as client:
            assert log_in(client, name=place.name) == 200
            token = client.cookies["traced_login"]
        mine, other = f"traced_login={token}", "traced_login=of somebody else"
        header = {"Cookie": f"{other}; {mine}" if is_before else f"{mine}; {other}"}
        info, out = f"{place.server}gradio_api/info", f"{place.server}logout"
        assert httpx2.get(info, headers=header, timeout=200).status_code == 200
        httpx2.post(out, headers=header, timeout=200)
        assert httpx2.get(info, headers=header, timeout=200).status_code == 401


def test_guesses_in_parallel_are_counted_before_they_are_checked(place: Place) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = Counter(pool.map(place.guess, range(20)))
    assert answers == {401: 5, 429: 15}


def test_guesses_of_others_do_not_lock_out_a_known_device(place: Place) -> None:
    with place.client() as device:
        assert log_in(device, name=place.name) == 200
        device.post("logout")
        while place.guess() != 429:
            pass
        assert log_in(device, name=place.name) == 200, "this browser has logged in before"
        assert [log_in(device, "wrong password", place.name) for _ in range(5)] == [401] * 5
        answer = device.post("login", data={"username": place.name, "password": PASSWORD})
        assert answer.status_code == 429, "but it cannot guess without end either"
        assert 0 < int(answer.headers["retry-after"]) <= 60


def test_a_device_cookie_is_valid_only_for_its_account(place: Place, served: Workspace) -> None:
    served.accounts.add("Ben", PASSWORD)
    with place.client() as bens:
        assert log_in(bens, name="Ben") == 200
        guesses = [log_in(bens, "wrong password", place.name) for _ in range(6)]
        assert guesses == [401] * 5 + [429]
    with place.client() as forged:
        forged.cookies.set("traced_device", "0" * 32 + "." + "0" * 64)
        assert log_in(forged, name=place.name) == 429


def test_a_device_cookie_is_no_login(place: Place) -> None:
    with place.client() as client:
        assert log_in(client, name=place.name) == 200
        del client.cookies["traced_login"]
        assert client.get("gradio_api/info").status_code == 401


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
