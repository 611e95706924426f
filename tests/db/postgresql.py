"""A throw-away PostgreSQL server for the tests, from Debian's binaries, in a temporary folder.

It listens on a UNIX socket in that folder only, trusts everybody who can enter it, and never waits
for the disk. PostgreSQL refuses to run as root, so root runs it as another user.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DEBIAN = Path("/usr/lib/postgresql")


def find_binaries() -> Path | None:
    """The folder of `initdb` and `pg_ctl`, newest version first; None if there is none."""
    installed = [path for path in _DEBIAN.glob("*/bin") if (path / "initdb").exists()]
    if installed:
        return max(installed, key=lambda path: int(path.parent.name))
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


@contextmanager
def temporary_server(binaries: Path) -> Iterator[str]:
    """Start a server; its URL. It is stopped and its folder removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="traced-postgresql-"))
    user = _unprivileged_user()
    if user is not None:
        shutil.chown(folder, user.pw_uid, user.pw_gid)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [str(binaries / program), *arguments],
            check=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            env={**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        )

    data = str(folder / "data")
    settings = (
        f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off "
        "-c synchronous_commit=off -c full_page_writes=off -c shared_buffers=64MB"
    )
    try:
        run(
            "initdb", "-D", data, "-U", "traced", "-A", "trust", "-E", "UTF8", "--no-sync",
            "--locale=C.UTF-8",
        )  # fmt: skip
        run("pg_ctl", "-D", data, "-l", str(folder / "log"), "-o", settings, "-w", "start")
        try:
            yield f"postgresql://traced@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Whom root runs the server as; None if we are not root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")
