"""Why a network that passes messages gave an answer: what it says without a fact, or without those of a walk.

Each line is exact by definition: the question is asked again with these facts hidden from it, many questions in
one batch. Tried are the walks of one to three facts between the asked entity and the answer, those through the least
connected entities first, and the facts that either of the two has. In a large graph all are asked in the part of it
that the question itself is asked in. The effects of single facts do not add up: two may say the same, or mean something
only together.
"""

from contextlib import ExitStack

import numpy as np
import torch

from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.triples import mirror_role
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.ranked import Ranked, unjudged
from hmem.memory.links import Links
from hmem.memory.nearby import Nearby
from hmem.model.propagation import Propagation, is_large

MOST_WALKS = 12
MOST_FACTS = 36
AT_ONCE = 16  # questions in one pass
MOST_BRANCHES = 60  # neighbors of either end that walks of three facts are looked for through

Edge = tuple[int, int, int]  # an entity, a role of it, and the filler
Walk = tuple[Edge, ...]


def tried(graph: Neighborhoods, entity: int, answer: int) -> list[Walk]:
    """Walks between two entities, and facts of either, each as the edges it consists of and named once."""
    walks = walks_between(graph, entity, answer)[:MOST_WALKS]
    own = [(each,) for end in (entity, answer) for each in _edges(graph, end)]
    own.sort(key=lambda edge: int(graph.degrees(np.array([edge[0][2]]))[0]))
    singles = [(each,) for walk in walks for each in walk] + own
    different: dict[frozenset[Edge], Walk] = {}
    for walk in (*singles[: MOST_FACTS + 3 * len(walks)], *walks):
        different.setdefault(frozenset(_as_fact(each, graph.num_relations) for each in walk), walk)
    facts = [walk for walk in different.values() if len(walk) == 1][:MOST_FACTS]
    return facts + [walk for walk in different.values() if len(walk) > 1]


def walks_between(graph: Neighborhoods, entity: int, answer: int) -> list[Walk]:
    """Walks of one to three facts, shorter ones first, and those through entities with few facts."""
    out, back = _edges(graph, entity), _edges(graph, answer)
    into: dict[int, list[Edge]] = {}
    for edge in back:
        into.setdefault(edge[2], []).append(_turned(edge, graph.num_relations))
    found: list[tuple[tuple[int, int], Walk]] = [((0, 0), (edge,)) for edge in out if edge[2] == answer]
    middle = [edge for edge in out if edge[2] not in (entity, answer)]
    through = [edge[2] for edge in middle]
    degree = dict(zip(through, graph.degrees(np.array(through, dtype=np.int64)).tolist(), strict=True))
    for edge in middle:
        found += [((1, degree[edge[2]]), (edge, last)) for last in into.get(edge[2], [])]
    for edge in sorted(middle, key=lambda edge: degree[edge[2]])[:MOST_BRANCHES]:
        for step in _edges(graph, edge[2])[: MOST_BRANCHES**2]:
            if step[2] in into and step[2] not in (entity, answer, edge[2]):
                crowd = degree[edge[2]] * len(into[step[2]])
                found += [((2, crowd), (edge, step, last)) for last in into[step[2]]]
    found.sort(key=lambda each: each[0])
    return [walk for _, walk in found]


@torch.inference_mode()
def ranked_without(predictor: Predictor, entity: int, role: int, answer: int, walks: list[Walk]) -> Ranked:
    """The answer among those that are not stored, with the facts of each walk hidden."""
    model, live = predictor.model, predictor.live
    assert isinstance(model, Propagation)
    assert predictor.links is not None
    links, R = predictor.links.current(), predictor.live.num_relations
    near = part_for(model, entity, links)
    facts = [{predictor.fact(*edge) for edge in walk} for walk in walks]
    stored = [other for other in live.graph.answers(entity, role).tolist() if other != answer]
    found = unjudged(np.full(len(walks), answer), stored=False)
    itself = [each for each in predictor.itself(entity, role) if each != answer]

    def judge(places: list[int], visible: Nearby) -> None:
        asked = torch.full((len(places),), entity, device=model.device)
        scores = model.scores_nearby(asked, torch.full_like(asked, role), visible, links.num_entities)
        for row, place in zip(scores, places, strict=True):  # a stored answer is a rival where its fact is hidden
            predictor.add_counts(row, entity, role, facts[place])
            row[[other for other in stored if predictor.fact(entity, role, other) not in facts[place]]] = -torch.inf
        scores[:, itself] = -torch.inf
        own = scores[:, answer, None]
        log_p = scores.log_softmax(1).double().nan_to_num(-np.inf)
        found.scores[places], found.log_p[places] = own[:, 0].cpu().numpy(), log_p[:, answer].cpu().numpy()
        found.lead_log_p[places] = log_p.max(1).values.cpu().numpy()
        found.ranks[places] = (1 + (scores > own).sum(1) + (scores == own)[:, :answer].sum(1)).cpu().numpy()
        found.leads[places] = found.ranks[places] == 1

    decide = [model.takes_new_relations and predictor.links.decide_meetings(each) for each in facts]
    hidden = [place for place, alone in enumerate(decide) if not alone]
    for low in range(0, len(hidden), AT_ONCE):
        some = hidden[low : low + AT_ONCE]
        edges = [
            (question, *edge)
            for question, place in enumerate(some)
            for each in walks[place]
            for edge in (each, _turned(each, R))
        ]
        question, source, via, target = torch.tensor(edges, device=model.device).unbind(1)
        source, target = near.places(source), near.places(target)
        inside = (source >= 0) & (target >= 0)
        question, source, via, target = (each[inside] for each in (question, source, via, target))
        judge(some, Nearby(near.nodes, near.links.withholding(question, source, via, target, len(some))))
    for place in np.flatnonzero(decide).tolist():  # in a graph of its own, where fewer roles meet
        with ExitStack() as removed:
            for fact in facts[place]:
                removed.enter_context(live.without(*fact))
            judge([place], part_for(model, entity, predictor.links.current()))
    return found


def part_for(model: Propagation, entity: int, links: Links) -> Nearby:
    """What a question about an entity is asked in: the whole graph, or a part of a large one."""
    return model.nearby(torch.tensor(entity, device=model.device), links) if is_large(links) else Nearby.whole(links)


def _edges(graph: Neighborhoods, entity: int) -> list[Edge]:
    pairs = zip(*(each.tolist() for each in graph.edges_of(entity)), strict=True)
    return [(entity, role, filler) for role, filler in pairs]


def _turned(edge: Edge, num_relations: int) -> Edge:
    """The same fact from its other end."""
    entity, role, filler = edge
    return filler, mirror_role(role, num_relations), entity


def _as_fact(edge: Edge, num_relations: int) -> Edge:
    return edge if edge[1] >= num_relations else _turned(edge, num_relations)
