"""A child process that may take little memory and time, for files that are made to take much."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

MEMORY = 1 << 30  # bytes beside what the imports take
SECONDS = 20  # on a processor, for one file
CHILD = f"""
import resource, signal, sys
from hmem.errors import HMemError
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {MEMORY},) * 2)
for path in sys.stdin:
    signal.setitimer(signal.ITIMER_PROF, {SECONDS})  # which ends the process
    try:
        read(path.rstrip("\\n"))
        said = "read"
    except HMemError as error:
        said = f"refused: {{error}}"
    except BaseException as error:
        said = f"failed: {{type(error).__name__}}: {{error}}"
    print(ascii(said), flush=True)
"""


class Limited:
    """Reads one file after the other by `reading`, a piece of Python that defines `read(path)`."""

    def __init__(self, reading: str) -> None:
        self._reading = reading
        self._process: subprocess.Popen[str] | None = None

    def read(self, path: Path) -> str:
        """What became of it: "read", or "refused: ..." with the reason. Anything else is a failure."""
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-c", self._reading + CHILD]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(path, file=self._process.stdin, flush=True)
        said = self._process.stdout.readline()
        assert said, f"the process ended with {self._process.wait()}"
        found = str(eval(said))
        assert found.startswith(("read", "refused")), found
        assert "\n" not in found
        return found

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()


@contextmanager
def limited(reading: str) -> Iterator[Limited]:
    child = Limited(reading)
    try:
        yield child
    finally:
        child.close()


@st.composite
def damaged(draw: st.DrawFn, *seeds: bytes) -> bytes:
    """One of some files, with a few bytes changed, doubled, taken out or put in."""
    content = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 64)))
        piece = bytes(content[start:end]) * draw(st.sampled_from([0, 1, 2, 500])) + draw(st.binary(max_size=4))
        content[start:end] = piece
    return bytes(content)
