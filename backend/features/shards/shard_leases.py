"""Which shards are being scored, and by which command, when several have one destination.

Each command keeps one file there, `ITS-NAME.lease`: the shards that it is scoring, and until when
that holds. It is renewed while the command lives, so that what a killed one has begun is free again
after `HOLDS` seconds, at once for a command of the same machine. A lease is written, then the
others' are read: of two commands that want a shard at the same moment each sees the other's lease
or is seen, and whoever sees one withdraws. Clocks may differ by less than `HOLDS`.
"""

import json
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from backend.datasets.safe_files.locations import Location, StoredFile
from backend.errors import TracedError

#: Seconds for which a lease holds, and after which it is renewed.
HOLDS, _RENEWED_AFTER = 120.0, 30.0
_ENDING = ".lease"
#: Seconds before a shard that another wanted too is tried again, at most.
_PAUSE = 0.5


class Leases:
    """The shards that this command has taken; given back when the context ends."""

    def __init__(self, out: Location) -> None:
        self._out = out
        self._host, self._process = socket.gethostname(), os.getpid()
        self._name = f"{self._host}-{self._process}-{uuid.uuid4().hex[:8]}{_ENDING}"
        self._shards: set[str] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> "Leases":
        self._renewing.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._renewing.join()
        self._out.remove(self._name)

    def take(self, shard: str) -> Mapping[str, StoredFile] | None:
        """The files of the destination once the shard is this command's; None if another command
        has it. Raises ExportError if the lease cannot be written."""
        if shard in self.of_others(self._out.files()):
            time.sleep(random.uniform(0, _PAUSE))
            return None
        with self._lock:
            self._shards.add(shard)
            self._write()
        files = self._out.files()
        if shard in self.of_others(files):  # both withdraw, and not in step
            self.give_back(shard)
            time.sleep(random.uniform(0, _PAUSE))
            return None
        return {file.name: file for file in files}

    def give_back(self, shard: str) -> None:
        with self._lock:
            self._shards.discard(shard)
            self._write()

    def of_others(self, files: Sequence[StoredFile]) -> set[str]:
        """The shards that other commands are scoring. Removes the leases that no longer hold."""
        shards: set[str] = set()
        for file in files:
            if not file.name.endswith(_ENDING) or file.name == self._name:
                continue
            with suppress(ValueError, KeyError, TypeError):
                lease = json.loads(self._out.read(file.name) or b"{}")
                if self._holds(lease):
                    shards.update(lease["shards"])
                    continue
            self._out.remove(file.name)
        return shards

    def _holds(self, lease: Mapping[str, Any]) -> bool:
        if lease["until"] < time.time():
            return False
        return lease["host"] != self._host or _is_alive(lease["process"])

    def _renew(self) -> None:
        while not self._ended.wait(_RENEWED_AFTER):
            # Of a moment without connection nothing is lost yet: a shard is scored twice at worst.
            with suppress(TracedError, OSError), self._lock:
                self._write()

    def _write(self) -> None:
        lease = {
            "host": self._host, "process": self._process, "until": time.time() + HOLDS,
            "shards": sorted(self._shards),
        }  # fmt: skip
        self._out.write(self._name, json.dumps(lease).encode())


def _is_alive(process: int) -> bool:
    import psutil

    return psutil.pid_exists(process)
