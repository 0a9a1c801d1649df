"""Questions to a whole graph: which facts are missing anywhere, and which stored ones are doubtful.

They take long, so they ask step by step: whoever drives them lends each step a session for that long only, and others
have their turn in between. What is looked at comes in random order: where it ends early, it is a fair sample.
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from hmem.knowledge.audit import AT_ONCE, EXPLAINED, Suspect, Suspects, Watch
from hmem.knowledge.results import Prediction
from hmem.knowledge.session import Session

T = TypeVar("T")
Ask = Callable[[Callable[[Session], Any]], Awaitable[Any]]


def taken(steps: Coroutine[Any, Any, T]) -> T:
    """What they lead to, where no step is waited for."""
    try:
        steps.send(None)
    except StopIteration as end:
        found: T = end.value
    return found


async def missing_anywhere(
    ask: Ask, k: int, relation: str | None, having: tuple[str, str] | None, watch: Watch
) -> tuple[list[Prediction], int, int]:
    """See `KnowledgeBase.missing_anywhere`; also how many entities were looked at, of how many.

    Each fact is asked for once, from its head. Between two steps names stay the same, and numbers may change.
    """
    names, entities = await ask(lambda session: session.to_complete(relation, having))
    found: list[Prediction] = []
    done = 0
    for entity in np.random.default_rng(0).permutation(entities).tolist():
        if not watch(done, len(entities)):
            break
        found += await ask(partial(Session.missing_from, head=names[entity], relation=relation, k=k))
        done += 1
        if len(found) >= 2 * k:
            found = likeliest(found, k)
    return likeliest(found, k), done, len(entities)


async def audit(
    ask: Ask, k: int, entity: str | None, relation: str | None, sample: int | None, watch: Watch,
    at_once: int = AT_ONCE, explains: Callable[[], bool] = lambda: True,
) -> Suspects:  # fmt: skip
    """See `KnowledgeBase.audit`; what is expected is looked for as long as `explains` says so."""
    facts, total = await ask(lambda session: session.to_audit(entity, relation, sample))
    facts = np.random.default_rng(0).permutation(facts)
    found: list[Suspect] = []
    done = 0
    while done < len(facts) and watch(done, len(facts)):
        some = facts[done : done + at_once]
        found += await ask(partial(Session.suspects, facts=some))
        done += len(some)
    found = sorted(found, key=lambda each: (-each.doubt, each.names))[:k]
    for place, each in enumerate(found):
        if explains():
            found[place] = await ask(partial(Session.with_expected, suspect=each, why=place < EXPLAINED))
    return Suspects(found, judged=done, facts=total)


def likeliest(found: list[Prediction], k: int) -> list[Prediction]:
    """The k likeliest, or those of the best scores where the model is not calibrated, ranked anew."""
    order = sorted(found, key=lambda row: (row.probability is None, -(row.probability or 0.0), -row.score, row.names))
    return [replace(row, rank=rank) for rank, row in enumerate(order[:k], 1)]
