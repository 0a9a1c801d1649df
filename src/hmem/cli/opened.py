"""A knowledge base opened for questions, and what is said on the way to an answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from hmem.cli import output, transfer
from hmem.cli.names import Finder
from hmem.cli.progress import import_progress
from hmem.errors import Place

if TYPE_CHECKING:
    from hmem.knowledge.audit import Watch
    from hmem.knowledge.base import KnowledgeBase

FIRST = "the first question to this base: finding out how far answers can be trusted ..."


@contextmanager
def opened(
    kb: Place, device: str, *, for_likely: bool = True, with_inferred: bool = False, to_write: bool = False
) -> "Iterator[tuple[KnowledgeBase, Finder]]":
    """A knowledge base to ask, `for_likely` answers or others, and a finder of its names as they were typed."""
    from hmem.knowledge.base import KnowledgeBase
    from hmem.runs.device import resolve_device

    how = {"read_only": not to_write, "with_inferred": with_inferred}
    with KnowledgeBase.open(kb, device=resolve_device(device), **how) as base:
        if for_likely:
            with base.session() as session:
                counted = session.probabilities.self_calibration
                if counted is not None:
                    counted.before = partial(output.note, FIRST)
        yield base, Finder(base.store)
        base.keep_calibration()


@contextmanager
def watching(what: str) -> "Iterator[Watch]":
    """A bar for something that takes long. The first Ctrl-C ends it with what was found, a second one at once."""
    from hmem.runs.callbacks import CtrlC

    with import_progress() as progress, CtrlC() as ctrl_c:

        def watch(done: int, total: int) -> bool:
            progress(what, done, total)
            if ctrl_c.should_stop():
                output.note(f"stopped after {done:,} of {total:,} {what}")
            return not ctrl_c.should_stop()

        yield watch


def warn_if_outgrown(base: "KnowledgeBase", entity: str, at: str | None = None) -> None:
    """Say why answers about an entity have no probability, if that is why."""
    if base.has_outgrown(entity, at=at):
        output.note(
            f"{output.cell(entity)} has far more facts of one kind than anything had when the model was trained, so "
            f"its answers have no probability and may be wrong. Training anew helps: "
            f"hmem train --from {base.path} --out DIR"
        )


def is_property(kb: Place, name: str) -> bool:
    """Whether a name is that of a property and of no relation."""
    with transfer.open_store(kb, read_only=True) as store:
        return store.naming.get("relation", name) is None and store.naming.get("property", name) is not None
