"""Training gives what it gave when `make golden` was last run: the losses, and every rank and answer that is clear.

Another processor sums in another order. Losses are compared to 1 part in 10,000, and ranks only where no rival is
closer to the truth than such differences reach.
"""

import json

import pytest

from tests.golden.measure import ENTITIES, RUNS, dataset, golden_file, measure

CLEAR = 0.01  # a difference of scores that rounding does not make


@pytest.mark.parametrize("name", list(RUNS))
def test_training_gives_what_it_gave(name: str) -> None:
    expected = json.loads(golden_file(name).read_text(encoding="utf-8"))
    found = measure(name)
    assert found["losses"] == pytest.approx(expected["losses"], rel=1e-4)
    assert found["queries"] == expected["queries"]
    clear = [place for place, gap in enumerate(expected["gaps"]) if gap > CLEAR]
    assert len(clear) > len(expected["gaps"]) / 2
    assert [found["ranks"][place] for place in clear] == [expected["ranks"][place] for place in clear]
    for answers, scores, now, now_scores in zip(
        expected["best"], expected["best_scores"], found["best"], found["best_scores"], strict=True
    ):
        assert now_scores == pytest.approx(scores, rel=1e-2, abs=CLEAR / 4)
        if scores[0] - scores[1] > CLEAR:
            assert now[0] == answers[0]


def test_the_losses_fall() -> None:
    """Or the figures would be golden and worthless."""
    for name in RUNS:
        losses = json.loads(golden_file(name).read_text(encoding="utf-8"))["losses"]
        assert len(losses) == 12
        assert sum(losses[-4:]) < sum(losses[:4])  # one step may have more of its links withheld than another


def test_the_graph_has_twenty_entities() -> None:
    data = dataset()
    assert (data.num_entities, len(data.train) + len(data.valid) + len(data.test)) == (ENTITIES, 80)
    assert {path.stem for path in golden_file("").parent.glob("*.json")} == set(RUNS)
