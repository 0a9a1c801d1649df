"""The network that passes messages: what it sees, what it does not, and what numbers have to do with it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from hmem.config import Config, PropagationConfig
from hmem.graph.names import Vocabulary
from hmem.model import propagation
from hmem.model.checkpoint import Model, load, save
from hmem.model.propagation import Propagation
from hmem.model.query import NO_TARGET, Query
from hmem.model.renumber import renumber
from tests.model.problems import (
    ENTITIES,
    RELATIONS,
    both_ways,
    every_question,
    index_of,
    random_facts,
    small,
)
from tests.model.test_renumber import NAMES, renumbered, shuffled
from tests.oracles_graph import Fact

ROLES = ["learned", "computed", "both"]
every_kind = pytest.mark.parametrize("roles", ROLES)


@pytest.fixture(autouse=True)
def _nothing_is_learned() -> Iterator[None]:
    with torch.no_grad():
        yield


def network(roles: str, seed: int = 0, relations: int = RELATIONS) -> Propagation:
    """With nothing left at the zeros and ones that training starts from."""
    torch.manual_seed(seed)
    config = PropagationConfig(dim=6, steps=3, roles=roles)  # type: ignore[arg-type]
    model = Propagation(config, ENTITIES, relations).eval()
    for parameter in model.parameters():
        parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def same_meetings(facts: list[Fact], others: list[Fact]) -> bool:
    """Whether the same roles meet in two graphs, and in the same ways."""
    each = [index_of(some).links().meetings for some in (facts, others)]
    edges = [set(zip(*(part.tolist() for part in (it.source, it.role, it.target)), strict=True)) for it in each]
    return edges[0] == edges[1]


@every_kind
@pytest.mark.parametrize("seed", [0, 1])
def test_a_withheld_fact_might_as_well_not_be_in_the_graph(roles: str, seed: int) -> None:
    """Asked from both ends, in one batch with questions that see everything; self loops and hubs included."""
    model, facts = network(roles, seed), random_facts(seed)
    asked = both_ways(facts, RELATIONS)
    questions = [(u, q, v if place % 3 else NO_TARGET) for place, (u, q, v) in enumerate(asked)]
    found = model(Query(*torch.tensor(questions).T.contiguous()), index_of(facts))
    compared = 0
    for row, (u, q, v) in zip(found, questions, strict=True):
        fact = (u, q - RELATIONS, v) if q >= RELATIONS else (v, q, u)
        visible = [each for each in facts if each != fact]
        if roles != "learned" and not same_meetings(facts, visible):
            continue  # what roles mean is computed from all facts
        close(row, model(Query(torch.tensor([u]), torch.tensor([q])), index_of(visible))[0])
        compared += v != NO_TARGET
    assert compared > len(asked) // 3


@every_kind
def test_a_fact_that_is_not_withheld_is_seen(roles: str) -> None:
    model, facts = network(roles), random_facts(0)
    u, q, v = (torch.tensor([each]) for each in both_ways(facts, RELATIONS)[3])
    index = index_of(facts)
    assert not torch.allclose(model(Query(u, q), index)[0], model(Query(u, q, v), index)[0], atol=1e-3)


@every_kind
@pytest.mark.parametrize("seed", [0, 1])
def test_other_numbers_change_nothing_but_the_numbers(roles: str, seed: int) -> None:
    model, facts = network(roles, seed), random_facts(seed)
    vocab, old_entity, old_role = shuffled(seed)
    moved = renumber(model, NAMES, vocab)
    query = every_question()
    before = model(Query(old_entity[query.entity], old_role[query.role]), index_of(facts))
    close(moved(query, renumbered(facts, vocab)), before[:, old_entity])


def test_both_begins_as_the_computed_one() -> None:
    torch.manual_seed(0)
    config = PropagationConfig(dim=6, steps=3, roles="computed")
    computed = Propagation(config, ENTITIES, RELATIONS)
    both = Propagation(replace(config, roles="both"), ENTITIES, RELATIONS)
    missing, unexpected = both.load_state_dict(computed.state_dict(), strict=False)
    assert (unexpected, {name.split(".")[0] for name in missing}) == ([], {"learned"})
    query, index = every_question(), index_of(random_facts(0))
    assert torch.equal(both(query, index), computed(query, index))
    assert both.learned is not None
    both.learned.asked.add_(0.1)
    assert not torch.allclose(both(query, index), computed(query, index), atol=1e-3)


def test_relations_that_came_later_have_zero_rows() -> None:
    """The table of two relations, in a graph of three, is the table of three with zeros for the last."""
    small_one, facts = network("both", relations=2), random_facts(0)
    whole = Propagation(small_one.config, ENTITIES, RELATIONS).eval()
    state = small_one.state_dict()
    for name, value in whole.state_dict().items():
        if not name.startswith("learned."):
            value.copy_(state[name])
            continue
        axis = 0 if name == "learned.asked" else 1
        value.zero_()
        now, before = torch.tensor([0, 1, RELATIONS, RELATIONS + 1]), torch.arange(4)
        value.index_copy_(axis, now, state[name].index_select(axis, before))
    query, index = every_question(), index_of(facts)
    assert torch.equal(small_one(query, index), whole(query, index))
    assert small_one.takes_new_relations
    assert not network("learned").takes_new_relations


@every_kind
def test_what_no_walk_reaches_has_no_score(roles: str) -> None:
    """Two islands, and an entity without facts; three steps do not reach the end of a chain of five."""
    facts = [(0, 0, 1), (1, 1, 2), (2, 0, 3), (3, 1, 4), (5, 2, 6), (6, 0, 7)]
    model, index = network(roles), index_of(facts)
    scores = model(Query(torch.tensor([0, 5, 8]), torch.tensor([3, 3, 3])), index)
    reached = [(row > -torch.inf).nonzero().squeeze(1).tolist() for row in scores]
    assert reached == [[0, 1, 2, 3], [5, 6, 7], [8]]
    links = index.links()
    everything = model.scores(torch.tensor([0]), torch.tensor([3]), links)  # as the loss wants it
    assert everything.isfinite().all()
    assert float(everything[0, 4]) == float(everything[0, 8])
    close(everything[0, :4], scores[0, :4])


@pytest.mark.parametrize("together", [1, 3, propagation.MOST_TOGETHER])
def test_a_cpu_asks_a_few_questions_together_in_a_small_graph(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, index, query = network("both"), index_of(random_facts(0)), every_question()
    whole = model.scores(query.entity, query.role, index.links(), unreached=-torch.inf)
    sizes: list[int] = []
    usual = Propagation.scores

    def noted(self: Propagation, entity: Tensor, *rest: object, **more: object) -> Tensor:
        sizes.append(len(entity))
        return usual(self, entity, *rest, **more)  # type: ignore[arg-type]

    numbers = (index.links().num_edges + propagation.OF_ENTITY * ENTITIES) * model.config.dim
    monkeypatch.setattr(
        propagation, "MOST_NUMBERS", numbers * together + 1 if together < propagation.MOST_TOGETHER else 10**9
    )
    monkeypatch.setattr(Propagation, "scores", noted)
    close(model(query, index), whole)
    assert max(sizes) == together
    assert sum(sizes) == len(query)


def test_what_questions_have_in_common_is_made_once() -> None:
    """Each question whose fact is withheld has a graph of its own, which must not begin anew."""
    model, index = network("both"), index_of(random_facts(0))
    every = every_question()
    target = torch.zeros(len(every), dtype=torch.int64)
    model(Query(every.entity, every.role, target), index)
    assert {"bindings", "meetings"} <= index.links().__dict__.keys()


@every_kind
def test_a_network_comes_back_from_its_folder(roles: str, tmp_path: Path) -> None:
    base = small("propagate")
    model = network(roles)
    config = replace(base, propagation=model.config)
    vocab = Vocabulary([f"e{n}" for n in range(ENTITIES)], [f"r{n}" for n in range(RELATIONS)])
    save(tmp_path / "m", Model(model=model, config=config, vocab=vocab, dataset="toy", preset="propagate", metrics={}))
    loaded = load(tmp_path / "m")
    assert isinstance(loaded.config, Config)
    assert loaded.config == config
    assert isinstance(loaded.model, Propagation)
    query, index = every_question(), index_of(random_facts(0))
    assert torch.equal(loaded.model(query, index), model(query, index))


def test_scores_do_not_depend_on_names_without_facts() -> None:
    """An entity and a relation more, about which nothing is stored."""
    model, facts = network("computed"), random_facts(0)
    query = every_question()
    before = model(query, index_of(facts))
    roles = torch.where(query.role >= RELATIONS, query.role + 2, query.role)
    wider = index_of(facts, ENTITIES + 4, RELATIONS + 2)
    after = model(Query(query.entity, roles), wider)
    close(after[:, :ENTITIES], before)
    assert (after[:, ENTITIES:] == -torch.inf).all()


@every_kind
def test_a_question_asked_in_a_part_that_has_everything_is_asked_as_ever(
    roles: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, graph = network(roles), index_of(random_facts(3))
    asked = every_question()
    expected = model(asked, graph)
    monkeypatch.setitem(propagation.LARGE, "cpu", 0)
    close(model(asked, graph), expected)
    near = model.nearby(asked.entity[0], graph.links(), most_entities=3)
    scores = model.scores_nearby(asked.entity[:1], asked.role[:1], near, ENTITIES)
    assert len(near.nodes) == 3
    assert set((scores[0] > -torch.inf).nonzero().squeeze(1).tolist()) <= set(near.nodes.tolist())


@pytest.mark.parametrize("roles", ["computed", "both"])
def test_role_vectors_that_are_kept_are_those_of_the_weights_after_a_step(roles: str) -> None:
    """Also if the optimizer changes them behind the back of torch's own count, as fused ones do."""
    model, graph = network(roles), index_of(random_facts(0))
    query = every_question()
    before = model(query, graph)
    with torch.enable_grad():
        model.scores(query.entity, query.role, graph.links()).logsumexp(1).sum().backward()  # type: ignore[no-untyped-call]
    assert model.computed is not None
    for parameter in model.computed.parameters():
        parameter.data.mul_(1.5)  # which is not counted either
    after = model(query, graph)
    graph.links().meetings.__dict__.pop("kept")
    assert not torch.allclose(after, before)
    assert torch.equal(after, model(query, graph))
