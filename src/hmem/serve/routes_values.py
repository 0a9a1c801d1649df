"""Values: the numbers, dates, booleans and texts that are said of entities."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from hmem.graph.values import Said, Value
from hmem.knowledge.store.records import StoredValue
from hmem.serve.context import BRIEF, AsOf, EntityName, Limit, TheService, failures, time_of, writing
from hmem.serve.requests import ValuesIn
from hmem.serve.responses_ask import EstimateOut
from hmem.serve.responses_facts import PropertiesOut, PropertyOut, StatedOut, ValuesOut

router = APIRouter(tags=["graph"])


@router.get("/values", **BRIEF, responses=failures("unknown_name"))
async def list_values(
    service: TheService,
    name: EntityName,
    property_: Annotated[str | None, Query(alias="property", min_length=1)] = None,
    as_of: AsOf = None,
    limit: Limit = 100,
) -> ValuesOut:
    """What is said of an entity by its properties, as it was written, now or as of then."""
    when = time_of(as_of)

    def look() -> ValuesOut:
        entity = service.name_index.find("entity", name)
        listing = service.store.values.listing(entity, property_, as_of=when)
        found: list[StoredValue] = [each for each, _ in zip(listing, range(limit + 1), strict=False)]
        labels = service.store.naming.called_by("property", {each.property for each in found})
        said = [{**_plain(each), "label": labels.get(each.property)} for each in found[:limit]]
        return ValuesOut.model_validate({"entity": entity, "values": said, "more": len(found) > limit})

    return await service.read(look)


@router.get("/estimate", responses=failures("unknown_name", "not_trained", "no_facts"))
async def estimate_value(
    service: TheService,
    name: EntityName,
    property_: Annotated[str, Query(alias="property", min_length=1)],
) -> EstimateOut:
    """What a property of an entity probably is: a median, and where four in five are. A stored value is left out."""
    found = await service.ask(lambda now: now.estimate(name, property_))
    because = [{"fact": list(fact), "step": step} for fact, step in found.because]
    return EstimateOut.model_validate({**asdict(found), "because": because})


@router.get("/properties", **BRIEF, responses=failures())
async def list_properties(service: TheService) -> PropertiesOut:
    """By which properties something is said: of how many entities, and between what."""
    found = await service.read(service.store.values.properties)
    return PropertiesOut(properties=[PropertyOut.model_validate(each) for each in found])


@router.post("/values", **writing())
async def state_values(service: TheService, body: ValuesIn) -> StatedOut:
    """Say what properties of entities are, all in one write, in the place of what these said before.

    Names are ids; what is said of an entity that is not stored is left out.
    """
    rows: list[Said] = [
        (
            each.entity,
            each.property,
            Value(text=each.text, datatype=each.datatype, language=each.language, unit=each.unit),
        )
        for each in body.values
    ]
    written = await service.write(lambda store: store.values.set_all(rows, source=body.source))
    return StatedOut.model_validate(written)


def _plain(each: StoredValue) -> dict[str, object]:
    columns = ("property", "text", "datatype", "language", "unit", "source", "added_at")
    return {**{name: getattr(each, name) for name in columns}, "shown": each.as_value().shown}
