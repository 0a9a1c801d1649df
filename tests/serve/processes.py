"""Servers that are processes of their own."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serve.clients import until

ROOT = Path(__file__).resolve().parents[2]


class Running:
    """A process that has started to serve, and all that it says."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        assert process.stdout is not None
        self._reader = threading.Thread(target=lambda: self.lines.extend(self._read()))
        self._reader.start()

    def _read(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield line.rstrip("\n")

    def said(self, pattern: str) -> str:
        """What it says sooner or later, as far as it fits."""
        found: list[str] = []

        def look() -> bool:
            found.extend(match[0] for line in list(self.lines) if (match := re.search(pattern, line)))
            return bool(found) or (self.process.poll() is not None and not self._reader.is_alive())

        until(look, 90)  # several start at a time
        assert found, self.lines
        return found[0]

    def ended(self) -> int:
        code = self.process.wait(30)
        self._reader.join(30)
        return code


@contextmanager
def running(*command: str, folder: Path) -> Iterator[Running]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    environment.pop("HMEM_TOKEN", None)
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment,
    )
    started = Running(process)
    try:
        yield started
    finally:
        process.kill()
        started.ended()
        assert process.stdout is not None
        process.stdout.close()
