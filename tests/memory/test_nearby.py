"""The part of a graph that a question is asked in: what walks visit, and all edges between it."""

import torch

from hmem.memory.links import Links, Patch
from hmem.memory.nearby import END, Nearby, most_visited, visits_from
from tests.memory.test_propagation import N, R, random_links, weighed

PLENTY = 10**9


def dense_visits(links: Links, entity: int, steps: int) -> torch.Tensor:
    """Where walks end, by powers of the whole transition matrix."""
    step = torch.zeros(links.num_entities, links.num_entities, dtype=torch.float64)
    edges = links.edges_into(torch.arange(links.num_entities))
    weight = torch.ones(len(edges.row)) if edges.weight is None else edges.weight
    step.index_put_((edges.targets[edges.row], edges.source), weight.double(), accumulate=True)
    degree = step.sum(1, keepdim=True)
    at = torch.zeros(links.num_entities, dtype=torch.float64)
    at[entity] = 1
    ended = torch.zeros_like(at)
    for _ in range(steps):
        moving = torch.where(degree[:, 0] > 0, at, 0)
        ended += END * moving
        at = at - moving + (1 - END) * (moving / degree[:, 0].clamp_min(1e-9)) @ step
    return ended + at


def visits_everywhere(links: Links, entity: int, steps: int, most_edges: int) -> torch.Tensor:
    nodes, visits = visits_from(links, torch.tensor(entity), steps, most_edges)
    return torch.zeros(links.num_entities).index_copy(0, nodes, visits)


def test_visits_are_the_personalized_pagerank(rng: torch.Generator) -> None:
    plain = random_links(rng, edges=12)
    for links, entity in ((each, entity) for each in (plain, unsure(plain, rng)) for entity in range(N)):
        found = visits_everywhere(links, entity, 4, PLENTY)
        torch.testing.assert_close(found.double(), dense_visits(links, entity, 4), rtol=1e-5, atol=1e-6)


def unsure(links: Links, rng: torch.Generator) -> Links:
    """The same graph with a weight for each edge, as its other direction has."""
    ends = torch.stack([links.source, links.target]).sort(0).values.long()
    return weighed(links, torch.rand(N, N, generator=rng)[ends[0], ends[1]])


def test_what_is_too_little_for_all_edges_stays_where_it_is() -> None:
    """An entity with 50 edges hands on 50 shares or none; however many edges there are, few are looked at."""
    leaves = torch.arange(2, 52)
    source = torch.cat([torch.tensor([0, 1]), torch.ones(50, dtype=torch.long), leaves])
    target = torch.cat([torch.tensor([1, 0]), leaves, torch.ones(50, dtype=torch.long)])
    links = Links(source, torch.zeros_like(source), target, 52, 2)
    everywhere, near = (visits_everywhere(links, 0, 4, most) for most in (PLENTY, 100))
    assert (everywhere > 0).all()
    assert (near > 0).nonzero().squeeze(1).tolist() == [0, 1]
    assert near.sum() == everywhere.sum() == 1


def test_the_most_visited_are_those_with_the_most_visits(rng: torch.Generator) -> None:
    links = random_links(rng)
    visits = visits_everywhere(links, 8, 3, PLENTY)
    nodes = most_visited(links, torch.tensor(8), 3, 4, PLENTY)
    assert 8 in nodes.tolist()
    assert nodes.tolist() == sorted(visits.argsort(descending=True)[:4].tolist())
    assert most_visited(links, torch.tensor(8), 3, N, 0).tolist() == [8]  # at least the asked one


def test_a_part_has_all_edges_between_its_entities_and_the_degrees_of_the_whole(rng: torch.Generator) -> None:
    whole = random_links(rng)
    ends, roles = torch.tensor([4, N, 2, 0]), torch.tensor([0, 1, 1 + R, 2])
    came = Patch(torch.tensor([2, 5, N]), torch.tensor([0, 0, 2, 2]), ends, roles)
    for links in (whole, whole.patched(came, N + 1)):
        nodes = torch.tensor(sorted({1, 2, 4, 8, links.num_entities - 1}))
        part = Nearby.of(links, nodes)
        inside = links.edges_into(nodes)
        expected = sorted(
            (int(s), int(r), int(nodes[t]))
            for s, r, t in zip(inside.source, inside.role, inside.row, strict=True)
            if s in nodes
        )
        found = zip(nodes[part.links.source], part.links.role, nodes[part.links.target], strict=True)
        assert sorted((int(s), int(r), int(t)) for s, r, t in found) == expected
        assert len(expected) > 3
        assert torch.equal(part.links.degree, links.degree[nodes].view(-1))
        torch.testing.assert_close(part.links.scale, links.scale[nodes].view(-1))
        assert part.links.meetings is links.meetings
        assert part.places(torch.tensor([4, 3])).tolist() == [nodes.tolist().index(4), -1]
