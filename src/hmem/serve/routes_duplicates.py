"""Entities that are probably one, what makes them one, and what turns a write back."""

from typing import Annotated

from fastapi import APIRouter, Query

from hmem.knowledge.duplicates import Finder
from hmem.knowledge.store.merge import Merged
from hmem.knowledge.store.store import Store
from hmem.serve.context import BRIEF, TheService, failures, writing
from hmem.serve.requests import MergeIn, UndoIn
from hmem.serve.responses_facts import DuplicatesOut, MergedOut, UndoneOut

MOST = 1_000  # pairs

router = APIRouter(tags=["facts"])


@router.get("/duplicates", **BRIEF, responses=failures())
async def list_duplicates(service: TheService, limit: Annotated[int, Query(ge=1, le=MOST)] = 20) -> DuplicatesOut:
    """Pairs of entities that are probably one, by the facts they share and by names that are nearly alike.

    All facts are read for that, which takes seconds in a large base.
    """
    found = await service.look_back(lambda: Finder(service.past).best(limit))
    labels = service.name_index.labels(found.ids("kept", "other"))
    return DuplicatesOut.model_validate({"pairs": found.rows, "labels": labels})


@router.post("/merge", **writing("unknown_name"))
async def merge_entities(service: TheService, body: MergeIn) -> MergedOut:
    """Make one entity of two, in one write: the facts and names of the other become those of the kept one."""

    def write(store: Store) -> Merged:
        find = service.name_index.find
        return store.merge(find("entity", body.kept), find("entity", body.other), source=body.source)

    done = await service.write(write)
    return MergedOut.model_validate(done)


@router.post("/undo", **writing())
async def undo_write(service: TheService, body: UndoIn) -> UndoneOut:
    """Turn a write back by its moment: what it brought goes, and what it took away comes again."""
    done = await service.write(lambda store: store.undo(body.moment, source=body.source))
    return UndoneOut.model_validate(done)
