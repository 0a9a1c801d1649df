"""Looking a graph through: stored facts that look doubtful, and facts that are missing anywhere.

That may take any time, so it takes turns with the questions of others, a few facts at once, and ends with what it has
found when half of the time of a request is over; the answer says how far it came.
"""

import time
from collections.abc import Callable

from fastapi import APIRouter

from hmem.knowledge import whole_graph
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
    in_time = _in_time(service)
    found = await whole_graph.audit(
        service.ask, body.k, body.entity, body.relation, body.sample, in_time, AT_ONCE, explains=in_time
    )
    labels = service.name_index.labels_of(fact for each in found for fact in each.named)
    return AuditOut.model_validate({"facts": found.rows, "judged": found.judged, "of": found.facts, "labels": labels})


@router.post("/missing/anywhere", **BRIEF, responses=failures("unknown_name", "not_trained"))
async def missing_anywhere(service: TheService, body: MissingAnywhereIn) -> MissingAnywhereOut:
    """The likeliest facts that are not stored, over the whole graph, in a relation, or about entities of a kind."""
    in_time, at = _in_time(service), day(body.at)
    having = None if body.having is None else (body.having[0], body.having[1])
    found, done, total = await whole_graph.missing_anywhere(
        lambda step: service.ask(step, at), body.k, body.relation, having, in_time
    )
    labels = service.name_index.labels_of(each.names for each in found)
    return MissingAnywhereOut.model_validate({"facts": found, "done": done, "of": total, "labels": labels})


def _in_time(service: Service) -> Callable[..., bool]:
    """Whether there is time to go on."""
    end = time.monotonic() + service.settings.timeout / 2
    return lambda *_: time.monotonic() < end
