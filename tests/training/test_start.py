"""Where training starts."""

import pytest

from hmem.config import Config, MemoryConfig
from hmem.errors import ConfigError
from hmem.training.start import MOST_RELATIONS, new_model


def test_a_column_of_names_is_not_taken_for_relations() -> None:
    """It has hundreds of thousands of them, and a table of every two would not fit anywhere."""
    explicit, implicit = (
        Config(memory=MemoryConfig(kind=kind, entity_dim=2, relation_dim=2)) for kind in ("explicit", "implicit")
    )
    with pytest.raises(ConfigError, match=r"16,001 relations are too many .* read as relations\?"):
        new_model(explicit, 3, MOST_RELATIONS + 1)
    for config, relations in ((explicit, MOST_RELATIONS), (implicit, MOST_RELATIONS + 1)):
        assert new_model(config, 3, relations).num_relations == relations
