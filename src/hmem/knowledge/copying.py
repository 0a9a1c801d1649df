"""A whole knowledge base copied to another place, with its history: from a file into PostgreSQL, back, or as it is."""

from hmem.knowledge.model_link import ModelLink, place_of_model
from hmem.knowledge.store.copying import Watch
from hmem.knowledge.store.places import At
from hmem.knowledge.store.store import Store


def copy(
    source: At, target: At, *, overwrite: bool = False, watch: Watch = lambda what, done, total: None
) -> dict[str, int]:
    """Make a base at `target` that has what the one at `source` has, row by row, and uses the same model.

    All rows are compared before the new base is there for others. How many rows there are in each table.
    """
    with Store.open(source, read_only=True) as old, Store.building(target, overwrite=overwrite) as new:
        counts = new.copy_from(old, watch)
        link = ModelLink.of(old)
        if link is not None:
            new.set_meta(model=place_of_model(new, link.folder))  # as it is seen from there
    return counts
