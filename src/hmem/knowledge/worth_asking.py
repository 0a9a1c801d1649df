"""Questions worth asking of a base that is new to its reader: such as have a likely answer that is not stored.

They are looked for among a few, drawn from the facts: the more facts a relation has, the sooner, and about entities
that have some facts but are no hubs, since of these nearly anything is likely.
"""

from collections import Counter

import numpy as np
from jaxtyping import Int

from hmem.graph.triples import Triples
from hmem.knowledge.results import Direction, Prediction, Question
from hmem.knowledge.session import Session

ASKED = 24  # questions that are asked to find a few that are worth it
OF_A_ROLE = 4  # of these, and
SHOWN_OF_A_ROLE = 2  # of those shown
DRAWN = 2_000  # facts that questions are made of
USUAL = (3, 100)  # the fewest and the most facts of an entity that is asked about
SURE = 0.97  # probability from which an answer is no question any more


def worth_asking(session: Session, k: int) -> list[Prediction]:
    """The best new answers to at most k questions, the likeliest first; few of them are of one relation."""
    live = session.live
    asked = candidates(live.facts(), live.graph.degrees(np.arange(live.graph.num_entities)))
    questions = [
        Question(entity=live.entities.names[entity], relation=live.relations.names[relation], direction=end, k=1)
        for entity, relation, end in asked
    ]
    answered = [found[0] for found in session.answer_each(questions) if isinstance(found, list) and found]
    order = sorted(answered, key=lambda each: (-_likely(each), each.names))
    shown: Counter[tuple[str, str]] = Counter()
    chosen = []
    for each in order:
        shown[each.relation, each.direction] += 1
        if shown[each.relation, each.direction] <= SHOWN_OF_A_ROLE:
            chosen.append(each)
    return chosen[:k]


def candidates(facts: Triples, degrees: Int[np.ndarray, " E"]) -> list[tuple[int, int, Direction]]:
    """Some (entity, relation, end that is asked for), each once, of several roles."""
    drawn = facts[np.random.default_rng(0).permutation(len(facts))[:DRAWN]].tolist()
    by_role: dict[tuple[int, Direction], dict[int, None]] = {}
    for head, relation, tail in drawn:
        ends: tuple[tuple[int, Direction], ...] = ((head, "tail"), (tail, "head"))
        for entity, end in ends:
            if USUAL[0] <= degrees[entity] <= USUAL[1]:
                by_role.setdefault((relation, end), {})[entity] = None
    often = sorted(by_role, key=lambda role: (-len(by_role[role]), role))
    turns = [(turn, role) for turn in range(OF_A_ROLE) for role in often if turn < len(by_role[role])]
    return [(list(by_role[role])[turn], *role) for turn, role in turns[:ASKED]]


def _likely(answer: Prediction) -> float:
    """How good an example it is: as likely as it can be, but not certain; the score where there is no probability."""
    if answer.probability is None:
        return answer.score
    return answer.probability if answer.probability < SURE else 0.0
