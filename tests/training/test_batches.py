import torch

from hmem.training.batches import Batches

TRIPLES = torch.tensor([[number, number % 3, number + 20] for number in range(10)])


def test_an_epoch_is_every_fact_once_from_both_ends() -> None:
    batches = Batches(TRIPLES, 3, 4, seed=0)
    assert batches.per_epoch == 3
    asked = [batches.at(step) for step in range(3)]
    assert [len(query) for query in asked] == [8, 8, 4]  # the last one has what is left
    found = []
    for query in asked:
        assert query.target is not None
        found += torch.stack([query.entity, query.role, query.target], dim=1).tolist()
    tails = [[head, relation + 3, tail] for head, relation, tail in TRIPLES.tolist()]
    assert sorted(found) == sorted(tails + [[tail, relation, head] for head, relation, tail in TRIPLES.tolist()])


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    batches, again = Batches(TRIPLES, 3, 4, seed=0), Batches(TRIPLES, 3, 4, seed=0)
    there = [batches.at(step).entity.tolist() for step in range(9)]
    back = [again.at(step).entity.tolist() for step in reversed(range(9))]
    assert there == back[::-1]
    assert there[:3] != there[3:6]
    assert there != [Batches(TRIPLES, 3, 4, seed=1).at(step).entity.tolist() for step in range(9)]


def test_no_facts_are_an_empty_batch() -> None:
    batches = Batches(TRIPLES[:0], 3, 4, seed=0)
    assert (batches.per_epoch, len(batches.at(0))) == (1, 0)
