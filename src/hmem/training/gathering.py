"""How the processes of a training find each other: the first starts the others, or torchrun has started all."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined]  # named in its documentation

from hmem.errors import ConfigError, Hint, ProcessError
from hmem.training import processes
from hmem.training.places import Place, Started
from hmem.training.processes import ALONE, END, Processes, Together

TO_BEGIN = timedelta(minutes=5)  # for followers, to import what they need and to answer
SECONDS_TO_LEAVE = 10.0
HERE = "127.0.0.1"


@contextmanager
def gathered(wanted: int | Place, device: str) -> Iterator[Processes]:
    """This process as the first of several, those that are `wanted` or that torchrun has started; the others follow it.

    Those that are started here end with this while, whatever ends it.
    """
    if wanted == 1:
        yield ALONE
        return
    if dist.is_initialized():
        raise ConfigError("torch.distributed is in use in this process already; train in one process of its own")
    started, threads = Started(), torch.get_num_threads()
    if isinstance(wanted, Place):
        place, store = wanted, meeting(wanted, processes.PATIENCE)
    else:
        listening = socket.create_server((HERE, 0))  # of its own accord the store would listen to the whole network
        port, descriptor = listening.getsockname()[1], listening.detach()
        server = TCPStore(HERE, port, is_master=True, wait_for_workers=False, master_listen_fd=descriptor)
        place = Place(place=0, count=wanted, here=0, count_here=wanted, address=HERE, port=port)
        store = PrefixStore(place.prefix, server)
    backend = backend_for(device, place)
    try:
        if wanted is not place:
            torch.set_num_threads(max(1, threads // place.count))
            for other in range(1, place.count):
                started.start(replace(place, place=other, here=other), torch.get_num_threads())
        store.set("device", device)
        _wait_for_all(place, store, started)
        together = Together(place, store, backend, started)
        yield together
        with suppress(ProcessError):  # nothing is wanted of them any more
            together.order(END)
        started.stop(SECONDS_TO_LEAVE)
    finally:
        started.stop(0.0)
        torch.set_num_threads(threads)
        if dist.is_initialized():
            dist.destroy_process_group()


def _wait_for_all(place: Place, store: Store, started: Started) -> None:
    until = time.monotonic() + TO_BEGIN.total_seconds()
    others = [f"here/{other}" for other in range(1, place.count)]
    while not store.check(others):
        for other, how in started.ended().items():
            raise ProcessError(f"process {other} of {place.count} {how} before it began")
        if time.monotonic() > until:
            raise ProcessError(f"not all of the {place.count} processes have come after {TO_BEGIN}")
        time.sleep(0.05)


def meeting(place: Place, timeout: timedelta) -> Store:
    """Where the processes of a training find each other."""
    store = TCPStore(place.address, place.port, is_master=place.keeps_store, wait_for_workers=False, timeout=timeout)
    return PrefixStore(place.prefix, store)


def dismiss(place: Place) -> None:
    """Let followers leave that torchrun has started for a command that did not train in the end, or has trained."""
    if not place.keeps_store:
        with suppress(RuntimeError):
            meeting(place, processes.PATIENCE).set("over", "")


def backend_for(device: str, place: Place) -> str:
    """What carries messages between processes: gloo in general, NCCL between GPUs, of which each process has one."""
    if not device.startswith("cuda"):
        return "gloo"
    if ":" in device:
        problem = f"each of {place.count} processes takes a GPU of its own, and not {device}"
        raise ConfigError(problem, hint=Hint(text="try", option="device", value="cuda"))
    if torch.cuda.device_count() < place.count_here:
        found = torch.cuda.device_count()
        raise ConfigError(f"{place.count_here} processes need as many GPUs, and this machine has {found}")
    torch.cuda.set_device(place.here)
    return "cpu:gloo,cuda:nccl"
