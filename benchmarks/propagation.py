"""What does a network that passes messages along the facts reach in some minutes, on one graph or on many?

    python benchmarks/propagation.py FB15K-237 --minutes 4.5
    python benchmarks/propagation.py FB15K-237 WN18RR CoDEx-M --unseen CoDEx-S NL-0_ind --minutes 5

One graph: role vectors are a table. Several, or any `--unseen`: they are computed from the graph of roles, and the
`--unseen` graphs are ranked without having been trained on. A training question hides the asked fact, from the graph
and from the degrees; how often all other links between its two entities are hidden too follows from how often
validation facts are linked, and `--drop` hides a share of all facts. DATA is a name or a folder, as for `hmem train`.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hmem.evaluation.evaluate import Scorer, Validator
from hmem.evaluation.metrics import MRR
from hmem.evaluation.report import report
from hmem.graph.dataset import Dataset, GraphName
from hmem.graph.registry import load_dataset
from hmem.graph.triples import Triples
from hmem.memory.propagation import Links
from hmem.model.propagation import ComputedRoles, LearnedRoles, Propagation
from hmem.reproduction.results import append_line, line_of
from hmem.runs.device import resolve_device

MOST_STATES = 60_000_000  # entities × questions × dimensions of one pass in which nothing is learned
WARMUP = 100  # steps
LOOKED_AT = 20_000  # train facts of which the linked share is measured


class Graph:
    """A dataset with its edges on the device, and questions about it."""

    def __init__(self, name: str, device: str, queries: int, hide: float | None) -> None:
        self.dataset, self.device = load_dataset(name), device
        self.train = self.links(self.dataset.train)
        self.observed = self.links(self.dataset.inference_triples("train"))
        self.validator = Validator(self.dataset, queries, device) if len(self.dataset.valid) else None
        links, R = self.train, self.dataset.num_relations
        self.source, self.role, self.target = links.source.long(), links.role.long(), links.target.long()
        self.turned = torch.where(self.role < R, self.role + R, self.role - R)
        self.mirror = torch.empty_like(self.role)  # the edge of the same fact from its other end
        N, Q = links.num_entities, links.num_roles
        here = (self.source * N + self.target) * Q + self.role
        there = (self.target * N + self.source) * Q + self.turned
        self.mirror[here.argsort()] = there.argsort()
        order = torch.argsort(self.source * Q + self.role)
        self.keys, self.answers = (self.source * Q + self.role)[order].contiguous(), self.target[order]
        self.hide = self.share_to_hide() if hide is None else hide

    def links(self, facts: Triples) -> Links:
        head, relation, tail = torch.from_numpy(facts.astype(np.int64)).to(self.device).unbind(1)
        R = self.dataset.num_relations
        roles = torch.cat([relation + R, relation])
        return Links(torch.cat([head, tail]), roles, torch.cat([tail, head]), self.dataset.num_entities, 2 * R)

    def share_to_hide(self) -> float:
        """How often all links between two entities are hidden, so that training facts are linked as validation is."""
        drawn = np.random.default_rng(0).permutation(len(self.dataset.train))[:LOOKED_AT]
        in_train = self.linked(self.train, self.dataset.train[drawn], own=2)
        in_valid = self.linked(self.observed, self.dataset.valid, own=0) if len(self.dataset.valid) else in_train
        return 1 - min(1.0, in_valid / max(in_train, 1e-6))

    def linked(self, links: Links, facts: Triples, own: int) -> float:
        """The share of facts whose entities have other links, besides `own` edges of the fact itself."""
        head, _, tail = torch.from_numpy(facts.astype(np.int64)).to(self.device).unbind(1)
        pairs = torch.cat([links.between(head, tail)[0], links.between(tail, head)[0]])
        return float((torch.bincount(pairs, minlength=len(head)) > own).float().mean())

    def hidden(self, edges: Int[Tensor, " B"], drop: float) -> Bool[Tensor, " e"]:
        """What the questions that these edges answer must be answered without."""
        hidden = torch.rand(len(self.source), device=edges.device) < drop
        hidden = torch.where(self.role < self.dataset.num_relations, hidden, hidden[self.mirror])  # whole facts
        hidden[edges] = hidden[self.mirror[edges]] = True
        u, v = self.source[edges], self.target[edges]
        unlinked = torch.rand(len(edges), device=edges.device) < self.hide
        for pair, edge in (self.train.between(u, v), self.train.between(v, u)):
            hidden[edge[unlinked[pair]]] = True
        return hidden

    def loss(self, network: Propagation, edges: Int[Tensor, " B"], drop: float) -> Float[Tensor, ""]:
        """−log p(answer) among all entities but the other true answers."""
        u, q, v = self.source[edges], self.role[edges], self.target[edges]
        scores = network(u, q, self.train.without(self.hidden(edges, drop)))
        asked = u * self.train.num_roles + q
        low = torch.searchsorted(self.keys, asked)
        counts = torch.searchsorted(self.keys, asked, right=True) - low
        row = torch.repeat_interleave(counts)
        place = torch.arange(len(row), device=row.device) + (low - (counts.cumsum(0) - counts))[row]
        masked = scores.index_put((row, self.answers[place]), scores.new_tensor(-1e9))
        return torch.nn.functional.cross_entropy(masked.scatter(1, v[:, None], scores.gather(1, v[:, None])), v)


class NetworkScorer:
    """A network on the edges of a graph, as evaluation asks it."""

    def __init__(self, network: Propagation, links: Links, dim: int) -> None:
        self.network, self.links = network.eval(), links
        self.device = links.source.device
        self.at_once = max(1, MOST_STATES // (links.num_entities * dim))

    def score(self, entities: Int[Tensor, " B"], roles: Int[Tensor, " B"]) -> Float[Tensor, "B E"]:
        parts = zip(entities.split(self.at_once), roles.split(self.at_once), strict=True)
        return torch.cat([self.network(*part, self.links) for part in parts])


def fitted(given: argparse.Namespace, graphs: list[Graph], unseen: list[Graph]) -> tuple[Propagation, dict[str, float]]:
    """A network trained for the given minutes; the best weights by the mean validation MRR of its graphs."""
    torch.manual_seed(given.seed)
    if len(graphs) == 1 and not unseen:
        table = LearnedRoles(graphs[0].train.num_roles, given.dim, given.steps)
        network = Propagation(table, given.dim, given.steps)
    else:
        network = Propagation(ComputedRoles(given.dim, given.steps, given.steps), given.dim, given.steps)
    network = network.to(given.device)
    optimizer = torch.optim.AdamW(network.parameters(), given.rate, weight_decay=1e-4)
    weights = torch.tensor(
        [len(graph.source) ** 0.5 for graph in graphs]
    )  # larger graphs oftener, but not by their size
    began, budget, looks, steps = time.perf_counter(), 60 * given.minutes, 0, 0
    best, kept, asked, losses = -1.0, network.state_dict(), 0, []
    orders: dict[int, Tensor] = {}
    while looks < given.looks:
        share = (time.perf_counter() - began) / budget
        if share * given.looks > looks + 1 or share >= 1:
            looks += 1
            found = {each.dataset.name: mrr(network, each, given.dim) for each in (*graphs, *unseen) if each.validator}
            loss = float(torch.stack(losses[-200:]).mean())
            print(f"{share * budget:5.0f} s  {asked:9,} questions  loss {loss:.3f} ", end="")
            print(*(f" {name} {value:.4f}" for name, value in found.items()), flush=True)
            mean = float(np.mean([found[graph.dataset.name] for graph in graphs if graph.validator]))
            if mean > best:
                best, kept = mean, {name: value.clone() for name, value in network.state_dict().items()}
            continue
        for group in optimizer.param_groups:
            group["lr"] = given.rate * min(1, (steps + 1) / WARMUP) * (0.505 + 0.495 * math.cos(math.pi * share))
        chosen = int(torch.multinomial(weights, 1))
        graph = graphs[chosen]
        if len(orders.get(chosen, ())) < given.batch:
            orders[chosen] = torch.randperm(len(graph.source)).to(graph.source.device)
        edges, orders[chosen] = orders[chosen][: given.batch], orders[chosen][given.batch :]
        network.train()
        drop = given.drop if len(graphs) == 1 else given.drop * float(torch.rand(()))  # many graphs: of any density
        loss_now = graph.loss(network, edges, drop)
        optimizer.zero_grad(set_to_none=True)
        loss_now.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        losses.append(loss_now.detach())
        steps, asked = steps + 1, asked + given.batch
    seconds = time.perf_counter() - began
    network.load_state_dict(kept)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    return network, {"training_seconds": round(seconds, 1), "questions": asked, "parameters": parameters}


def mrr(network: Propagation, graph: Graph, dim: int) -> float:
    assert graph.validator is not None
    return graph.validator(NetworkScorer(network, graph.observed, dim))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--unseen", nargs="*", default=[], help="graphs to rank without training on them")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--dim", type=int, default=32, help="16 or 32 on a GPU; with 64 the kernels lack shared memory")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=64, help="questions of one step")
    parser.add_argument("--rate", type=float, default=3e-3, help="of many graphs, try 1e-3")
    parser.add_argument("--drop", type=float, default=0.0, help="share of the facts that each step hides at random")
    parser.add_argument("--hide", type=float, help="how often all links between two entities are hidden; else measured")
    parser.add_argument("--looks", type=int, default=8, help="at the validation facts")
    parser.add_argument("--queries", type=int, default=3000, help="of validation, at each look")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--test", action="store_true", help="rank the test facts in the end")
    parser.add_argument("--plus", action="store_true", help="and once more with the validation facts in the graph")
    parser.add_argument("--json", help="a file to add the results to")
    given = parser.parse_args()
    given.device = resolve_device(given.device)
    graphs, unseen = (
        [Graph(name, given.device, given.queries, given.hide) for name in names] for names in (given.data, given.unseen)
    )
    for graph in graphs:
        print(f"{graph.dataset.name}: {len(graph.dataset.train):,} facts, links hidden {graph.hide:.0%}")
    network, cost = fitted(given, graphs, unseen)
    settings = {name: value for name, value in vars(given).items() if name not in ("json", "test", "plus")}
    for graph in (*graphs, *unseen) if given.test else ():
        for name in ("train", "train+valid") if given.plus else ("train",):
            ranked(graph.dataset, name, NetworkScorer(network, links_of(graph, name), given.dim), settings, cost, given)


def links_of(graph: Graph, name: GraphName) -> Links:
    return graph.observed if name == "train" else graph.links(graph.dataset.inference_triples(name))


def ranked(
    dataset: Dataset,
    graph: GraphName,
    scorer: Scorer,
    settings: dict[str, object],
    cost: dict[str, float],
    given: argparse.Namespace,
) -> None:
    """Print the test figures of one graph, and keep them."""
    made = report(scorer, dataset, model="propagation", graph=graph, settings=settings, seed=given.seed, extra={**cost})
    values = made.protocols["all"]
    print(
        f"{dataset.name:14} {graph:12} test MRR {values[MRR]:.4f}  H@1 {values['both.realistic.hits_at_1']:.4f}", end=""
    )
    print(f"  H@10 {values['both.realistic.hits_at_10']:.4f}", flush=True)
    if given.json:
        append_line(Path(given.json), line_of(made))


if __name__ == "__main__":
    main()
