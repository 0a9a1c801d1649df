"""A step of propagation is that of a loop over the edges, forward and backward, with edges hidden and with hubs."""

import importlib.util
import os

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import layer_norm

from hmem.memory import edge_orders, propagation
from hmem.memory.edge_orders import Chunks
from hmem.memory.links import Links, Patch
from hmem.memory.propagation import EPSILON, Origin, Reached, Step, plain_step, sparse_step

N, R, B, D = 9, 3, 2, 4
HAS_TRITON = importlib.util.find_spec("triton") is not None


def random_links(rng: torch.Generator, edges: int = 30, hidden: float = 0.2, device: str = "cpu") -> Links:
    """Facts that favor the first entities, in both directions, with some edges hidden."""
    head = torch.randint(N, (edges,), generator=rng)
    tail = (N * torch.rand(edges, generator=rng) ** 3).long()
    relation = torch.randint(R, (edges,), generator=rng)
    role = torch.cat([relation + R, relation])
    source, target = torch.cat([head, tail]).to(device), torch.cat([tail, head]).to(device)
    links = Links(source, role.to(device), target, N, 2 * R)
    return links.without(torch.rand(2 * edges, generator=rng).to(device) < hidden)


def random_arguments(rng: torch.Generator, dim: int = D) -> list[Float[Tensor, "..."]]:
    """What a step takes; no walk has reached most of the entities yet."""
    shapes = [(N, B, dim), (2 * R, B, dim), (B, dim), (7, dim, dim), (dim,), (dim,), (dim,)]
    states, *rest = (torch.randn(shape, generator=rng, dtype=torch.float64) for shape in shapes)
    states[2:] = 0
    return [each.requires_grad_() for each in (states, *rest)]


def loop_step(states: Tensor, roles: Tensor, origin: Origin, parameters: Step) -> Tensor:
    """The definition, one entity and one question at a time."""
    links, asked, start = origin.links, origin.asked, origin.start
    weights = [1.0] * len(links.role) if links.weight is None else links.weight.tolist()
    edges = list(zip(links.source.tolist(), links.role.tolist(), links.target.tolist(), weights, strict=True))
    degree = torch.zeros(N, dtype=torch.float64)
    for _, role, target, weight in edges:
        degree[target] += (role < 2 * R) * weight
    scale, mixing = (degree + 1).log() / (degree[degree > 0] + 1).log().mean(), parameters.mixing
    rows = []
    for v in range(N):
        for b in range(B):
            bound = [(roles[r, b] * states[s, b], w) for s, r, t, w in edges if t == v and r < 2 * R]
            bound += [(start[b] if int(asked[b]) == v else torch.zeros_like(start[b]), 1.0)]
            bindings, weight = torch.stack([each for each, _ in bound]), torch.tensor([[w] for _, w in bound])
            mean = (bindings * weight).sum(0) / (degree[v] + 1)
            std = ((bindings.square() * weight).sum(0) / (degree[v] + 1) - mean.square()).clamp_min(EPSILON).sqrt()
            parts = [mean @ mixing[place] + std @ mixing[place + 1] for place in (0, 2, 4)]
            y = parts[0] + scale[v] * parts[1] + parts[2] / (scale[v] + 0.01) + states[v, b] @ mixing[6]
            y = layer_norm(y + parameters.bias, y.shape, parameters.gain, parameters.shift)
            is_reached = bool((mean != 0).any() or (states[v, b] != 0).any())
            rows.append(states[v, b] + y.relu() * is_reached)
    return torch.stack(rows).view_as(states)


def weighed(links: Links, weight: Float[Tensor, " e"]) -> Links:
    """The same edges, each of which counts as much as its weight says."""
    return Links(links.source.long(), links.role.long(), links.target.long(), N, 2 * R, weight)


@pytest.mark.parametrize("is_weighed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_that_of_a_loop(seed: int, is_weighed: bool) -> None:
    rng = torch.Generator().manual_seed(seed)
    links, arguments, asked = random_links(rng), random_arguments(rng), torch.randint(N, (B,), generator=rng)
    if is_weighed:
        links = weighed(links, torch.rand(len(links.role), generator=rng))
    weights = torch.randn(N, B, D, generator=rng, dtype=torch.float64)
    gradients = []
    for step in (loop_step, plain_step):
        states, roles, start, *rest = arguments
        out = step(states, roles, Origin(links, asked, start), Step(*rest))
        gradients.append([out, *torch.autograd.grad((out * weights).sum(), arguments)])
    for expected, found in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)  # degrees are float32


def test_steps_from_the_asked_entity_outwards_are_steps_everywhere(
    rng: torch.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "FEW", 1.0)
    links = random_links(rng, edges=8)
    _, roles, start, *rest = (each.detach() for each in random_arguments(rng))
    asked, parameters = torch.tensor([0, 5]), Step(*rest)
    states = torch.zeros(N, B, D, dtype=torch.float64).index_put((asked, torch.arange(B)), start)
    reached: Reached | None = Reached(asked, states[asked])
    for _ in range(3):
        assert reached is not None
        states = plain_step(states, roles, Origin(links, asked, start), parameters)
        reached = sparse_step(reached, roles, Origin(links, asked, start), parameters)
        assert reached is not None
        torch.testing.assert_close(torch.zeros_like(states).index_copy(0, reached.nodes, reached.states), states)
    assert reached is not None
    assert 2 < int((states != 0).any(2).sum()) < N * B  # otherwise this shows nothing
    monkeypatch.setattr(propagation, "FEW", 0.0)
    assert sparse_step(reached, roles, Origin(links, asked, start), parameters) is None


