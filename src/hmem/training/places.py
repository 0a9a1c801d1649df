"""The processes of a training on their machines: which one this is, and those that it has started."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals

PACKAGES = Path(__file__).parents[2]  # the folder that hmem is imported from


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which of the processes this is, and where they meet. Names of the environment are those of torchrun."""

    place: int
    count: int
    here: int  # among the processes of this machine
    count_here: int
    address: str
    port: int
    keeps_store: bool = False  # whether the store in which they meet is kept by this process
    attempt: int = 0  # how often torchrun has started them anew

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Place | None":
        """As torchrun or a first process says; None if there is just one process."""
        count, place = int(environment.get("WORLD_SIZE", "1")), int(environment.get("RANK", "0"))
        if count == 1 or "MASTER_ADDR" not in environment:
            return None
        return cls(
            place=place,
            count=count,
            here=int(environment.get("LOCAL_RANK", place)),
            count_here=int(environment.get("LOCAL_WORLD_SIZE", count)),
            address=environment["MASTER_ADDR"],
            port=int(environment["MASTER_PORT"]),
            keeps_store=place == 0 and environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True",
            attempt=int(environment.get("TORCHELASTIC_RESTART_COUNT", "0")),
        )

    @property
    def prefix(self) -> str:
        """Of the keys in the store, which torchrun keeps when it starts all processes anew."""
        return f"hmem/{self.attempt}"

    def environment(self) -> dict[str, str]:
        """The same for a process to be started."""
        return {
            "RANK": str(self.place), "WORLD_SIZE": str(self.count), "LOCAL_RANK": str(self.here),
            "LOCAL_WORLD_SIZE": str(self.count_here), "MASTER_ADDR": self.address, "MASTER_PORT": str(self.port),
            "TORCHELASTIC_USE_AGENT_STORE": str(self.place != 0), "TORCHELASTIC_RESTART_COUNT": "0",
        }  # fmt: skip


@dataclass(kw_only=True)
class Started:
    """Followers that this process has started; they end with it, however it ends, since their standard input does."""

    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)  # by their place

    def start(self, place: Place, threads: int) -> None:
        environment = {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, **place.environment()}
        environment["OMP_NUM_THREADS"] = str(threads)
        environment["PYTHONPATH"] = os.pathsep.join([str(PACKAGES), *filter(None, [environment.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "hmem.training.follower"]
        self.processes[place.place] = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )

    def ended(self) -> dict[int, str]:
        """How those ended that have failed or were killed; one that leaves because others did has exit code 0."""
        codes = {place: process.poll() for place, process in self.processes.items()}
        return {
            place: f"was ended by {Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            for place, code in codes.items()
            if code
        }

    def stop(self, seconds: float) -> None:
        """Wait a while for them to leave, and end those that do not."""
        until = time.monotonic() + seconds
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()
