"""A trained model in the numbering of another graph.

A graph that has grown, or another graph about the same relations, has other entities, perhaps other relations, and
other numbers for all of them. The rows of every tensor are copied to the new numbers of their entities and roles. Rows
of names that the trained model does not have stay as the new model has them."""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from hmem.graph.names import Names, Vocabulary
from hmem.model.build import Network
from hmem.model.hmem import HMem


def renumber(model: Network, names: Vocabulary, vocab: Vocabulary) -> Network:
    """The same model for a graph with the names of `vocab`; entities that are not in `names` are unseen."""
    grown = _like(model, len(vocab.entities), len(vocab.relations))
    with torch.no_grad():
        trained = take_over(grown, model, names, vocab)
        if isinstance(grown, HMem):
            grown.is_trained.zero_()
            grown.is_trained[trained] = True
            grown.embeddings.entity[~grown.is_trained] = 0
    return grown.to(model.device).eval()


def _like(model: Network, num_entities: int, num_relations: int) -> Network:
    """A new model with the same settings for a graph of this size."""
    return type(model)(model.config, num_entities, num_relations)  # type: ignore[arg-type]


@torch.no_grad()
def take_over(model: Network, before: Network, names_before: Vocabulary, vocab: Vocabulary) -> Int[Tensor, " n"]:
    """Copy what `before` learned about the names of `vocab`, to a CPU; returns the entities it had trained."""
    entities = _matched(vocab.entities, names_before.entities)
    entities = entities[:, before.is_trained.cpu()[entities[1]]]  # what was never trained has nothing to hand on
    roles = _as_roles(_matched(vocab.relations, names_before.relations), model, before)
    _copy(model, before, entities, roles)
    return entities[0]


def _matched(now: Names, before: Names) -> Int[Tensor, "2 n"]:
    """The numbers, now and before, of the names that were there before."""
    pairs = [(number, before.get(name)) for number, name in enumerate(now)]
    return torch.tensor([pair for pair in pairs if pair[1] is not None], dtype=torch.int64).reshape(-1, 2).mT


def _as_roles(relations: Int[Tensor, "2 n"], model: Network, before: Network) -> Int[Tensor, "2 m"]:
    """The same for roles, of which each relation has two."""
    shift = torch.tensor([[model.num_relations], [before.num_relations]])
    return torch.cat([relations, relations + shift], dim=1)


def _copy(model: Network, before: Network, entities: Int[Tensor, "2 n"], roles: Int[Tensor, "2 m"]) -> None:
    theirs, ours = before.state_dict(), model.state_dict()  # the latter are the model's own tensors
    pairs = {"entity": entities, "role": roles}
    for name, axes in _axes(model):
        if name not in theirs:
            continue
        moving = [(axis, pairs[kind]) for axis, kind in enumerate(axes) if kind is not None]
        _put(ours[name], theirs[name].cpu(), moving)
    if isinstance(model, HMem) and model.paths is not None:
        _renumber_paths(model, before, roles)


def _put(ours: Tensor, theirs: Tensor, moving: list[tuple[int, Int[Tensor, "2 _"]]]) -> None:
    """Copy the rows that both have, along each moving axis."""
    if not moving:
        ours.copy_(theirs)
        return
    (axis, (now, then)), *rest = moving
    rows = ours.index_select(axis, now)
    _put(rows, theirs.index_select(axis, then), rest)
    ours.index_copy_(axis, now, rows)


def _axes(model: Network) -> Iterator[tuple[str, list[str | None]]]:
    """For each tensor of a model, which of its axes are numbered by entity or by role: those that grow with them."""

    def shapes(entities: int, relations: int) -> dict[str, torch.Size]:
        with torch.device("meta"):
            return {name: value.shape for name, value in _like(model, entities, relations).state_dict().items()}

    small, more_entities, more_relations = shapes(3, 2), shapes(4, 2), shapes(3, 3)
    for name, shape in small.items():
        kinds: list[str | None] = []
        for size, with_entity, with_relation in zip(shape, more_entities[name], more_relations[name], strict=True):
            assert (with_entity - size, with_relation - size) in ((0, 0), (1, 0), (0, 2)), f"{name} grows unexpectedly"
            kinds.append("entity" if with_entity > size else "role" if with_relation > size else None)
        yield name, kinds


def _renumber_paths(model: HMem, before: Network, roles: Int[Tensor, "2 m"]) -> None:
    """The rows just copied list paths by old roles: renumber them, drop what is gone, sort them as `follow` wants."""
    channel, rows = model.paths, roles[0]
    assert channel is not None
    now = torch.full((2 * before.num_relations + 1,), -1)
    now[roles[1]] = roles[0]  # the last place, which the −1 of an empty place reads, stays −1
    old = channel.steps[rows]  # (m, K, L)
    steps = now[old]
    gone = ((steps < 0) & (old >= 0)).any(2) | (old[:, :, 0] < 0)  # (m, K)
    steps = steps.masked_fill(gone[:, :, None], -1)
    order = steps[:, :, 0].masked_fill(gone, 2 * model.num_relations).argsort(dim=1, stable=True)
    channel.steps[rows] = steps.gather(1, order[:, :, None].expand_as(steps))
    channel.affinity[rows] = channel.affinity[rows].gather(1, order)
