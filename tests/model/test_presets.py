import math

import pytest

from hmem.config import Config, from_dict
from hmem.errors import ConfigError
from hmem.memory.completion import Completion, NoCompletion
from hmem.model.explicit import ExplicitMemory
from hmem.model.hmem import HMem
from hmem.model.implicit import ImplicitMemory
from hmem.model.presets import PRESETS, preset
from tests.model.problems import small

PAPER = ["tpr", "tpr-inf", "tpr-im", "tpr-global", "cconv", "cconv-inf", "cconv-im", "cconv-global"]


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_is_a_model(name: str) -> None:
    config = from_dict(Config, preset(name))
    assert config.memory.entity_dim >= 80  # as published, not as in these tests
    memory = small(name).memory
    model = HMem(memory, 5, 2)
    assert isinstance(model.memory, ImplicitMemory if memory.kind == "implicit" else ExplicitMemory)
    assert isinstance(model.completion, NoCompletion if math.isinf(memory.stiffness) else Completion)
    assert (model.exact is None) is (memory.exact is None)


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_rows_are_what_their_names_say(name: str) -> None:
    binding, _, what = name.partition("-")
    memory = from_dict(Config, preset(name)).memory
    assert memory.binding == binding
    assert memory.kind == ("implicit" if what == "im" else "explicit")
    assert memory.stiffness == (math.inf if what == "inf" else 1.0)
    assert memory.local_weight is (what != "global")
    assert memory.weighting == "learned"
    assert memory.exact is None
    assert memory.identity
    assert memory.temperature == (10.0 if binding == "cconv" else 1.0)  # without it CConv does not train


def test_eravg_is_the_published_baseline() -> None:
    """oDistMult-ERAvg: Hadamard products, averaged, left as they are; an entity is its neighborhood alone."""
    memory = from_dict(Config, preset("eravg")).memory
    assert (memory.binding, memory.weighting, memory.stiffness, memory.identity) == (
        "hadamard",
        "mean",
        math.inf,
        False,
    )


def test_recall_has_both_channels_and_withholds_links() -> None:
    config = from_dict(Config, preset("recall"))
    assert config.memory.exact is not None
    assert not config.memory.identity
    assert config.training.link_withholding == 0.5


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("trp-inf", "; did you mean tpr-inf?"),
        ("reccall", "; did you mean recall?"),
        ("transe", f"; there are {', '.join(PRESETS)}"),
    ],
)
def test_a_misspelt_preset_is_answered_with_the_right_one(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        preset(name)
    assert str(caught.value) == f'no preset "{name}"{hint}'
