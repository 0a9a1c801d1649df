from pathlib import Path

import pytest
from prometheus_client import values

from hmem.serve.metrics import Metrics, count_in


def test_requests_and_passes_are_counted() -> None:
    made = Metrics()
    for seconds in (0.004, 0.02, 99.0):
        made.request("/a", "GET", 200, seconds)
    made.request("/b", "POST", 404, 0.25)
    made.batch(0)  # a pass in which no question was left counts for nothing
    made.batch(3)
    lines = made.text().splitlines()
    for line in (
        'hmem_requests_total{method="GET",route="/a",status="200"} 3.0',
        'hmem_requests_total{method="POST",route="/b",status="404"} 1.0',
        'hmem_request_seconds_bucket{le="0.005",route="/a"} 1.0',
        'hmem_request_seconds_bucket{le="0.025",route="/a"} 2.0',
        'hmem_request_seconds_bucket{le="10.0",route="/a"} 2.0',
        'hmem_request_seconds_bucket{le="+Inf",route="/a"} 3.0',
        'hmem_request_seconds_count{route="/b"} 1.0',
        'hmem_batch_questions_bucket{le="2.0"} 0.0',
        'hmem_batch_questions_bucket{le="4.0"} 1.0',
        "hmem_batch_questions_sum 3.0",
    ):
        assert line in lines


def test_a_gauge_is_read_when_it_is_asked_for_and_every_metric_is_introduced() -> None:
    made, load = Metrics(), [1.0]
    made.gauge("load", "Load.", lambda: load[0])
    load[0] = 0.5
    lines = made.text().splitlines()
    assert "# HELP hmem_load Load." in lines
    assert lines[-1] == "hmem_load 0.5"
    introduced = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    for line in lines:
        if not line.startswith("#"):
            name = line.partition("{")[0].partition(" ")[0]
            assert any(name.startswith(each) for each in introduced)


def test_two_servers_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.batch(2)
    assert "hmem_batch_questions_sum 2.0" in one.text()
    assert "hmem_batch_questions_sum 0.0" in other.text()


def test_several_processes_tell_the_sum_and_forget_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    for place in (0, 1, 0):  # the first ends, and another takes its place
        count_in(tmp_path, place)
        made = Metrics(tmp_path)
        made.request("/a", "GET", 200, 0.02)
        made.batch(2)
        made.gauge("load", "Load.", lambda place=place: place)  # type: ignore[misc]
    lines = made.text().splitlines()
    for line in (
        'hmem_requests_total{method="GET",route="/a",status="200"} 3.0',
        'hmem_request_seconds_bucket{le="0.025",route="/a"} 3.0',
        'hmem_request_seconds_bucket{le="0.01",route="/a"} 0.0',
        "hmem_batch_questions_sum 6.0",
        "# HELP hmem_requests_total Requests answered.",
        "hmem_load 0.0",
    ):
        assert line in lines
