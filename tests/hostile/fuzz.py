"""Random rows, damaged files and random calls for some minutes, on both databases:

    python -m tests.hostile.fuzz --minutes 30

Every input is either accepted or refused with one of the program's own errors; anything else is
unexpected, is printed with how to repeat it (--seed S --case N), and the exit status is 1.
"""

import argparse
import contextlib
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from backend.errors import TracedError
from backend.jobs.import_dataset import import_dataset
from backend.jobs.reports import ExportChoice
from backend.review.queue_form import KEYS, from_text
from backend.review.views import fingerprint_of
from backend.settings import load_settings
from backend.store import Store, open_database
from backend.workspace import Workspace
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from tests.fixtures.postgresql import find_binaries, temporary_server
from tests.fixtures.stores import fresh_database
from tests.hostile import fuzz_http
from tests.hostile import fuzz_inputs as inputs
from tests.traced_ui.serving import serving
from traced_ui.api import TOOLS, Actions
from traced_ui.arguments import checked

#: Seconds that one input may take, on a slow machine.
PATIENCE = 120
#: Seconds from which an input is reported as slow.
_SLOW = 10.0
#: Calls that need a model are slow: only one in this many is made.
_WITH_MODEL, _SELDOM = ("check", "suggest", "similar"), 40
_PAIRS = 12
_PASSWORD = "a long password"


class Unexpected(AssertionError):
    """What was read is not what it must be."""


class TooLong(BaseException):
    """An input takes too long; no reader may catch this as an error of its own."""


@dataclass
class Tally:
    """The outcomes of the inputs of one target."""

    counts: Counter[str] = field(default_factory=Counter)
    unexpected: dict[str, str] = field(default_factory=dict)
    slowest: float = 0.0
    slowest_case: str = ""

    def add(self, case: str, outcome: str, where: str, shown: str, seconds: float) -> None:
        self.counts[outcome] += 1
        if seconds > self.slowest:
            self.slowest, self.slowest_case = seconds, case
        if outcome == "unexpected":
            repeat = f"--seed {case.partition(':')[0]} --case {case!r}"
            self.unexpected.setdefault(where, f"{repeat}\n{shown}")


@dataclass
class Target:
    """A target of inputs: `attack` takes a random number generator and an empty folder."""

    name: str
    attack: Callable[[random.Random, Path], None]


def import_of(store: Store) -> Callable[[Path, Path], None]:
    """Import a file or folder, check what is in the store, and delete it."""

    def check(path: Path, folder: Path) -> None:
        try:
            report = import_dataset(store, path, name="fuzz", data_directory=folder / "state")
        except TracedError:
            with store.reading() as session:
                if dataset_queries.list_datasets(session):
                    raise Unexpected("a refused import leaves a dataset") from None
            raise
        with store.reading() as session:
            pairs = list(pair_queries.iterate_pairs(session, report.dataset_id))
            problems = dataset_queries.list_problems(session, report.dataset_id)
        with store.writing() as session:
            dataset_queries.delete_dataset(session, report.dataset_id)
        if len(pairs) != report.added or len(problems) < min(report.problems, 1):
            raise Unexpected(f"{report} and {len(pairs)} pairs, {len(problems)} problems")
        for pair in pairs:
            json.dumps(pair.extra, allow_nan=False, ensure_ascii=False).encode()
            if not pair.caption.strip():
                raise Unexpected(f"an empty caption: {pair.external_id!r}")
        if not all(problem.file and problem.message for problem in problems):
            raise Unexpected("a problem without a file or a message")

    return check


def readers(name: str, store: Store) -> list[Target]:
    """Targets that import into a store."""
    check = import_of(store)

    def tables(rng: random.Random, folder: Path) -> None:
        _pictures(folder)
        form = rng.choice(list(inputs.FORMS))
        (folder / form).write_bytes(inputs.FORMS[form](inputs.rows(rng)))
        check(folder / form, folder)

    def damaged(rng: random.Random, folder: Path) -> None:
        _pictures(folder)
        form = rng.choice(list(inputs.FORMS))
        content = inputs.FORMS[form]([{"file_name": "a.png", "caption": f"{n}"} for n in range(3)])
        (folder / form).write_bytes(inputs.mutated(rng, content))
        check(folder / form, folder)

    def folders(rng: random.Random, folder: Path) -> None:
        _pictures(folder)
        inputs.folder(rng, folder)
        check(folder, folder.parent)

    return [
        Target(f"tables, {name}", tables),
        Target(f"damaged files, {name}", damaged),
        Target(f"folders, {name}", folders),
    ]


