"""Rules of several steps: which walks through the graph lead where a single role would.

"The habitat of one's kind" is a path: from an entity along role c₁ to a neighbor, from there along c₂ to its
neighbors. A path is a rule for role q if it often ends at an answer to q.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from hmem.errors import ConfigError
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.ranges import expand, matches
from hmem.graph.triples import mirror_role

MOST_AT_A_STEP = 200  # neighbors in one role; a step that leads to more says little about any of them
MOST_WAYS = MOST_AT_A_STEP**2  # neighbors of all steps multiplied: the most walks of a rule from one entity
FACTS_PER_ROLE = 100  # that rules are looked for in, at least
FACTS = 40_000  # in all, shared among the roles
BODIES_PER_ROLE, BODIES = 30, 10_000  # the same for entities whose walks are counted
LEAST_HITS = 2
LARGEST = 20_000  # walks from one entity; one with more is near everything, and left out of the search
DOUBT = 5.0  # imagined walks that lead nowhere; a rule seen twice is not yet certain
CHUNK = 1_000

Ints = Int[np.ndarray, " _"]


@dataclass(frozen=True, slots=True)
class PathRules:
    """For every role q, up to K paths that may answer it, sorted by their steps; −1 fills up."""

    steps: Int[np.ndarray, "roles K L"]  # roles, −1 after the last step of a shorter path
    confidence: Float[np.ndarray, "roles K"]  # how often a walk's end is an answer; 0 where there is no rule


@dataclass(frozen=True, slots=True)
class Walks:
    """Walks of equal length from the entities of some facts: where each is now, and the roles it went along."""

    fact: Ints
    at: Ints
    key: Ints  # roles + 1 as digits in base 2R + 1
    ways: Ints  # how many neighbors each step could choose from, multiplied

    def select(self, kept: np.ndarray) -> "Walks":
        return Walks(self.fact[kept], self.at[kept], self.key[kept], self.ways[kept])


def mine_paths(graph: Neighborhoods, per_role: int, steps: int = 2, seed: int = 0) -> PathRules:
    """The most reliable paths of 2 to `steps` steps for every role, found in a sample of its facts, each of which is
    left out of its own proof."""
    base = graph.num_roles + 1
    if base ** (steps + 1) * CHUNK >= 2**63:  # a rule of a fact is one integer
        raise ConfigError(f"paths.steps={steps} is too many for {graph.num_relations:,} relations; try {steps - 1}")
    rng = np.random.default_rng(seed)
    sample = _sample_facts(graph, max(FACTS_PER_ROLE, FACTS // max(1, graph.num_roles)), rng)
    keys, hits = _count_hits(graph, sample, steps)
    keep = hits >= LEAST_HITS
    keys, hits = _strongest(keys[keep], hits[keep].astype(np.float64), base**steps, 4 * per_role)
    walks, share = _count_walks(graph, sample, keys, steps, rng)
    confidence = np.minimum(1.0, hits * share / (walks + DOUBT))
    keys, confidence = _strongest(keys, confidence, base**steps, per_role)
    return _table(keys, confidence, graph.num_roles, per_role, steps)


Sample = tuple[Ints, Ints, Ints]  # entities, roles and answers


def _sample_facts(graph: Neighborhoods, per_role: int, rng: np.random.Generator) -> Sample:
    """Up to `per_role` edges of every role, sorted by role."""
    kept = _some_of_each(graph.roles.astype(np.int64), per_role, rng)
    return graph.owners[kept], graph.roles[kept].astype(np.int64), graph.fillers[kept].astype(np.int64)


def _count_hits(graph: Neighborhoods, sample: Sample, steps: int) -> tuple[Ints, Ints]:
    """Every path that reaches a sampled answer, as a key with the asked role in front, and how many facts it does."""
    base = graph.num_roles + 1
    found, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for start in range(0, len(sample[0]), CHUNK):
        entity, role, answer = (each[start : start + CHUNK] for each in sample)
        far = graph.lookup(answer)
        last = mirror_role(far.roles.astype(np.int64), graph.num_relations)
        place = far.owner * graph.num_entities + far.fillers  # the entities one step before the answer of each fact
        order = np.argsort(place, kind="stable")
        place, last = place[order], last[order]
        nowhere = np.zeros(len(entity), dtype=np.int64)
        walks = Walks(np.arange(len(entity)), entity, nowhere, nowhere + 1)
        for length in range(2, steps + 1):
            walks = _step(graph, walks, entity, answer)
            here = walks.fact * graph.num_entities + walks.at
            source, hit = matches(place, here)
            low, high = graph.answer_ranges(walks.at[source], last[hit])
            allowed = high - low <= _most_at_a_step(walks.ways[source])
            source, hit = source[allowed], hit[allowed]
            path = walks.key[source] * base + last[hit] + 1
            rule = (role[walks.fact[source]] * base**length + path) * base ** (steps - length)
            once = np.unique(rule * CHUNK + walks.fact[source]) // CHUNK  # a fact counts once, by however many ways
            each, times = np.unique(once, return_counts=True)
            found, inverse = np.unique(np.concatenate([found, each]), return_inverse=True)
            counts = np.bincount(inverse, np.concatenate([counts, times]), len(found)).astype(np.int64)
    return found, counts


def _step(graph: Neighborhoods, walks: Walks, entity: Ints, answer: Ints) -> Walks:
    """All walks one step longer, but not to either end of the fact: they would lead through its own proof."""
    many = np.bincount(walks.fact, graph.degrees(walks.at), len(entity))
    walks = walks.select(many[walks.fact] <= LARGEST)
    edges = graph.lookup(walks.at)
    roles = edges.roles.astype(np.int64)
    first = np.flatnonzero(np.diff(edges.owner * graph.num_roles + roles, prepend=-1))  # of each owner and role
    sizes = np.diff(first, append=len(roles))
    crowd = np.repeat(sizes, sizes)
    fact = walks.fact[edges.owner]
    ways = walks.ways[edges.owner]
    apart = (edges.fillers != entity[fact]) & (edges.fillers != answer[fact]) & (crowd <= _most_at_a_step(ways))
    key = walks.key[edges.owner] * (graph.num_roles + 1) + roles + 1
    return Walks(fact, edges.fillers.astype(np.int64), key, ways * crowd).select(apart)


def _most_at_a_step(ways: Ints) -> Ints:
    """How many neighbors the next step of a walk may choose from, after that many ways."""
    allowed: Ints = np.minimum(MOST_AT_A_STEP, MOST_WAYS // ways)
    return allowed


def _count_walks(
    graph: Neighborhoods, sample: Sample, keys: Ints, steps: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, " rules"], Float[np.ndarray, " rules"]]:
    """How many walks each path has from some of the sampled entities, and which share of its role's sample they are."""
    base = graph.num_roles + 1
    entities, roles, answers = sample
    some = _some_of_each(roles, max(BODIES_PER_ROLE, BODIES // max(1, graph.num_roles)), rng)
    total = np.bincount(roles, minlength=graph.num_roles)
    share = np.bincount(roles[some], minlength=graph.num_roles) / np.maximum(1, total)
    asked = keys // base**steps
    counts = np.zeros(len(keys))
    for start in range(0, len(some), CHUNK // 4):
        rows = some[start : start + CHUNK // 4]
        fact, rule = matches(asked, roles[rows])
        at = entities[rows][fact]
        ways = np.ones(len(at), dtype=np.int64)
        for step in range(steps):
            role = keys[rule] // base ** (steps - 1 - step) % base - 1
            ends = role < 0  # of a shorter path: the walks that came so far are all there are
            counts += np.bincount(rule[ends], minlength=len(keys))
            goes_on = ~ends
            if step > 0:  # through either end of the fact would be through its own proof
                goes_on &= (at != entities[rows][fact]) & (at != answers[rows][fact])
            fact, rule, at, role, ways = fact[goes_on], rule[goes_on], at[goes_on], role[goes_on], ways[goes_on]
            low, high = graph.answer_ranges(at, role)
            width = np.where(high - low <= _most_at_a_step(ways), high - low, 0)
            if step == steps - 1:
                counts += np.bincount(rule, width, len(keys))
                break
            source, position = expand(low, width)
            fact, rule, at = fact[source], rule[source], graph.fillers[position].astype(np.int64)
            ways = (ways * width)[source]
    return counts, share[asked]


def _some_of_each(group: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Positions of up to `most` members of each group, drawn at random, by group."""
    order = rng.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    in_order = group[order]
    return order[np.arange(len(order)) - np.searchsorted(in_order, in_order) < most]


def _strongest(
    keys: Ints, strength: Float[np.ndarray, " _"], per_group: int, most: int
) -> tuple[Ints, Float[np.ndarray, " _"]]:
    """The `most` strongest keys of each group key // per_group, in the order of the keys."""
    order = np.lexsort((keys, -strength, keys // per_group))
    group = keys[order] // per_group
    kept = np.sort(order[np.arange(len(order)) - np.searchsorted(group, group) < most])
    return keys[kept], strength[kept]


def _table(keys: Ints, confidence: Float[np.ndarray, " _"], num_roles: int, per_role: int, steps: int) -> PathRules:
    base = num_roles + 1
    asked = keys // base**steps
    column = np.arange(len(keys)) - np.searchsorted(asked, asked)
    table = np.full((num_roles, per_role, steps), -1, dtype=np.int64)
    for step in range(steps):
        table[asked, column, step] = keys // base ** (steps - 1 - step) % base - 1
    sure = np.zeros((num_roles, per_role), dtype=np.float32)
    sure[asked, column] = confidence
    return PathRules(table, sure)
