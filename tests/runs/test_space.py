"""Which settings are tried."""

from typing import Any

import pytest

from hmem.config import Config, from_dict
from hmem.model.presets import preset
from hmem.runs.choose import chosen
from hmem.runs.fit import configure
from hmem.runs.space import Search
from tests.runs.test_choose import chain


class Lowest:
    """A trial in which the first or the lowest value is always taken."""

    def __init__(self, **wanted: Any) -> None:
        self.wanted, self.asked = wanted, dict[str, Any]()

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        self.asked[name] = choices
        return self.wanted.get(name.rpartition(".")[2], choices[0])

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        self.asked[name] = (low, high)
        return low


def search(name: str, can_start: bool = True, fixed: dict[str, Any] | None = None) -> Search:
    config, _ = chosen(configure(preset(name), fixed), chain(20), "cpu")
    return Search(config=config, fixed=fixed or {}, can_start=can_start)


def test_a_new_network_may_have_another_size() -> None:
    trial = Lowest(roles="learned")
    assert search("any-graph").propose(trial)["propagation.dim"] == 16
    assert "propagation.dim" not in search("any-graph").propose(Lowest(roles="both"))
    assert "propagation.dim" in search("propagate", can_start=False).propose(Lowest())
    assert "propagation.roles" not in search("propagate", can_start=False).propose(Lowest())


@pytest.mark.parametrize("name", ["any-graph", "propagate", "recall", "tpr", "eravg"])
def test_what_would_be_taken_without_tuning_is_among_the_values(name: str) -> None:
    every = search(name, can_start=name == "any-graph")
    trial = Lowest(roles="learned")
    proposed = every.propose(trial)
    first = every.first()
    assert proposed.keys() <= first.keys()
    for setting, values in trial.asked.items():
        if isinstance(values[0], float) and len(values) == 2 and "smoothing" not in setting:
            assert values[0] <= first[setting] <= values[1]
        else:
            assert first[setting] in values
    # all of them are settings that a model of this preset has
    nested = {}
    for setting, value in proposed.items():
        nested[setting] = value
    configure(preset(name), [f"{setting}={'none' if value is None else value}" for setting, value in nested.items()])


def test_what_is_given_is_not_tried() -> None:
    fixed = {"training.batch_size": 48, "memory.entity_dim": 10}
    every = search("recall", fixed=None)
    some = Search(config=every.config, fixed=fixed, can_start=False)
    assert every.propose(Lowest()).keys() - some.propose(Lowest()).keys() == set(fixed)
    assert every.first().keys() - some.first().keys() == set(fixed)


def test_a_value_that_is_not_listed_is_the_first_choice() -> None:
    config = from_dict(Config, {"training": {"batch_size": 7, "learning_rate": 0.5}})
    trial = Lowest()
    Search(config=config, fixed={}, can_start=False).propose(trial)
    assert trial.asked["training.batch_size"] == (7, 256, 512, 1024)
    assert trial.asked["training.learning_rate"] == (5e-4, 0.5)
