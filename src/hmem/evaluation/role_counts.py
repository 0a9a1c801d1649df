"""What the stored facts say of the roles of a graph: who has them, and with how many answers.

A slot is an entity and a role, with the answers that are stored there. Withholding shows how often a slot lacks one.
Of a role, N_n entities have n answers. To withhold any one fact of those with n + 1 leaves n stored and one missing, in
(n + 1)·N_{n+1} ways, and N_n entities have n and miss none: a role that never has two answers lacks none where it has
one. For an empty slot the question is whether entities of its kind have the role at all: of those that share a role c
with it, how many have q? The best such c speaks.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from hmem.evaluation.logistic import log_odds
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.slot_sizes import SlotSizes, slot_sizes

BUCKETS = 10  # of numbers of stored answers: 0, 1, 2–3, 4–7, …
WITHHELD = 0.05  # of the facts, when filled slots are counted
PRIOR = 2.0  # slots of the average role that are added to those of each role
KINDS = 12  # roles that speak for each role, at most
KIND_PRIOR = 1.0  # entities of no kind in particular, added to those with a role
ENTITIES = 20_000  # of which kinds are counted


class Counted(NamedTuple):
    """What the stored facts say of the roles of a graph."""

    filled: Float[np.ndarray, "R2 buckets"]  # log odds that a slot with so many answers lacks one
    others: Int[np.ndarray, "R2 kinds"]  # the roles c that speak best for each role
    share: Float[np.ndarray, "R2 kinds"]  # of the entities with c, those that have the role as well
    base: Float[np.ndarray, " R2"]  # the same of all entities


def count(graph: Neighborhoods, seed: int = 0) -> Counted:
    """What the facts of a graph say of its roles; rounded, as a file keeps it."""
    others, share, base = _kinds(graph, seed)
    odds = _filled_odds(slot_sizes(graph), graph.num_roles)
    return Counted(np.round(odds, 4), others, np.round(share, 4), np.round(base, 6))


def shares_of_kind(
    counted: Counted, graph: Neighborhoods, entity: int, roles: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Of the entities that have a role which this one has, how many have other roles; by the role that says most."""
    present = np.zeros(len(counted.base), dtype=bool)
    present[graph.edges_of(entity)[0]] = True
    return share_of(counted, present, roles)


def share_of(
    counted: Counted, present: Bool[np.ndarray, " R2"], roles: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """The share of the entities of a kind that have each role, where the kind is given by the roles they have.

    A role that is not listed says less than any that is; without roles an entity is of no kind in particular.
    """
    base: Float[np.ndarray, " n"] = counted.base[roles]
    if not present.any():
        return base
    speaks = np.where(present[counted.others[roles]], counted.share[roles], 0.0).max(1, initial=0.0)
    share: Float[np.ndarray, " n"] = np.where(
        speaks > 0, speaks, np.minimum(counted.share[roles].min(1, initial=1.0), base)
    )
    return share


def _filled_odds(sizes: SlotSizes, num_roles: int) -> Float[np.ndarray, "R2 buckets"]:
    """Log odds that a slot with n answers lacks another, by withholding."""
    role, answers, times = sizes.T
    complete = np.zeros((num_roles, BUCKETS))
    np.add.at(complete, (role, bucket(answers)), times)
    lacking = np.zeros_like(complete)
    several = answers > 1
    withheld = WITHHELD * (answers * times)[several]
    np.add.at(lacking, (role[several], bucket(answers[several] - 1)), withheld)
    average = lacking.sum(0) + 0.5
    average = average / (average + complete.sum(0) + 0.5)
    share = (lacking + PRIOR * average) / (lacking + complete + PRIOR)
    return log_odds(share)


def _kinds(
    graph: Neighborhoods, seed: int
) -> tuple[Int[np.ndarray, "R2 kinds"], Float[np.ndarray, "R2 kinds"], Float[np.ndarray, " R2"]]:
    """For each role q the roles c with the highest P(q | c), those values, and P(q)."""
    with_facts = np.flatnonzero(np.diff(graph.offsets) > 0)
    chosen = np.random.default_rng(seed).permutation(with_facts)[:ENTITIES]
    num_roles = graph.num_roles
    together = np.zeros((num_roles, num_roles))
    rows = max(1, 2**24 // num_roles)
    for start in range(0, len(chosen), rows):
        edges = graph.lookup(chosen[start : start + rows])
        has = np.zeros((len(chosen[start : start + rows]), num_roles), dtype=np.float32)
        has[edges.owner, edges.roles] = 1
        together += has.T @ has
    number = np.diag(together).copy()
    base = number / max(1, len(chosen))
    share = (together + KIND_PRIOR * base) / (number[:, None] + KIND_PRIOR)  # (c, q)
    np.fill_diagonal(share, 0.0)
    kinds = min(KINDS, num_roles)
    others = np.argsort(-share, axis=0, kind="stable")[:kinds].T
    return others, np.take_along_axis(share.T, others, axis=1), base


def bucket(stored: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    doublings = np.ceil(np.log2(np.maximum(stored, 0) + 1)).astype(np.int64)
    bucket: Int[np.ndarray, " n"] = np.minimum(doublings, BUCKETS - 1)
    return bucket