@pytest.mark.parametrize("steps", ["everywhere", "outwards"])
@pytest.mark.parametrize("way", ["built", "patched", "part"])
def test_a_weight_of_0_removes_an_edge_and_one_of_1_changes_nothing(
    steps: str, way: str, rng: torch.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "FEW", 1.0)
    links = random_links(rng, edges=12, hidden=0.0)
    _, roles, start, *rest = (each.detach() for each in random_arguments(rng))
    asked = torch.tensor([0, 5])
    blank = torch.zeros(N, B, D, dtype=torch.float64).index_put((asked, torch.arange(B)), start)
    gone = torch.rand(len(links.role), generator=rng) < 0.3

    def after(links: Links) -> Float[Tensor, "N B D"]:
        if way == "patched":  # half of the entities have their edges there
            links = links.patched(links.edges_into(torch.arange(0, N, 2)), N)
        if way == "part":
            links = links.part(torch.arange(N))
        if steps == "everywhere":
            return plain_step(blank, roles, Origin(links, asked, start), Step(*rest))
        reached = sparse_step(Reached(asked, blank[asked]), roles, Origin(links, asked, start), Step(*rest))
        assert reached is not None
        return torch.zeros_like(blank).index_copy(0, reached.nodes, reached.states)

    keep = ~gone
    fewer = Links(links.source[keep].long(), links.role[keep].long(), links.target[keep].long(), N, 2 * R)
    torch.testing.assert_close(after(weighed(links, keep.float())), after(fewer), rtol=1e-6, atol=1e-6)
    assert torch.equal(after(weighed(links, torch.ones(len(links.role)))), after(links))
    assert not torch.allclose(after(links), after(fewer))
    half = weighed(links, torch.where(gone, 0.5, 1.0))
    assert not torch.allclose(after(half), after(links))
    assert torch.equal(half.degree, (links.degree + fewer.degree) / 2)


def test_hidden_edges_are_out_of_the_degrees(rng: torch.Generator) -> None:
    links = random_links(rng, hidden=0.0)
    hidden = torch.zeros(len(links.role), dtype=torch.bool)
    hidden[5] = True
    target = int(links.target[5])
    assert links.without(hidden).degree[target] == links.degree[target] - 1
    assert links.without(hidden).degree.sum() == links.degree.sum() - 1


def test_edges_between_two_entities_are_found(rng: torch.Generator) -> None:
    links = random_links(rng, hidden=0.0)
    u, v = torch.tensor([1, 0, 8]), torch.tensor([0, 1, 8])
    which, edge = links.between(u, v)
    found = sorted(zip(which.tolist(), edge.tolist(), strict=True))
    edges = list(enumerate(zip(links.source.tolist(), links.target.tolist(), strict=True)))
    expected = [(i, e) for i in range(3) for e, ends in edges if ends == (int(u[i]), int(v[i]))]
    assert found == sorted(expected)


def test_roles_meet_where_an_entity_has_both() -> None:
    """a –0→ b –1→ c: b's edges are the inverse of 0 and 1, and nothing else meets but at its own ends."""
    head, relation, tail = torch.tensor([0, 1]), torch.tensor([0, 1]), torch.tensor([1, 2])
    links = Links(torch.cat([head, tail]), torch.cat([relation + 2, relation]), torch.cat([tail, head]), 3, 4)
    graph = links.meetings
    found = {way: set() for way in range(5)}  # type: dict[int, set[tuple[int, int]]]
    for first, way, second in zip(graph.source.tolist(), graph.role.tolist(), graph.target.tolist(), strict=True):
        found[way].add((first, second))
    leads_out = {0: {2}, 1: {0, 3}, 2: {1}}  # the roles of each entity's edges: 2 and 3 lead to tails, 0 and 1 to heads
    pairs = {(x, y) for roles in leads_out.values() for x in roles for y in roles}
    turned = {0: 2, 1: 3, 2: 0, 3: 1}
    assert found[0] == {(x, y) for x, y in pairs if x != y}
    assert found[1] == {(turned[x], y) for x, y in pairs}
    assert found[2] == {(x, turned[y]) for x, y in pairs}
    assert found[3] == {(turned[x], turned[y]) for x, y in pairs if x != y}
    assert found[4] == set(turned.items())


