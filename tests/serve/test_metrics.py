from hmem.serve.metrics import Histogram, Metrics


def test_a_histogram_counts_what_lies_below_its_bounds() -> None:
    made = Histogram((1.0, 2.5))
    for value in (0.5, 1, 2, 9):
        made.observe(value, route="/a")
    made.observe(0.25, route="/b")
    assert list(made.lines("x")) == [
        'x_bucket{route="/a",le="1"} 2',
        'x_bucket{route="/a",le="2.5"} 3',
        'x_bucket{route="/a",le="+Inf"} 4',
        'x_sum{route="/a"} 12.5',
        'x_count{route="/a"} 4',
        'x_bucket{route="/b",le="1"} 1',
        'x_bucket{route="/b",le="2.5"} 1',
        'x_bucket{route="/b",le="+Inf"} 1',
        'x_sum{route="/b"} 0.25',
        'x_count{route="/b"} 1',
    ]


def test_every_figure_is_introduced() -> None:
    made = Metrics()
    made.request("/a", "GET", 200, 0.5)
    made.request("/a", "GET", 200, 0.5)
    made.batch(0)  # a pass in which nobody was left counts for nothing
    text = made.text({"facts": ("Facts stored.", 3), "load": ("Load.", 0.5)})
    lines = text.splitlines()
    assert text.endswith("\n")
    assert 'hmem_requests_total{route="/a",method="GET",status="200"} 2' in lines
    assert "# HELP hmem_facts Facts stored." in lines
    assert lines[-1] == "hmem_load 0.5"
    assert not [line for line in lines if line.startswith("hmem_batch_questions")]
    introduced = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    for line in lines:
        if not line.startswith("#"):
            name = line.partition("{")[0].partition(" ")[0]
            assert any(name.startswith(each) for each in introduced)
