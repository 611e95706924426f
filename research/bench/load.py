"""Load test of a real server: `python app.py bench --curators 32 --verdicts 20000`

Many simulated curators log in and, in a loop, get a pair and give a verdict: over the API, or by
what the review page sends; as fast as the server responds, or with a pause before each verdict, as
a person would need to look. Finally the store is
checked: every confirmed verdict must be stored exactly once under its curator's name, and no pair
may have verdicts of two curators. Several servers may share the database.
"""

import html
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx2
import numpy as np
import psutil

from backend.bundled import IS_CHECKOUT
from backend.errors import TracedError
from backend.progress import Progress, no_progress
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import pair_queries, verdict_acts
from research.bench.generated_store import generate

_PASSWORD = "open sesame, please"
_DECISIONS = ("correct", "drop", "unsure", "abstract")
#: A refusal usually means that another curator was faster. This many in a row have another cause.
_REFUSED_IN_A_ROW = 20
_DATASET = "generated"
#: Pairs beyond the verdicts for each curator, who holds some until the end.
_EACH_HOLDS = 20
#: The command line, which is inside a package in an installed wheel.
_APP = Path(__file__).resolve().parents[2] / (
    "app.py" if IS_CHECKOUT else "traced_curator/command_line.py"
)
_SERVE = (sys.executable, str(_APP), "serve", "--data", _DATASET)


@dataclass(frozen=True)
class Latency:
    """Milliseconds that curators waited for a response."""

    question: str
    p50: float
    p95: float
    p99: float
    worst: float


@dataclass(frozen=True)
class LoadReport:
    """`processes`: of each server, that answer the review page; `lost`: confirmed verdicts that are
    not in the store; `doubled`: pairs with more than one verdict; `conflicts`: verdicts refused
    because another curator was faster; `pause`: in seconds; `memory`: of all servers with their
    processes, in MiB, after a tenth, a third, and two thirds of the time, and at the end."""

    curators: int
    servers: int
    processes: int
    pause: float
    confirmed: int
    lost: int
    doubled: int
    conflicts: int
    seconds: float
    latencies: tuple[Latency, ...]
    memory: tuple[float, float, float, float]

    def table(self) -> str:
        lines = [
            f"{self.curators} curators, {self.servers} servers of {self.processes} processes, a "
            f"pause of {self.pause:g} s before each verdict",
            f"{self.confirmed:,} verdicts confirmed in "
            f"{self.seconds:.0f} s ({self.confirmed / self.seconds:.0f} a second): {self.lost} "
            f"lost, {self.doubled} doubled, {self.conflicts} conflicts",
            f"{'':24} {'p50':>8} {'p95':>8} {'p99':>8} {'worst':>8}  ms",
        ]
        lines += [
            f"{latency.question:24} {latency.p50:8.0f} {latency.p95:8.0f} "
            f"{latency.p99:8.0f} {latency.worst:8.0f}"
            for latency in self.latencies
        ]
        tenth, third, two_thirds, end = self.memory
        lines.append(
            f"memory of the servers: {tenth:.0f} MiB after a tenth of the time, {third:.0f} after "
            f"a third, {two_thirds:.0f} after two thirds, {end:.0f} at the end"
        )
        return "\n".join(lines)


@dataclass
class _Tally:
    """Shared counters of all curators. `confirmed`: curator by pair id; `waited`: in seconds."""

    wanted: int
    confirmed: dict[int, str] = field(default_factory=dict)
    conflicts: int = 0
    waited: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    memory: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        with self.lock:
            self.wanted = 0

    def is_done(self) -> bool:
        with self.lock:
            return len(self.confirmed) >= self.wanted


