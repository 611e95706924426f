"""Retraining, adopting, scoring, importing and many curators at once, for some minutes:

    python -m tests.hostile.load --minutes 10 --database postgresql

The curators review over a real server, at the pace of people, and undo some verdicts. Meanwhile the
server runs one job after the other, and a second program runs all kinds of jobs in parallel on the
same database (`load_work`). Every response is recorded; at the end the store must contain exactly
what was confirmed. The exit status is 1 if a verdict is lost or stored twice, if anything was
refused, or if a request took longer than --most-wait seconds.
"""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import httpx
import numpy as np

from backend.engine.detection.features import feature_matrix
from backend.jobs.classifiers import classifier_in_use
from backend.jobs.stored_trajectories import scored_batches
from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from db.queries import pairs, runs, verdicts
from research.bench.load import Refused, call, memory_of, served
from research.scenes import demo
from tests.fixtures.postgresql import find_binaries, temporary_server
from tests.fixtures.stores import fresh_database
from tests.hostile.load_work import DATASET, grow, source_of

_PASSWORD = "open sesame, please"
#: Mean seconds that a curator looks at a pair.
_PAUSE = 2.0
#: Pictures whose pairs are all scored, and some of them reviewed, before the load begins.
_PICTURES, _JUDGED = 36, 16
_OPTIONS = {"model": str(MODELS / "scenes-clip"), "detector": "logistic"}

#: A confirmed act: the pair, its version, the resulting decision, and the author.
Act = tuple[int, int, str | None, str]


@dataclass
class Seen:
    """What the curators observed."""

    acts: list[Act] = field(default_factory=list)
    waits: dict[str, list[float]] = field(default_factory=dict)
    conflicts: int = 0
    refused: list[str] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            with self.lock:
                self.waits.setdefault(what, []).append(time.monotonic() - started)


def curate(address: str, name: str, seen: Seen, until: float) -> None:
    """Review pairs, at the pace of a person, until the time is up."""
    rng = random.Random(name)
    with httpx.Client(base_url=address, timeout=120) as client:
        with seen.waiting("login"):
            client.post("/login", data={"username": name, "password": _PASSWORD}).raise_for_status()
        while time.monotonic() < until:
            try:
                _judge(client, name, rng, seen)
            except Refused as problem:
                with seen.lock:
                    if "changed while you were looking" in str(problem):
                        seen.conflicts += 1
                    else:
                        seen.refused.append(f"{name}: {problem}")
            except httpx.HTTPError as problem:
                with seen.lock:
                    seen.refused.append(f"{name}: {type(problem).__name__} {problem}")


def _judge(client: httpx.Client, name: str, rng: random.Random, seen: Seen) -> None:
    with seen.waiting("next pair"):
        pair = call(client, "next", [DATASET, rng.choice(("p_error", "p_error", "position"))])
    if pair is None:
        time.sleep(1)
        return
    with seen.waiting("picture"):
        client.get(f"{pair['picture']}?size=400").raise_for_status()
    time.sleep(rng.uniform(0, 2 * _PAUSE))
    decision = rng.choice(("correct", "drop", "unsure", "abstract"))
    with seen.waiting("verdict"):
        answer = call(client, "decide", [pair["id"], pair["version"], decision, "", 0, ""])
    _note(answer, name, seen)
    if rng.random() < 0.1:
        with seen.waiting("undo"):
            answer = call(client, "undo", [DATASET])
        if answer is not None:
            _note(answer, name, seen)


def _note(answer: dict[str, object], name: str, seen: Seen) -> None:
    act = (int(str(answer["id"])), int(str(answer["version"])), answer["verdict"], name)
    with seen.lock:
        seen.acts.append(act)  # pyrefly: ignore[bad-argument-type]


def prepared(folder: Path, url: str | None, curators: int, waiting: int) -> Workspace:
    """A partly scored and reviewed dataset, a candidate classifier, and rows to import."""
    settings = {"data_directory": str(folder), "database": url, "author": "Ada", **_OPTIONS}
    workspace = Workspace(load_settings(settings, {}))
    source = source_of(workspace)
    demo.write(source, _PICTURES, 4, 96, seed=8)
    dataset = workspace.jobs.import_dataset(source, DATASET).dataset_id
    workspace.jobs.score(dataset, suggestions=False)
    for number, pair in enumerate(_stored(workspace, dataset)[:_JUDGED]):
        workspace.review.decide(pair.id, 0, "drop" if number % 2 else "correct")
    # Cross-fitted probabilities end with the first change; from then on they are the classifier's.
    workspace.jobs.adopt(workspace.jobs.run("train", dataset).classifier_id)
    for number in range(curators):
        workspace.accounts.add(f"Curator {number + 1}", _PASSWORD)
    grow(source, waiting)
    return workspace


