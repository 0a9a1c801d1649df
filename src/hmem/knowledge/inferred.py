"""Answers that are kept as facts which a model inferred."""

from collections.abc import Iterable

from hmem.errors import ConfigError
from hmem.graph.qualifiers import Given
from hmem.knowledge.results import Prediction
from hmem.knowledge.store.records import Written
from hmem.knowledge.store.store import Store


def store_inferred(
    store: Store, found: Iterable[Prediction], *, model: str, least: float, source: str | None
) -> Written:
    """Store the answers with a probability of `least` or more, with that and the name of the model."""
    rows = [row for row in found if not row.stored]
    if rows and all(row.probability is None for row in rows):
        raise ConfigError("the model is not calibrated, so its answers have no probability to be stored with")
    likely = [row for row in rows if row.probability is not None and row.probability >= least]
    given: Given = {"inferred_by": model, "probability": [row.probability for row in likely]}
    return store.add([row.names for row in likely], source=source, **given)
