"""What the server counts, as Prometheus reads it."""

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MEDIA_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The metrics of one server, apart from those of others in the process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        labels, started = ["route", "method", "status"], "Time from a request to the start of its answer."
        self._requests = Counter("hmem_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram("hmem_request_seconds", started, ["route"], buckets=SECONDS, registry=registry)
        asked = "Questions answered in one pass through the model."
        self._batches = Histogram("hmem_batch_questions", asked, buckets=SIZES, registry=registry)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, size: int) -> None:
        """One pass through the model with so many questions."""
        if size:
            self._batches.observe(size)

    def gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """A number that is looked up when the metrics are read, rather than counted."""
        Gauge(f"hmem_{name}", meaning, registry=self._registry).set_function(read)

    def text(self) -> str:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry).decode()