@pytest.mark.parametrize("seed", range(5))
def test_roles_that_meet_in_hidden_edges_alone_do_not_meet(seed: int) -> None:
    random = np.random.default_rng(seed)
    facts = torch.from_numpy(np.unique(random.integers(0, (6, 4, 6), (14, 3)), axis=0))
    (head, relation, tail), count = facts.T, len(facts)
    links = Links(torch.cat([head, tail]), torch.cat([relation + 4, relation]), torch.cat([tail, head]), 6, 8)
    hidden = torch.from_numpy(random.random(2 * count) < 0.4)
    left = ~hidden
    of_rest = Links(links.source[left].long(), links.role[left].long(), links.target[left].long(), 6, 8).meetings
    found, kept = links.without(hidden).meetings, []
    for graph in (found, of_rest):
        seen = graph.role < graph.num_roles
        kept.append(
            sorted(zip(*(each[seen].tolist() for each in (graph.source, graph.role, graph.target)), strict=True))
        )
    assert kept[0] == kept[1]
    assert len(kept[0]) < links.meetings.num_edges
    assert torch.equal(found.degree, of_rest.degree)


def test_chunks_cover_every_edge_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_orders, "CHUNK", 4)
    owners = torch.tensor([0] * 3 + [2] * 9 + [3] * 4)
    chunks = Chunks.of(owners, 5)
    runs = sorted(zip(chunks.start.tolist(), chunks.stop.tolist(), chunks.node.tolist(), strict=True))
    assert runs == [(0, 3, 0), (3, 3, 1), (3, 7, 2), (7, 11, 2), (11, 12, 2), (12, 16, 3), (16, 16, 4)]
    assert chunks.hubs.tolist() == [2]
    slots = dict(zip(chunks.node.tolist(), chunks.slot.tolist(), strict=True))
    assert slots == {0: -1, 1: -1, 2: 0, 3: -1, 4: -1}


@pytest.mark.parametrize("steps", ["everywhere", "outwards"])
def test_a_patched_graph_is_one_built_from_the_same_edges(steps: str, rng: torch.Generator) -> None:
    """An entity more, edges that came and went, and edges hidden from one of two questions."""
    links = random_links(rng, hidden=0.0)
    facts = list(zip(links.source.tolist(), links.role.tolist(), links.target.tolist(), strict=True))
    came, went = [(2, 0, N), (N, R, 2)], [facts[3], facts[20]]
    now = [each for each in facts if each not in went] + came
    targets = torch.tensor(sorted({target for _, _, target in came + went}))
    into = [(row, s, r) for row, target in enumerate(targets.tolist()) for s, r, t in now if t == target]
    patched = links.patched(Patch(targets, *torch.tensor(into).unbind(1)), N + 1)
    u, r, v = facts[7]
    second, *edge = (torch.tensor([each]) for each in (1, u, r, v))
    hidden = patched.withholding(second, edge[0], edge[1], edge[2], B)
    _, roles, start, *rest = (each.detach() for each in random_arguments(rng))
    asked, each = torch.tensor([3, u]), torch.arange(B)
    blank = torch.zeros(N + 1, B, D, dtype=torch.float64)
    start_states = blank.index_put((asked, each), start)
    nodes = torch.unique(asked)
    if steps == "everywhere":
        found = plain_step(start_states, roles, Origin(hidden, asked, start), Step(*rest))
    else:
        reached = sparse_step(Reached(nodes, start_states[nodes]), roles, Origin(hidden, asked, start), Step(*rest))
        assert reached is not None
        found = blank.index_copy(0, reached.nodes, reached.states)
    for question, seen in ((0, now), (1, [each for each in now if each != (u, r, v)])):
        source, role, target = torch.tensor(seen).unbind(1)
        built = Links(source, role, target, N + 1, 2 * R)
        expected = plain_step(start_states, roles, Origin(built, asked, start), Step(*rest))
        torch.testing.assert_close(found[:, question], expected[:, question], rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
@pytest.mark.skipif(
    not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1",
    reason="no CUDA device; TRITON_INTERPRET=1 runs the kernels on a CPU",
)
@pytest.mark.parametrize("edges", [30, 400])  # with 400 the first entities are hubs
def test_the_kernels_are_the_plain_step(edges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from hmem.memory import propagation_kernels as kernels

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":  # the interpreter knows no bfloat16
        monkeypatch.setattr(kernels, "LOW", torch.float32)
    rng = torch.Generator().manual_seed(edges)
    links, asked = random_links(rng, edges, device=device), torch.randint(N, (B,), generator=rng).to(device)
    arguments = [each.detach().bfloat16().to(device) for each in random_arguments(rng, dim=16)]
    weights = torch.randn(N, B, 16, generator=rng).to(device)
    results = []
    for precision, fused in ((torch.float64, False), (torch.float32, True)):
        given = [each.to(precision).requires_grad_() for each in arguments]
        states, roles, start, *rest = given
        if fused:
            roles = torch.cat([roles, torch.zeros_like(roles[:1])])
            out = kernels.fused_step(states, roles, start, *rest, links, asked)
        else:
            out = plain_step(states, roles, Origin(links, asked, start), Step(*rest))
        results.append([out, *torch.autograd.grad((out.to(precision) * weights.to(precision)).sum(), given)])
    tolerance = 1e-4 if device == "cpu" else 0.05
    for expected, found in zip(*results, strict=True):
        assert float(((found.double() - expected).norm() / expected.norm()).detach()) < tolerance