def _stored(workspace: Workspace, dataset: int) -> list[pairs.PairRow]:
    with workspace.store.reading() as session:
        return list(pairs.iterate_pairs(session, dataset))


def wrong_in(workspace: Workspace, seen: Seen) -> list[str]:
    """Inconsistencies in the store after everything has ended."""
    dataset, wrong = workspace.find(DATASET), []
    listed = _stored(workspace, dataset)
    with workspace.store.reading() as session:
        acts = [
            (act.pair_id, act.version, act.decision, act.author)
            for pair in listed
            for act in verdicts.history(session, pair.id)
        ]
        run = runs.latest_run(session, dataset, "score")
        reviewed = pairs.counts(session, dataset).reviewed
    wrong += wrong_acts(acts, seen.acts, len(seen.refused))
    first = Counter(pair for pair, _, decision, _ in _standing(acts) if decision is not None)
    if reviewed != len(first) or reviewed != sum(pair.decision is not None for pair in listed):
        wrong.append(f"{reviewed} reviewed, and {len(first)} by their history")
    rows = (source_of(workspace) / "metadata.jsonl").read_text("utf-8").splitlines()
    if Counter(pair.external_id for pair in listed) != Counter(json.loads(r)["id"] for r in rows):
        wrong.append(f"{len(rows)} rows, and {len(listed)} pairs of other ids")
    known = workspace.jobs.classifiers(dataset)
    if [item.active for item in known].count(True) != 1 or len({o.name for o in known}) != len(
        known
    ):
        wrong.append(f"classifiers: {[(item.name, item.active) for item in known]}")
    classifier = classifier_in_use(workspace.store, dataset)
    assert run is not None
    assert classifier is not None
    judged: list[int] = []
    for batch, trajectories in scored_batches(workspace.store, run):
        shown = np.array([pair.p_error for pair in batch], float)
        # A stopped job has not classified its last pairs; the next one will.
        is_judged = ~np.isnan(shown)
        judged += [pair.id for pair, item in zip(batch, is_judged, strict=True) if item]
        meant = classifier.predict(feature_matrix(trajectories))
        if not np.allclose(shown[is_judged], meant[is_judged], atol=1e-6):
            wrong.append("numbers that are not those of the classifier in use")
            break
    if len(judged) < _PICTURES or len(judged) != len(set(judged)):
        wrong.append(f"{len(judged)} pairs judged, {len(set(judged))} different ones")
    return wrong


def wrong_acts(stored: Sequence[Act], confirmed: Sequence[Act], unanswered: int) -> list[str]:
    """Acts that were confirmed but not stored, stored twice, or stored but never confirmed; the
    outcome of calls without a response is unknown."""
    wrong = []
    in_store, confirmed_counts = Counter(stored), Counter(confirmed)
    if lost := confirmed_counts - in_store:
        wrong.append(f"{lost.total()} lost: {list(lost)[:5]}")
    others = [act for act in (in_store - confirmed_counts).elements() if act[3] != "Ada"]
    if len(others) > unanswered:
        wrong.append(f"{len(others)} confirmed to nobody: {others[:5]}")
    places = Counter((pair, version) for pair, version, _, _ in stored)
    if doubled := [place for place, count in places.items() if count > 1]:
        wrong.append(f"{len(doubled)} doubled: {doubled[:5]}")
    return wrong


def _standing(acts: Sequence[Act]) -> list[Act]:
    """The newest act on each pair."""
    return list({act[0]: act for act in sorted(acts, key=lambda act: act[:2])}.values())


