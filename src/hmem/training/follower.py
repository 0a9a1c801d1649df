"""A process that trains with others and follows the first of them: it has its share of each batch, and decides nothing.

The first process starts it as `python -m hmem.training.follower`; torchrun starts the same command in all processes,
and `hmem.cli.main` turns all but the first into followers before they read an option or a fact.
"""

import os
import signal
import sys
import threading
import time
import warnings

import torch
import torch.distributed as dist

from hmem.errors import ProcessError
from hmem.training.allocation import kept_memory
from hmem.training.gathering import backend_for, meeting
from hmem.training.loop import matmul_precision
from hmem.training.material import Material
from hmem.training.places import Place
from hmem.training.processes import END, WHILE_FIRST_IS_BUSY, Together
from hmem.training.split import steps_of


def follow(place: Place) -> int:
    """Train with the others until the first process says that it is over; returns an exit code."""
    warnings.simplefilter("ignore")  # the first process has its share of them
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which the first process turns into an order
    try:
        store = meeting(place, WHILE_FIRST_IS_BUSY)
        device = _called(store)
        store.set(f"here/{place.place}", "")
        processes = Together(place, store, backend_for(device, place))
    except (RuntimeError, ProcessError):  # the first process has ended, and has said why
        return 0
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as SIGINT
    try:
        _train(processes, device)
    except ProcessError:  # so has another, which is not for this one to tell
        return 0
    except Exception as error:
        processes.failed(error)
        return 1
    dist.destroy_process_group()
    return 0


def _called(store: dist.Store) -> str:
    """Wait until the first process calls, which may read a large graph before; returns the device to train on."""
    while not store.check(["device"]):  # not `wait`, which no signal would end
        if store.check(["over"]):
            raise ProcessError("the first process has left without training")
        time.sleep(0.2)
    device: bytes = store.get("device")
    return device.decode()


def _train(processes: Together, device: str) -> None:
    material: Material | None = processes.map(None)
    assert material is not None
    here = torch.device(device if device == "cpu" else f"{device}:{processes.at.here}")
    with matmul_precision(material.config.training.precision), kept_memory():
        steps = steps_of(material, here, processes)
        while (order := processes.next_order()).kind != END:
            steps.obey(order)


def _end_with_the_first() -> None:
    """Leave when standard input ends, of which the first process has the other end."""
    while os.read(sys.stdin.fileno(), 1):  # a buffered read would hold a lock that Python wants when it ends
        pass
    os._exit(0)


if __name__ == "__main__":
    found = Place.of(os.environ)
    assert found is not None, "started by the first process"
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    sys.exit(follow(found))
