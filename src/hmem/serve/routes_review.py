"""Looking a graph through: stored facts that look doubtful, and facts that are missing anywhere.

That may take any time, so it takes turns with the questions of others, a few facts at once, and ends with what it has
found when half of the time of a request is over; the answer says how far it came.
"""

import time

import numpy as np
from fastapi import APIRouter

from hmem.knowledge.audit import EXPLAINED
from hmem.knowledge.results import Prediction
from hmem.knowledge.whole_graph import likeliest, most_doubtful
from hmem.serve.context import BRIEF, TheService, day, failures
from hmem.serve.requests import AuditIn, MissingAnywhereIn
from hmem.serve.responses_ask import AuditOut, MissingAnywhereOut
from hmem.serve.service import Service

AT_ONCE = 8  # facts that are judged before others have their turn

router = APIRouter(tags=["questions"])


@router.post("/audit", **BRIEF, responses=failures("unknown_name", "no_facts", "not_trained"))
async def audit(service: TheService, body: AuditIn) -> AuditOut:
    """Stored facts that the others speak against most, with what would be expected in their place and why.

    Those of an entity, of a relation or of all; of many, some are drawn at random.
    """
    end = _end(service)
    facts, total = await service.ask(lambda now: now.to_audit(body.entity, body.relation, body.sample))
    facts = np.random.default_rng(0).permutation(facts)  # whatever it comes to is a fair sample
    found, done = [], 0
    while done < len(facts) and time.monotonic() < end:
        some = facts[done : done + AT_ONCE]
        found += await service.ask(lambda now, some=some: now.suspects(some))  # type: ignore[misc]
        done += len(some)
    found = most_doubtful(found, body.k)
    for place, each in enumerate(found[:EXPLAINED]):
        if time.monotonic() < end:
            found[place] = await service.ask(lambda now, each=each: now.with_expected(each, why=True))  # type: ignore[misc]
    labels = service.name_index.labels_of(fact for each in found for fact in each.named)
    return AuditOut.model_validate({"facts": found, "judged": done, "of": total, "labels": labels})


@router.post("/missing/anywhere", **BRIEF, responses=failures("unknown_name", "not_trained"))
async def missing_anywhere(service: TheService, body: MissingAnywhereIn) -> MissingAnywhereOut:
    """The likeliest facts that are not stored, over the whole graph, in a relation, or about entities of a kind."""
    end, at = _end(service), day(body.at)
    having = None if body.having is None else (body.having[0], body.having[1])
    entities, roles = await service.ask(lambda now: now.to_complete(body.relation, having), at)
    found: list[Prediction] = []
    done = 0
    for entity in np.random.default_rng(0).permutation(entities).tolist():
        if time.monotonic() >= end:
            break
        found += await service.ask(lambda now, entity=entity: now.missing_in(entity, roles, body.k), at)  # type: ignore[misc]
        found = likeliest(found, body.k)
        done += 1
    labels = service.name_index.labels_of(each.names for each in found)
    return MissingAnywhereOut.model_validate({"facts": found, "done": done, "of": len(entities), "labels": labels})


def _end(service: Service) -> float:
    return time.monotonic() + service.settings.timeout / 2