def arguments_of(workspace: Workspace) -> Callable[[random.Random, str], Any]:
    """Values for the arguments of the named endpoints, mostly of the right type: the ids of a `job`
    and a dataset (`dataset_id`), and a pair's id and fingerprint (`seen`)."""
    with workspace.store.reading() as session:
        pairs = list(pair_queries.iterate_pairs(session, 1))
        jobs = [job.id for job in workspace.jobs.recent()]
    ids = [pair.id for pair in pairs]
    seen = [
        (pair.id, fingerprint_of(pair.external_id, pair.caption, pair.image_path)) for pair in pairs
    ]

    def argument(rng: random.Random, name: str) -> Any:
        if name == "seen":
            return rng.choice(seen) if rng.random() < 0.8 else (rng.choice(ids), inputs.text(rng))
        if rng.random() < 0.3:
            return inputs.value(rng)
        match name:
            case "dataset":
                return rng.choice(("pairs", "pairs", inputs.text(rng)))
            case "pair_id" | "suggestion_id":
                return rng.choice((*ids, 0, -1, 2**63, 2**70))
            case "job":
                return rng.choice((*jobs, 0, -1, 2**63, 2**70))
            case "dataset_id":
                return rng.choice((1, 1, 1, 2, 0, 2**63, 2**70))
            case "version" | "limit":
                return rng.randrange(-1, 5)
            case "verdict":
                return rng.choice(("correct", "drop", "correction", "abstract", "unsure"))
            case "review":
                return rng.choice(("unreviewed", "decided", "disputed", "all"))
            case "order":
                return rng.choice(("p_error", "s_0", "gain", "icc", "uncertainty", "position"))
            case "after":
                return rng.choice(("", json.dumps([rng.random(), rng.choice(ids)]), "[null, 3]"))
            case "way":
                return rng.choice(("image", "duplicate", "caption"))
            case "meaning":
                return ""
        return inputs.text(rng)

    return argument


def endpoints(name: str, workspace: Workspace) -> Target:
    """The named endpoints with random arguments."""
    actions, argument = Actions(workspace), arguments_of(workspace)

    def attack(rng: random.Random, folder: Path) -> None:
        if rng.random() < 0.2:
            fields = {rng.choice(KEYS): inputs.text(rng) for _ in range(rng.randrange(4))}
            fields.pop("meaning", None)
            typed = "&".join(f"{key}={text}" for key, text in fields.items())
            from_text(typed)
            workspace.review.select_pairs(1, typed)
            return
        tool = rng.choice(TOOLS)
        while tool in _WITH_MODEL and rng.randrange(_SELDOM):
            tool = rng.choice(TOOLS)
        function = getattr(actions, tool)
        wanted = function.__code__.co_varnames[1 : function.__code__.co_argcount]
        given = {name: argument(rng, name) for name in wanted if name != "request"}
        for name in list(given)[1:]:
            if rng.random() < 0.5 and name not in ("version", "verdict", "caption"):
                del given[name]
        json.dumps(checked(function)(**given), allow_nan=False)

    return Target(f"endpoints, {name}", attack)


@contextlib.contextmanager
def requests(name: str, workspace: Workspace) -> Iterator[Target]:
    """Requests of all sorts to the server, with a login, on a real port."""
    workspace.accounts.add("Ada", _PASSWORD)
    token = workspace.accounts.log_in("Ada", _PASSWORD)
    assert token is not None

    def outcome_of(job: int) -> str:
        while not workspace.jobs.job(job).has_ended:  # for at most PATIENCE
            time.sleep(0.02)
        return workspace.jobs.job(job).message

    out = workspace.settings.data_directory / "exports" / "clean"
    outcome_of(workspace.jobs.start("export", 1, choice=ExportChoice(), out=str(out),
                                    format="imagefolder"))  # fmt: skip
    with serving(workspace, login=True) as address:
        attack = fuzz_http.attacker(address, token, arguments_of(workspace), outcome_of)
        yield Target(f"requests, {name}", attack)