def bench_load(
    curators: int,
    verdicts: int,
    url: str | None = None,
    progress: Progress = no_progress,
    servers: int = 1,
    pause: float = 0.0,
    processes: int = 1,
    on_page: bool = False,
) -> LoadReport:
    """Generate a store (in a temporary folder, or at `url`), serve it, and simulate the curators.

    `servers`: server processes that share the database; each curator uses one of them.
    `pause`: mean seconds that a curator looks at a pair, sampled uniformly from 0 to twice that.
    `processes`: of each server, that answer the review page. `on_page`: curators send what the
    review page sends.
    """
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(load_settings({"data_directory": folder, "database": url}))
        try:
            dataset_id = generate(
                workspace.store, verdicts + _EACH_HOLDS * curators, _DATASET, progress=progress
            )
            names = [f"Curator {number + 1}" for number in range(curators)]
            for name in names:
                workspace.accounts.add(name, _PASSWORD)
            tally = _Tally(verdicts)
            command = (*_SERVE, "--processes", str(processes))
            curate = _curate_on_page if on_page else _curate
            with ExitStack() as stack:
                running = [
                    stack.enter_context(serve(folder, url, number, command))
                    for number in range(servers)
                ]
                start = time.monotonic()
                with ThreadPoolExecutor(curators) as pool:
                    work = [
                        pool.submit(curate, running[number % servers][0], name, tally, pause)
                        for number, name in enumerate(names)
                    ]
                    try:
                        while not all(task.done() for task in work):
                            progress(len(tally.confirmed), verdicts, "Verdicts")
                            tally.memory.append(
                                sum(memory_of_all(server.pid) for _, server in running)
                            )
                            time.sleep(0.5)
                    except BaseException:
                        tally.stop()  # else the pool would wait for all verdicts
                        raise
                for task in work:
                    task.result()
                seconds = time.monotonic() - start
            return _report(
                workspace, dataset_id, curators, servers, processes, pause, tally, seconds
            )
        finally:
            workspace.store.close()


