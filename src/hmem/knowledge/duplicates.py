"""Pairs of entities that are probably one, from the facts they share and from names that are nearly alike.

What speaks for a pair and against it is added up in bits, as if all were independent, which it is not: the score orders
pairs, and is no probability.

- A fact that two share weighs log2(entities / how many have it): sharing a rare one says more. Of a pair's shared facts
  counts what share they are of all facts of the one that has fewer, so that two hubs are not alike by chance.
- Names (labels and aliases, or the id where there is no label) weigh the fewer bits, the more entities have them and
  the more letters differ. Names with other numbers are other names, and so are those with other words, if each of these
  words stands in further names.
- Against it speak a fact between the two, different kinds, and different answers where a relation has one answer.

Only pairs are looked at that share a rare fact, or whose names are neighbors in the order of their letters, read
forwards or backwards: both grow with the graph, not with its square.
"""

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from rapidfuzz import process
from rapidfuzz.distance import OSA

from hmem.graph.descriptions import Description
from hmem.graph.name_search import letters
from hmem.knowledge.results import Table
from hmem.knowledge.shared_facts import Features, keys_of, summed
from hmem.knowledge.store.evidence import Evidence
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.store import Store

WINDOW = 6  # names behind each in the order of their letters that are compared with it
MOST_NAMES = 20  # of an entity that are compared
SHORTEST = 3  # letters of a name that is compared
ALIKE = 0.75  # from which likeness on names speak for a pair
NO_MORE_ALIKE = 0.6  # the likeness at which they would be worth nothing
MOST_NAMED = 300_000  # pairs whose names are all compared
FULL = 12.0  # bits that a name or shared facts are worth at most
UNLIKE = 10.0  # bits against a pair whose names have nothing in common
RELATED, OTHER_KIND, OTHER_ANSWER = 10.0, 8.0, 5.0  # bits against
MOST_ANSWERS_AGAINST = 2
LEAST = 4.0  # bits from which on a pair is proposed
TOLD = 3  # shared facts that are told
_WORD = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two entities that may be one."""

    kept: str  # the one with more facts
    other: str
    score: float  # bits for it less bits against it
    reasons: tuple[str, ...]  # in words, what speaks for it and then what speaks against it


class Duplicates(Table[Pair]):
    """Pairs that may be one entity, the best first."""

    COLUMNS: ClassVar = ("kept", "other", "score", "reasons")


class Finder:
    """Everything that is known of the entities of a store, to compare them."""

    def __init__(self, store: Store) -> None:
        facts, rows = store.triples(evidence=Evidence()), store.values.columns()
        # Behind what they name: others may be writing.
        self.entities, self.relations, self.properties = (
            store.entity_names(),
            store.relation_names(),
            store.values.names(),
        )
        self.said = store.naming.changed_since("entity", 0)
        self.labels = store.naming.labels(relations=self.relations)
        texts: dict[tuple[str, str, str | None], int] = {}
        numbered = [(row[0], row[1], texts.setdefault((row[2], row[3], row[4]), len(texts))) for row in rows]
        self.texts = [text for text, _, _ in texts]
        self.facts = facts
        values = np.array(numbered, dtype=np.int32).reshape(-1, 3)
        self.num_roles = 2 * len(self.relations) + len(self.properties)
        self.features = Features.of(facts, values, len(self.relations), len(self.entities))
        self.degrees = np.bincount(self.features.holders, minlength=len(self.entities))
        order = np.argsort(self.features.holders, kind="stable")
        self._of_holder = self.features.features[order]
        self._starts = np.concatenate([[0], np.cumsum(self.degrees)])
        self._names = {
            number: names for number in np.flatnonzero(self.degrees).tolist() if (names := self._called(number))
        }
        self._uses = Counter(each for names in self._names.values() for each in set(map(letters, names)))
        self._words = Counter(word for names in self._names.values() for word in set(_words(" ".join(names))))
        self._has_one_answer = self.features.single(self.num_roles)

    def best(self, k: int) -> Duplicates:
        """The k pairs that are most probably one entity."""
        shared, bits = self.features.pairs()
        named = self._named_alike()
        pairs, shared_bits = summed(np.concatenate([shared, named]), np.concatenate([bits, np.zeros(len(named))]))
        own = self.features.own(len(self.entities))
        fewer = np.minimum(own[pairs[:, 0]], own[pairs[:, 1]])
        for_facts = np.minimum(shared_bits, FULL) * shared_bits / np.maximum(fewer, 1e-9)
        is_named = np.isin(keys_of(pairs), keys_of(named))
        hopeful = np.flatnonzero(is_named | (for_facts >= LEAST))
        hopeful = hopeful[np.argsort(-for_facts[hopeful] - FULL * is_named[hopeful], kind="stable")[:MOST_NAMED]]
        pairs, for_facts = pairs[hopeful], for_facts[hopeful]
        score = for_facts + self._by_name(pairs)[0]
        likely = np.flatnonzero(score >= LEAST)
        found: list[tuple[float, int]] = []
        best: list[float] = []  # the k highest scores, the lowest of them first
        for place in likely[np.argsort(-score[likely], kind="stable")].tolist():
            if len(best) >= k and score[place] <= best[0]:
                break  # none of the others can be better: what is left to look up speaks against them
            total = float(score[place]) - sum(bits for bits, _ in self._against(*pairs[place].tolist()))
            if total >= LEAST:
                found.append((total, place))
                (heapq.heappush if len(best) < k else heapq.heappushpop)(best, total)
        found.sort(key=lambda each: (-each[0], pairs[each[1]].tolist()))
        return Duplicates([self._pair(pairs[place].tolist(), score) for score, place in found[:k]])

    # Names

    def _called(self, number: int) -> list[str]:
        """What an entity is called: its label and aliases, else its id."""
        said = self.said.get(number)
        called = [] if said is None else [said.label, *said.aliases]
        return [name for name in called if name][:MOST_NAMES] or [self.entities[number]]

    def _named_alike(self) -> Int[np.ndarray, "p 2"]:
        """Pairs with names that stand near each other, sorted by their letters from the front or from the back."""
        names = [(letters(name), number) for number, called in self._names.items() for name in called]
        names = [(name, number) for name, number in names if len(name) >= SHORTEST]
        found = [np.empty((0, 2), dtype=np.int64)]
        for ordered in (sorted(names), sorted((name[::-1], number) for name, number in names)):
            numbers = np.array([number for _, number in ordered], dtype=np.int64)
            texts = [name for name, _ in ordered]
            for step in range(1, min(WINDOW, len(texts) - 1) + 1):
                alike = process.cpdist(
                    texts[:-step], texts[step:], scorer=OSA.normalized_similarity, score_cutoff=ALIKE
                )
                near = np.flatnonzero(alike)
                found.append(np.stack([numbers[near], numbers[near + step]], axis=1))
        pairs: Int[np.ndarray, "p 2"] = np.concatenate(found)
        apart: Int[np.ndarray, "q 2"] = pairs[pairs[:, 0] != pairs[:, 1]]
        return apart

    def _by_name(self, pairs: Int[np.ndarray, "p 2"]) -> tuple[Float[np.ndarray, " p"], list[tuple[str, str]]]:
        """The bits for or against pairs by the most alike of their names, and which these are."""
        rows, left, right = [], [], []
        for row, (one, two) in enumerate(pairs.tolist()):
            for name in self._names.get(one, ()):
                for other in self._names.get(two, ()):
                    rows.append(row)
                    left.append(name)
                    right.append(other)
        if not rows:
            return np.zeros(len(pairs)), [("", "")] * len(pairs)
        folded = [[letters(name) for name in names] for names in (left, right)]
        alike = process.cpdist(*folded, scorer=OSA.normalized_similarity).astype(np.float64)
        for place in np.flatnonzero(alike >= ALIKE).tolist():
            alike[place] = self._likeness(left[place], right[place], float(alike[place]))
        order = np.lexsort((-alike, np.array(rows)))
        first = order[np.unique(np.array(rows)[order], return_index=True)[1]]
        best = np.zeros(len(pairs))
        best[np.array(rows)[first]] = alike[first]
        chosen = {rows[place]: (left[place], right[place]) for place in first.tolist()}
        names_of = [chosen.get(row, ("", "")) for row in range(len(pairs))]
        rare = np.array([min(self._rarity(one), self._rarity(two)) for one, two in names_of])
        share = (best - NO_MORE_ALIKE) / (1 - NO_MORE_ALIKE)
        return np.where(best >= ALIKE, rare * share, -UNLIKE * (1 - best / ALIKE)), names_of

    def _likeness(self, one: str, two: str, alike: float) -> float:
        """How much alike the words are in which two names differ.

        Other numbers are other names, and so are other words that each stand in further names too: a misspelt word
        stands nowhere else; eastern and western do.
        """
        words, others = _words(one), _words(two)
        only = [word for word in words if word not in others], [word for word in others if word not in words]
        if any(word.isdecimal() for side in only for word in side):
            return 0.0
        if any(only) and all(any(self._words[word] > 1 for word in side) for side in only if side):
            return 0.0
        if not all(only):
            return alike
        return min(alike, float(OSA.normalized_similarity("".join(only[0]), "".join(only[1]))))

    def _rarity(self, name: str) -> float:
        """The bits that sharing a name is worth: all if two have it, one less for twice as many."""
        return max(0.0, FULL - float(np.log2(max(self._uses.get(letters(name), 0), 2) / 2)))

    # One pair

    def _of(self, entity: int) -> Int[np.ndarray, " f"]:
        return self._of_holder[self._starts[entity] : self._starts[entity + 1]]

    def _pair(self, pair: Sequence[int], score: float) -> Pair:
        kept, other = sorted(pair, key=lambda each: (-self.degrees[each], each))
        reasons = [*self._for(kept, other), *(f"against: {words}" for _, words in self._against(kept, other))]
        return Pair(kept=self.entities[kept], other=self.entities[other], score=round(score, 2), reasons=tuple(reasons))

    def _for(self, kept: int, other: int) -> Iterable[str]:
        bits, ((one, two),) = self._by_name(np.array([[kept, other]]))
        if bits[0] > 0:
            alike = "the same name" if letters(one) == letters(two) else "names nearly alike"
            yield f'{alike}: "{one}"' + ("" if one == two else f' and "{two}"')
        both = np.intersect1d(self._of(kept), self._of(other))
        both = both[np.argsort(-self.features.weights[both], kind="stable")]
        for feature in both[:TOLD].tolist():
            yield f"both {self._fact(feature)}, as {self.features.counts[feature]:,} entities do"
        if len(both) > TOLD:
            more = len(both) - TOLD
            yield f"{more:,} more {'fact' if more == 1 else 'facts'} in common"

    def _against(self, kept: int, other: int) -> list[tuple[float, str]]:
        found = [(RELATED, f"a fact between them: {' '.join(fact)}") for fact in islice(self._between(kept, other), 1)]
        kinds = [None if (said := self.said.get(each)) is None else said.kind for each in (kept, other)]
        if None not in kinds and kinds[0] != kinds[1]:
            found.append((OTHER_KIND, f"they are of different kinds, {kinds[0]} and {kinds[1]}"))
        answers = [dict(self._single(each)) for each in (kept, other)]
        for role in sorted(answers[0].keys() & answers[1].keys()):
            one, two = answers[0][role], answers[1][role]
            if one != two and len(found) < MOST_ANSWERS_AGAINST + 2:
                ends = f"{self._filler(role, one)} and {self._filler(role, two)}"
                found.append(
                    (OTHER_ANSWER, f"different answers where there is one as a rule: {self._role(role)} {ends}")
                )
        return found

    def _between(self, one: int, two: int) -> Iterator[Names3]:
        fewer, more = sorted((one, two), key=lambda each: int(self.degrees[each]))
        for feature in self._of(fewer).tolist():
            role, filler = int(self.features.roles[feature]), int(self.features.fillers[feature])
            if filler == more and role < 2 * len(self.relations):
                ends = (fewer, more) if role < len(self.relations) else (more, fewer)
                yield self._name(ends[0]), self._relation(role % len(self.relations)), self._name(ends[1])

    def _single(self, entity: int) -> Iterable[tuple[int, int]]:
        """The answers of an entity in roles that have one, if it has one there itself."""
        features = self._of(entity)
        roles = self.features.roles[features]
        for role, place, number in zip(*np.unique(roles, return_index=True, return_counts=True), strict=True):
            if number == 1 and self._has_one_answer[role]:
                yield int(role), int(self.features.fillers[features[place]])

    # Words

    def _fact(self, feature: int) -> str:
        role, filler = int(self.features.roles[feature]), int(self.features.fillers[feature])
        if len(self.relations) <= role < 2 * len(self.relations):
            return f"are what {self._filler(role, filler)} {self._role(role)}"
        return f"{self._role(role)} {self._filler(role, filler)}"

    def _role(self, role: int) -> str:
        if role >= 2 * len(self.relations):
            return self.properties[role - 2 * len(self.relations)]
        return self._relation(role % len(self.relations))

    def _filler(self, role: int, filler: int) -> str:
        return self.texts[filler] if role >= 2 * len(self.relations) else self._name(filler)

    def _relation(self, relation: int) -> str:
        return self.labels.relation(self.relations[relation])

    def _name(self, entity: int) -> str:
        said: Description | None = self.said.get(entity)
        return self.entities[entity] if said is None else said.label or self.entities[entity]


def _words(name: str) -> list[str]:
    return _WORD.findall(name.casefold())