def done_in(folder: Path) -> list[dict[str, object]]:
    """What `load_work` recorded."""
    files = [folder / "serve.jsonl", folder / "jobs.jsonl"]
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def run(url: str | None, curators: int, seconds: float, most_wait: float) -> tuple[str, bool]:
    """Run everything at once; return the report in Markdown, and whether everything held."""
    with tempfile.TemporaryDirectory(prefix="load-") as name:
        folder, seen = Path(name), Seen()
        _say("preparing a scored dataset")
        workspace = prepared(folder, url, curators, int(curators * seconds / _PAUSE / 4))
        environment = {**os.environ, "TRACED_DATA_DIRECTORY": name,
                       **{f"TRACED_{key.upper()}": value for key, value in _OPTIONS.items()},
                       **({"TRACED_DATABASE": url} if url else {})}  # fmt: skip
        os.environ.update(environment)
        serve = (sys.executable, "-m", "tests.hostile.load_work", "serve")
        began = time.monotonic()
        _say("starting the server")
        with served(name, url, command=serve) as (address, process):
            jobs = subprocess.Popen([sys.executable, "-m", "tests.hostile.load_work", "jobs"],
                                    env=environment)  # fmt: skip
            until = time.monotonic() + seconds
            _say(f"{curators} curators for {seconds:.0f} s")
            with ThreadPoolExecutor(curators) as pool:
                work = [pool.submit(curate, address, f"Curator {number + 1}", seen, until)
                        for number in range(curators)]  # fmt: skip
                while not all(item.done() for item in work):
                    seen.loads.append(os.getloadavg()[0])
                    seen.memory.append(memory_of(process.pid))
                    time.sleep(2)
                for item in work:
                    item.result()
            _say("waiting for the jobs to end")
            (folder / "stop").touch()
            ended = jobs.wait(600)
        took = time.monotonic() - began
        _say("importing what is left, and checking the store")
        workspace.jobs.import_dataset(source_of(workspace), DATASET)
        wrong = wrong_in(workspace, seen)
        done = done_in(folder)
        workspace.store.close()
    wrong += [f"the second program ended with status {ended}"] if ended else []
    wrong += [f"{item['kind']}: {item['problem']}" for item in done if item["problem"]]
    wrong += [f"refused: {item}" for item in seen.refused]
    worst = max(max(times) for times in seen.waits.values())
    wrong += [f"a wait of {worst:.1f} s"] if worst > most_wait else []
    return _report(curators, took, seen, done, wrong), not wrong


def _say(stage: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {stage}", file=sys.stderr, flush=True)


def _report(
    curators: int, took: float, seen: Seen, done: list[dict[str, object]], wrong: list[str]
) -> str:
    kinds = Counter(str(job["kind"]) for job in done)
    lines = [
        f"{curators} curators, {took:.0f} s; {len(seen.acts):,} verdicts and undos confirmed, "
        f"{seen.conflicts} conflicts",
        "jobs: " + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())),
        f"load average {min(seen.loads):.1f} to {max(seen.loads):.1f}, mean "
        f"{sum(seen.loads) / len(seen.loads):.1f}, {os.cpu_count()} cores; server at most "
        f"{max(seen.memory):.0f} MiB",
        "",
        "| waited for | times | p50 s | p95 s | p99 s | longest s |",
        "|---|---|---|---|---|---|",
    ]
    for what, times in seen.waits.items():
        p50, p95, p99 = np.percentile(times, [50, 95, 99]).tolist()
        cells = (what, len(times), f"{p50:.2f}", f"{p95:.2f}", f"{p99:.2f}", f"{max(times):.2f}")
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join([*lines, "", *(wrong or ["none lost, none doubled, nothing refused"])])


@contextlib.contextmanager
def database(kind: str) -> Iterator[str | None]:
    """The URL of a fresh database; None: SQLite in the data folder."""
    if kind == "sqlite":
        yield None
        return
    with contextlib.ExitStack() as stack:
        server = os.environ.get("TRACED_TEST_POSTGRESQL_URL")
        if not server:
            binaries = find_binaries()
            if binaries is None:
                raise SystemExit("PostgreSQL is not installed.")
            server = stack.enter_context(temporary_server(binaries))
        yield stack.enter_context(fresh_database(server))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--curators", type=int, default=16)
    parser.add_argument("--most-wait", type=float, default=10.0, help="seconds")
    args = parser.parse_args()
    with database(args.database) as url:
        text, held = run(url, args.curators, args.minutes * 60, args.most_wait)
    print(f"{args.database}: {text}", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
