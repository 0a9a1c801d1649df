"""A real PostgreSQL for tests: Debian's, in a temporary folder, started by the first test of a process that needs it.

It listens on a socket in that folder only, and ends with the process. Where it cannot be started the test is skipped.
"""

import atexit
import functools
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

PORT = 5432  # part of the name of the socket
HASTY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
SMALL = ("shared_buffers=32MB", "max_connections=50", "autovacuum=off", "log_min_messages=fatal")
numbers = itertools.count()


class Postgres:
    """A server. With `is_durable` it waits for the disk, as one does that keeps what matters."""

    def __init__(self, *, is_durable: bool = False, host: str = "", port: int = PORT) -> None:
        self.port = port
        self.folder = Path(tempfile.mkdtemp(prefix="hmem-pg-"))
        self._settings = (*(() if is_durable else HASTY), *SMALL, f"listen_addresses={host}")
        self._as_user = _as_user(self.folder)
        self._data = self.folder / "data"
        made = [*self._as_user, _program("initdb"), "-D", str(self._data), "-U", "hmem", "-A", "trust", "-E", "UTF8"]
        _run([*made, "--locale=C.UTF-8", "--no-sync"])
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        settings = [word for setting in self._settings for word in ("-c", setting)]
        command = [_program("postgres"), "-D", str(self._data), "-k", str(self.folder), "-p", str(self.port), *settings]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*self._as_user, *command], stdout=log, stderr=log)
        ready = [
            _program("pg_isready"),
            "-q",
            "-h",
            str(self.folder),
            "-p",
            str(self.port),
            "-U",
            "hmem",
            "-d",
            "postgres",
        ]
        until = time.monotonic() + 60
        while subprocess.run(ready).returncode:
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """At once by default; with SIGKILL as if the machine had lost its power, but for what its kernel keeps."""
        if self._process is None:
            return
        if how == signal.SIGKILL:  # the postmaster would leave its children behind
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            for process in (self._process.pid, *map(int, children)):
                os.kill(process, signal.SIGKILL)
        else:
            self._process.send_signal(how)
        self._process.wait(timeout=60)
        self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, schema: str, user: str = "hmem") -> str:
        return f"postgresql://{user}@/postgres?host={self.folder}&port={self.port}&schema={schema}"

    def new_address(self) -> str:
        """That of a base that is not there yet."""
        return self.address(f"zoo{next(numbers)}")


@functools.lru_cache(maxsize=1)
def postgres() -> Postgres:
    """The server that the tests of this process share."""
    refuse_without()
    server = Postgres()
    atexit.register(server.remove)
    return server


def refuse_without() -> None:
    """Skip the test if there can be no server."""
    pytest.importorskip("psycopg")
    if _find("postgres") is None:
        pytest.skip("there is no PostgreSQL here; on Debian: apt-get install postgresql")


def _find(name: str) -> str | None:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return shutil.which(name) or (str(installed[-1]) if installed else None)


def _program(name: str) -> str:
    found = _find(name)
    assert found is not None, name
    return found


def _as_user(folder: Path) -> list[str]:
    """Words before a command: root may not run a server, which ends with the process that started it."""
    dying = ["--pdeathsig", "QUIT"]
    if os.geteuid() != 0:
        return ["setpriv", *dying] if shutil.which("setpriv") else []
    names = {user.pw_name for user in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, user)
    ids = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={ids.pw_uid}", f"--regid={ids.pw_gid}", "--clear-groups", *dying]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"PostgreSQL cannot be set up here: {done.stderr.strip().splitlines()[-1:]}")
