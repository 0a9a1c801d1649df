"""Questions to a whole graph: which facts are missing anywhere, and which stored ones are doubtful.

They take long. A session is lent to them for a few facts at a time, so that others have their turn in between.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from hmem.knowledge.audit import AT_ONCE, EXPLAINED, Suspect, Suspects, Watch
from hmem.knowledge.results import Prediction
from hmem.knowledge.session import Session

Lend = Callable[[], AbstractContextManager[Session]]


def missing_anywhere(
    lend: Lend, k: int, relation: str | None, having: tuple[str, str] | None, watch: Watch
) -> list[Prediction]:
    """See `KnowledgeBase.missing_anywhere`."""
    with lend() as session:
        entities, roles = session.to_complete(relation, having)
    found: list[Prediction] = []
    for done, entity in enumerate(entities.tolist()):
        if not watch(done, len(entities)):
            break
        with lend() as session:
            found += session.missing_in(entity, roles, k)
        if len(found) >= 2 * k:
            found = likeliest(found, k)
    return likeliest(found, k)


def audit(lend: Lend, k: int, entity: str | None, relation: str | None, sample: int | None, watch: Watch) -> Suspects:
    """See `KnowledgeBase.audit`."""
    with lend() as session:
        facts, total = session.to_audit(entity, relation, sample)
    found: list[Suspect] = []
    done = 0
    while done < len(facts) and watch(done, len(facts)):
        with lend() as session:
            found += session.suspects(facts[done : done + AT_ONCE])
        done = min(done + AT_ONCE, len(facts))
    found = most_doubtful(found, k)
    with lend() as session:
        found = [session.with_expected(each, why=place < EXPLAINED) for place, each in enumerate(found)]
    return Suspects(found, judged=done, facts=total)


def likeliest(found: list[Prediction], k: int) -> list[Prediction]:
    """The k likeliest, or those of the best scores where the model is not calibrated, ranked anew."""
    order = sorted(found, key=lambda row: (row.probability is None, -(row.probability or 0.0), -row.score, row.names))
    return [replace(row, rank=rank) for rank, row in enumerate(order[:k], 1)]


def most_doubtful(found: list[Suspect], k: int) -> list[Suspect]:
    return sorted(found, key=lambda each: (-each.doubt, each.names))[:k]
