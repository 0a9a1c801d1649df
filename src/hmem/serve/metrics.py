"""What the server counts, as Prometheus reads it."""

import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


class Histogram:
    """How many values lie below each of a few bounds, for each set of labels."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self._cells: dict[tuple[tuple[str, str], ...], tuple[list[int], list[float]]] = {}

    def observe(self, value: int | float, **labels: str) -> None:
        empty = [0] * (len(self.bounds) + 1), [0.0]
        counts, total = self._cells.setdefault(tuple(labels.items()), empty)
        counts[bisect_left(self.bounds, value)] += 1
        total[0] += value

    def lines(self, name: str) -> Iterator[str]:
        for labels, (counts, total) in sorted(self._cells.items()):
            below = 0
            for bound, count in zip((*map(_number, self.bounds), "+Inf"), counts, strict=True):
                below += count
                yield f"{name}_bucket{_labels((*labels, ('le', bound)))} {below}"
            yield f"{name}_sum{_labels(labels)} {_number(total[0])}"
            yield f"{name}_count{_labels(labels)} {below}"


class Metrics:
    """Counters of one server. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = {}
        self._seconds = Histogram(SECONDS)
        self._batches = Histogram(SIZES)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        with self._lock:
            key = route, method, status
            self._requests[key] = self._requests.get(key, 0) + 1
            self._seconds.observe(seconds, route=route)

    def batch(self, size: int) -> None:
        """One pass through the model with so many questions."""
        if size:
            with self._lock:
                self._batches.observe(size)

    def text(self, gauges: Mapping[str, tuple[str, int | float]]) -> str:
        """Everything, together with figures that are looked up rather than counted: name → meaning and value."""
        with self._lock:
            lines = list(self._lines(gauges))
        return "\n".join(lines) + "\n"

    def _lines(self, gauges: Mapping[str, tuple[str, int | float]]) -> Iterator[str]:
        yield from _head("hmem_requests_total", "counter", "Requests answered.")
        for (route, method, status), count in sorted(self._requests.items()):
            labels = ("route", route), ("method", method), ("status", str(status))
            yield f"hmem_requests_total{_labels(labels)} {count}"
        yield from _head("hmem_request_seconds", "histogram", "Time from a request to the start of its answer.")
        yield from self._seconds.lines("hmem_request_seconds")
        yield from _head("hmem_batch_questions", "histogram", "Questions answered in one pass through the model.")
        yield from self._batches.lines("hmem_batch_questions")
        for name, (meaning, value) in gauges.items():
            yield from _head(f"hmem_{name}", "gauge", meaning)
            yield f"hmem_{name} {_number(value)}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"


def _labels(labels: Sequence[tuple[str, str]]) -> str:
    """Every value here is chosen by the server, so there is nothing to escape."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""


def _number(value: int | float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
