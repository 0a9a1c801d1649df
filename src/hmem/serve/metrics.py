"""What the server counts, as Prometheus reads it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

MEDIA_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def count_in(folder: Path, place: int) -> None:
    """Have this process count in a file of its own in a folder, of which `Metrics` tells the sums.

    There the next process that has its place goes on counting: what was counted never becomes less.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]


class Metrics:
    """The metrics of one server, apart from those of others in the process. Safe to use from several threads."""

    def __init__(self, folder: Path | None = None) -> None:
        """With a `folder` what all processes count there that have called `count_in` before."""
        self._registry = CollectorRegistry()
        own = self._registry if folder is None else None
        labels, started = ["route", "method", "status"], "Time from a request to the start of its answer."
        self._requests = Counter("hmem_requests", "Requests answered.", labels, registry=own)
        self._seconds = Histogram("hmem_request_seconds", started, ["route"], buckets=SECONDS, registry=own)
        asked = "Questions answered in one pass through the model."
        self._batches = Histogram("hmem_batch_questions", asked, buckets=SIZES, registry=own)
        if folder is not None:
            MultiProcessCollector(self._registry, str(folder))  # type: ignore[no-untyped-call]

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, size: int) -> None:
        """One pass through the model with so many questions."""
        if size:
            self._batches.observe(size)

    def gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """A number that is looked up when the metrics are read, rather than counted."""
        self._registry.register(_Gauge(f"hmem_{name}", meaning, read))

    def text(self) -> str:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry).decode()


class _Gauge(Collector):
    def __init__(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        self._name, self._meaning, self._read = name, meaning, read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(self._name, self._meaning, value=self._read())