def _report(
    workspace: Workspace,
    dataset_id: int,
    curators: int,
    servers: int,
    processes: int,
    pause: float,
    tally: _Tally,
    seconds: float,
) -> LoadReport:
    with workspace.store.reading() as session:
        decisions = [
            (row.id, row.decided_by)
            for row in pair_queries.iterate_pairs(session, dataset_id)
            if row.decided_by is not None
        ]
        acts = {pair: len(verdict_acts.history(session, pair)) for pair, _ in decisions}
    authors = dict(decisions)
    last = len(tally.memory) - 1
    return LoadReport(
        curators=curators,
        servers=servers,
        processes=processes,
        pause=pause,
        confirmed=len(tally.confirmed),
        lost=sum(authors.get(pair) != name for pair, name in tally.confirmed.items()),
        doubled=sum(count > 1 for count in acts.values()),
        conflicts=tally.conflicts,
        seconds=seconds,
        latencies=tuple(_latency(question, times) for question, times in tally.waited.items()),
        memory=(
            tally.memory[last // 10],
            tally.memory[last // 3],
            tally.memory[2 * last // 3],
            tally.memory[last],
        ),
    )


def _latency(question: str, seconds: list[float]) -> Latency:
    p50, p95, p99 = np.percentile(1000 * np.array(seconds), [50, 95, 99]).tolist()
    return Latency(question, p50, p95, p99, 1000 * max(seconds))


def start(
    command: Sequence[str], environment: Mapping[str, str], output: IO[bytes]
) -> "subprocess.Popen[bytes]":
    """A server, whose messages go to `output`."""
    return subprocess.Popen(command, cwd=_APP.parent, env=environment, stdout=output, stderr=output)


@contextmanager
def serve(
    folder: str, url: str | None, number: int = 0, command: Sequence[str] = ()
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Serve the store in `folder` with `python app.py` or with `command`, to which --port is
    appended; yields (address, process). Raises TracedError if the server does not start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": folder}
    if url is not None:
        environment["TRACED_DATABASE"] = url
    log = Path(folder) / f"server-{number}.log"
    with log.open("wb") as output:
        process = start([*(command or _SERVE), "--port", str(port)], environment, output)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, process, log)
        yield address, process
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(3000):  # at least five minutes: the machine may be busy
        if process.poll() is not None:
            break
        try:
            if httpx2.get(f"{address}/healthy").is_success:
                return
        except httpx2.TransportError:
            time.sleep(0.1)
    process.kill()
    raise TracedError(f"The server did not start: {log.read_text(errors='replace')[-500:]}")


@contextmanager
def _logged_in(address: str, name: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=address, timeout=120) as client:
        answer = client.post("/login", data={"username": name, "password": _PASSWORD})
        answer.raise_for_status()
        yield client


def _curate(address: str, name: str, tally: _Tally, pause: float) -> None:
    rng = random.Random(name)
    with _logged_in(address, name) as client:
        refusals = 0
        while not tally.is_done():
            pair_start = time.monotonic()
            pair = call(client, "POST", "datasets/1/next")
            pair_end = time.monotonic()
            if pair is None:
                return
            decision = rng.choice(_DECISIONS)
            time.sleep(rng.uniform(0, 2 * pause))
            verdict_start = time.monotonic()
            try:
                call(client, "PUT", f"pairs/{pair['id']}/verdict", pair["etag"], verdict=decision)
            except Refused:
                with tally.lock:
                    tally.conflicts += 1
                refusals += 1
                if refusals == _REFUSED_IN_A_ROW:
                    raise
                continue
            refusals = 0
            verdict_end = time.monotonic()
            with tally.lock:
                tally.confirmed[pair["id"]] = name
                tally.waited["next pair"].append(pair_end - pair_start)
                tally.waited["verdict"].append(verdict_end - verdict_start)


class _ReviewPage:
    """What the browser does: it has the next pairs, and shows one as soon as the one before has its
    verdict. `pair`: the one that is shown."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self._state: dict[str, Any] = {}
        #: By pair: what the server calls the version that is drawn here, its place on the page as
        #: HTML, and whether it was drawn at random.
        self._drawn: dict[int, tuple[str, str, bool]] = {}
        self._ahead: list[int] = []
        self._act({"action": "visit", "dataset": 1, "address": {}})

    @property
    def pair(self) -> int:
        return int(self._state["pair"])

    def decide(self, action: str) -> bool:
        """Give a verdict and show the next pair; whether the verdict was saved."""
        state, pair = self._state, self.pair
        verdict = {"action": action, "author": state["author"], **_seen(self._drawn[pair][1])}
        if not self._ahead:  # others were faster
            return pair in self._act(verdict)["saved"]
        state["visited"] = [*state["visited"], pair][-100:]
        state["pair"] = self._ahead[0]
        if self._drawn[self.pair][2]:
            state["sampled"] = [*state["sampled"], self.pair][-100:]
        have = {number: self._drawn[number][0] for number in self._ahead}
        answer = self._post(verdicts=[verdict], have=have)
        self._ahead = self._take(answer)
        return pair in answer["saved"]

    def _act(self, act: dict[str, Any]) -> Any:
        """Do what the server has to answer before another pair is shown."""
        answer = self._post(acts=[act])
        parts = answer["parts"]
        if "stage" not in parts:  # refused: the page stays as it is, and is drawn anew
            parts = self._post(redraw=True)["parts"]
        self._drawn[self.pair] = ("", parts["stage"], False)
        self._ahead = self._take(self._post())
        return answer

    def _post(self, **content: Any) -> Any:
        answer = self._client.post("/review/acts", json={"state": self._state, **content})
        answer.raise_for_status()
        self._state = answer.json()["state"]
        return answer.json()

    def _take(self, answer: Any) -> list[int]:
        for pair, each in answer["ahead"]["drawn"].items():
            self._drawn[int(pair)] = (each["mark"], each["stage"], each["sampled"])
        return list(answer["ahead"]["order"])


def _seen(stage: str) -> dict[str, Any]:
    """How a verdict names the pair of this HTML."""
    start = stage[stage.index('<div class="stage"') :].partition(">")[0]
    values = {key: html.unescape(text) for key, text in re.findall(r'data-(\w+)="(.*?)"', start)}
    return {
        "pair": int(values["pair"]), "version": int(values["version"]),
        "fingerprint": values["fingerprint"], "name": values["name"],
    }  # fmt: skip


def _curate_on_page(address: str, name: str, tally: _Tally, pause: float) -> None:
    rng = random.Random(name)
    with _logged_in(address, name) as client:
        page = _ReviewPage(client)
        while not tally.is_done():
            time.sleep(rng.uniform(0, 2 * pause))
            pair, start = page.pair, time.monotonic()
            is_saved = page.decide(rng.choice(("correct", "drop")))
            end = time.monotonic()
            with tally.lock:
                tally.waited["verdict and board"].append(end - start)
                tally.conflicts += not is_saved
                if is_saved:
                    tally.confirmed[pair] = name


class Refused(Exception):
    """The server responded with an error."""


def call(client: httpx2.Client, method: str, path: str, etag: str = "", **body: Any) -> Any:
    """The answer of the API. Raises Refused if it refuses."""
    answer = client.request(method, f"/api/v1/{path}", json=body, headers={"If-Match": etag})
    if answer.is_client_error:
        raise Refused(f"{path}: {answer.text}")
    answer.raise_for_status()
    return answer.json()


def memory_of_all(process: int) -> float:
    """Resident memory of a process and of those it started, in MiB."""
    children = psutil.Process(process).children(recursive=True)
    return sum(memory_of(each) for each in (process, *(child.pid for child in children)))


def memory_of(process: int) -> float:
    """Resident memory of a process in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
