"""Entities that are probably one, joined, renamed and taken out; and what turns a write back."""

from typing import Annotated

from fastapi import APIRouter, Query

from hmem.knowledge.duplicates import Finder
from hmem.knowledge.store.merge import Merged, RemovedEntity, Renamed
from hmem.knowledge.store.store import Store
from hmem.serve.context import BRIEF, Limit, TheService, failures, writing
from hmem.serve.requests import EntityIn, MergeIn, RenameIn, UndoIn
from hmem.serve.responses_facts import (
    DuplicatesOut,
    MergedOut,
    RemovedEntityOut,
    RenamedOut,
    UndoneOut,
    WritesOut,
)

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


@router.post("/rename", **writing("unknown_name"))
async def rename(service: TheService, body: RenameIn) -> RenamedOut:
    """Give an entity or a relation another id, in one write; the old one finds it, too.

    Facts of a relation join those of a relation that is called so already.
    """

    def write(store: Store) -> Renamed:
        name = service.name_index.find(body.of, body.name)
        return store.rename(name, body.new, of=body.of, source=body.source)

    done = await service.write(write)
    return RenamedOut.model_validate(done)


@router.delete("/entity", **writing("unknown_name"))
async def remove_entity(service: TheService, body: EntityIn) -> RemovedEntityOut:
    """Take out all that is said of an entity, in one write: its facts, values, names and its kind."""

    def write(store: Store) -> RemovedEntity:
        return store.remove_entity(service.name_index.find("entity", body.entity), source=body.source)

    done = await service.write(write)
    return RemovedEntityOut.model_validate(done)


@router.get("/writes", **BRIEF, responses=failures())
async def list_writes(service: TheService, limit: Limit = 20) -> WritesOut:
    """The writes, the latest first: when, from which source, and what each changed."""
    found = await service.read(lambda: service.store.writes(limit + 1))
    return WritesOut.model_validate({"writes": found[:limit], "more": len(found) > limit})


@router.post("/undo", **writing())
async def undo_write(service: TheService, body: UndoIn) -> UndoneOut:
    """Turn a write back by its moment: what it brought goes, and what it took away comes again.

    `GET /writes` lists them.
    """
    done = await service.write(lambda store: store.undo(body.moment, and_later=body.and_later, source=body.source))
    return UndoneOut.model_validate(done)