def _pictures(folder: Path) -> None:
    (folder / "a.png").write_bytes(inputs.picture())
    (folder / "b.jpg").write_bytes(inputs.picture("JPEG"))


def feed(target: Target, case: str) -> tuple[str, str, str]:
    """The outcome of one input: taken, refused or unexpected; the last with place and traceback."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        inside = Path(folder) / "pairs"
        inside.mkdir()
        signal.alarm(PATIENCE)
        try:
            target.attack(random.Random(case), inside)
        except TracedError as refused:
            if str(refused).strip():
                return "refused", "", ""
            return "unexpected", "an error without a message", repr(refused)
        except (Exception, TooLong) as problem:
            return "unexpected", _where(problem), "".join(traceback.format_exception(problem))
        finally:
            signal.alarm(0)
    return "taken", "", ""


def _where(problem: BaseException) -> str:
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__} in {Path(frame.filename).name}:{frame.lineno}"


def table(tallies: dict[str, Tally]) -> tuple[str, bool]:
    """The table in Markdown, and whether nothing unexpected happened."""
    lines = [
        "| fed | inputs | taken | refused | unexpected | slowest |",
        "|---|---|---|---|---|---|",
    ]
    for name, tally in tallies.items():
        counts = tally.counts
        cells = (name, counts.total(), counts["taken"], counts["refused"], counts["unexpected"],
                 f"{tally.slowest:.1f} s")  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += [
        f"\n{name}: the slowest input was --case '{tally.slowest_case}'"
        for name, tally in tallies.items()
        if tally.slowest > _SLOW
    ]
    for name, tally in tallies.items():
        lines += [f"\n{name}: {where}\n{shown}" for where, shown in tally.unexpected.items()]
    is_sound = all(not t.unexpected and t.counts.total() for t in tallies.values())
    return "\n".join(lines), is_sound and bool(tallies)


def run(targets: list[Target], seed: str, first: int, seconds: float, journal: Path) -> None:
    """Feed all targets in turn, at least one input each, until the time is up. The journal gets a
    line before and after each input, because some inputs may end the program."""
    until = time.monotonic() + seconds
    number = first
    with journal.open("a", encoding="utf-8") as file:
        while number == first or time.monotonic() < until:
            for target in targets:
                case = f"{seed}:{number}:{target.name}"
                print(json.dumps({"case": case}), file=file, flush=True)
                started = time.monotonic()
                outcome = feed(target, case)
                done = {"case": case, "outcome": outcome, "seconds": time.monotonic() - started}
                print(json.dumps(done), file=file, flush=True)
            number += 1


def tallied(journal: Path) -> dict[str, Tally]:
    """The journal's outcomes by target. An input that was begun but not finished has ended the
    program."""
    tallies: dict[str, Tally] = {}
    begun = ""
    lines = [*journal.read_text("utf-8").splitlines(), json.dumps({"case": ""})]
    for line in map(json.loads, lines):
        if "outcome" in line:
            target = tallies.setdefault(line["case"].split(":", 2)[2], Tally())
            outcome, where, shown = line["outcome"]
            target.add(line["case"], outcome, where, shown, line["seconds"])
            begun = ""
            continue
        if begun:
            target = tallies.setdefault(begun.split(":", 2)[2], Tally())
            target.add(begun, "unexpected", "the program ended", "", 0.0)
        begun = line["case"]
    return tallies


def guarded(seed: str, seconds: float) -> dict[str, Tally]:
    """Feed in a separate process; if an input ends it, another continues with the next input."""
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        journal, output = Path(folder) / "journal", Path(folder) / "output"
        first = 0
        while True:
            rest = max(0.0, until - time.monotonic()) / 60
            with output.open("wb") as file:  # Gradio prints a traceback for each refusal
                done = subprocess.run(
                    [sys.executable, "-m", "tests.hostile.fuzz", "--minutes", str(rest), "--seed",
                     seed, "--first", str(first), "--journal", str(journal)],
                    check=False, stdout=file, stderr=file,
                )  # fmt: skip
            lines = journal.read_text("utf-8").splitlines() if journal.exists() else []
            if done.returncode or not lines:
                print(output.read_text("utf-8", "replace")[-4000:], file=sys.stderr)
                print(f"The program ended with status {done.returncode} after "
                      f"{lines[-1][:200] if lines else 'nothing'}", file=sys.stderr)  # fmt: skip
            if not lines:
                return {}
            last = json.loads(lines[-1])
            if done.returncode and "outcome" in last:
                note_end(journal, last["case"], done.returncode)
            first = int(last["case"].split(":")[1]) + 1
            if done.returncode == 0 or time.monotonic() >= until:
                return tallied(journal)


def note_end(journal: Path, case: str, status: int) -> None:
    """Note that the program failed between two inputs, or after the last."""
    seed, number, _ = case.split(":", 2)
    outcome = ("unexpected", f"status {status}", f"after {case}")
    line = {"case": f"{seed}:{number}:the program itself", "outcome": outcome, "seconds": 0.0}
    with journal.open("a", encoding="utf-8") as file:
        print(json.dumps(line), file=file)


@contextlib.contextmanager
def databases(folder: Path) -> Iterator[dict[str, tuple[str, str]]]:
    """Two fresh databases by name: SQLite's, and PostgreSQL's where it is installed."""
    lite = {"SQLite": (f"sqlite:///{folder}/imports.db", f"sqlite:///{folder}/reviewed.db")}
    with contextlib.ExitStack() as stack:
        server = os.environ.get("TRACED_TEST_POSTGRESQL_URL")
        if not server and (binaries := find_binaries()) is not None:
            server = stack.enter_context(temporary_server(binaries))
        if not server:
            print("PostgreSQL is not installed: not tried.", file=sys.stderr)
            yield lite
            return
        first = stack.enter_context(fresh_database(server))
        second = stack.enter_context(fresh_database(server))
        yield {**lite, "PostgreSQL": (first, second)}


@contextlib.contextmanager
def targets_on(name: str, urls: tuple[str, str], folder: Path) -> Iterator[list[Target]]:
    """All targets on two databases: one for imports, one that the endpoints work on."""
    imports = open_database(urls[0])
    source = folder / "pairs"
    source.mkdir(exist_ok=True)
    _pictures(source)
    lines = [{"file_name": "a.png", "id": f"p{n}", "caption": f"A dog {n}."} for n in range(_PAIRS)]
    lines.append({"file_name": "gone.png", "id": "=1+1", "caption": "A picture that is left out."})
    (source / "metadata.jsonl").write_text("\n".join(map(json.dumps, lines)))
    state = {"data_directory": str(folder / f"state {name}"), "database": urls[1]}
    reviewed = Workspace(load_settings(state, {}))
    reviewed.jobs.import_dataset(source)
    try:
        with requests(name, reviewed) as server:
            yield [*readers(name, imports), endpoints(name, reviewed), server]
    finally:
        imports.close()
        reviewed.store.close()


def _give_up(signal_number: int, frame: FrameType | None) -> None:
    raise TooLong(f"longer than {PATIENCE} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", default=None, help="default: another one each time, printed")
    parser.add_argument("--case", default=None, help="only this input, as it was printed")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--journal", type=Path, default=None, help=argparse.SUPPRESS)
    args = parser.parse_args()
    seed = args.seed or str(random.SystemRandom().randrange(10**9))
    if args.case is None and args.journal is None:
        print(f"--seed {seed}", file=sys.stderr)
        text, is_sound = table(guarded(seed, args.minutes * 60))
        print(text)
        return 0 if is_sound else 1
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, _give_up)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as made, contextlib.ExitStack() as stack:
        targets: list[Target] = []
        for name, urls in stack.enter_context(databases(Path(made))).items():
            if args.case is None or args.case.endswith(name):
                targets += stack.enter_context(targets_on(name, urls, Path(made)))
        if args.case is None:
            run(targets, seed, args.first, args.minutes * 60, args.journal)
            return 0
        (target,) = (target for target in targets if args.case.endswith(f":{target.name}"))
        outcome, _, shown = feed(target, args.case)
        print(outcome, shown, sep="\n")
        return 1 if outcome == "unexpected" else 0


if __name__ == "__main__":
    sys.exit(main())
