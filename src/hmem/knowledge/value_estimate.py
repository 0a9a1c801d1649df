"""What the value of a property probably is, for an entity of which it is not known, or as if it were not.

All is done on ranks: u is the share of the known values below a value, from 0 to 1, so that neither the unit nor a few
giants matter. Each fact that an entity shares with others, each role it has and its kind is worth a step up or down
(`hmem.knowledge.additive`); the other properties of a base count too, where they are evidence.

    û = μ + Σ b_f over the facts of the entity

Known values are withheld in turn. The interval of 80 % reaches as far below and above û as those were off which belong
to entities with about as many facts that others share. They also decide what is believed: where the facts come no
nearer than the median of the kind, by more than chance, the median of the kind is the answer.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from hmem.errors import ConfigError, shown
from hmem.graph.values import Family, date_of, family_of
from hmem.knowledge.additive import FOLDS, Features, folds_of, withheld, worths
from hmem.knowledge.live_values import HIDDEN
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.store.records import Names3

FEWEST = 20  # entities with a value, from which on that of another can be estimated
MOST = 20_000  # of which are learned from
OUTSIDE = 0.1  # of the values are below the interval, and as many above
NEAR = 100  # withheld values by which an interval is made
OF_KIND = 10  # values from which on a kind has a median of its own
BECAUSE = 3  # facts that are named
TELLING = 0.01  # the least step that is worth naming
NO_KIND = -1

Ranks = Float[np.ndarray, " n"]
Entities = Int[np.ndarray, " n"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A median and an interval; numbers and dates as they would be written."""

    entity: str
    property: str
    median: str
    low: str  # four in five values are from here
    high: str  # to here
    family: Family  # "number" or "date"
    unit: str | None
    by_facts: bool  # whether the facts say more than the kind; else the median is that of the kind
    kind: str | None  # whose median is told beside; None for that of all entities with a value
    kind_median: str
    known: int  # values that were learned from
    error: float  # of what is answered: the mean share of the known values between it and a withheld one
    kind_error: float  # the same of the median of the kind
    covered: float  # how many of the withheld values are in their intervals
    because: tuple[tuple[Names3, float], ...]  # the facts that move it most, and by which share of the known values
    stored: tuple[str, ...]  # what is stored, which was withheld


class Estimator:
    """What is known of one property at one moment, ready to be asked about any entity."""

    def __init__(self, predictor: Predictor, property: str) -> None:
        self.predictor, self.property = predictor, property
        self.moment = predictor.live.moment
        self.entities, numbers = self._read()
        self.is_whole = bool((numbers == np.round(numbers)).all())
        self.in_order = np.sort(numbers)
        places = [np.searchsorted(self.in_order, numbers, side=side) for side in ("left", "right")]
        self.ranks: Ranks = (places[0] + places[1]) / (2 * len(numbers))
        self.kinds = self._kinds()
        example, keys = self._keys(self.entities)
        self.keys, feature, uses = np.unique(keys, return_inverse=True, return_counts=True)
        is_shared = uses[feature] > 1
        count = len(self.entities)
        self.features = Features(example[is_shared], feature[is_shared], count, len(self.keys))
        self.support = np.bincount(self.features.example, minlength=count)
        self.of_kind = np.array([self.kinds.get(each, NO_KIND) for each in self.entities.tolist()])
        by_facts, by_kind = np.clip(withheld(self.features, self.ranks), 0.0, 1.0), self._by_kind()
        gain = np.abs(self.ranks - by_kind) - np.abs(self.ranks - by_facts)
        self.beats_kind = bool(gain.mean() > gain.std() / np.sqrt(count))
        self.off = self.ranks - (by_facts if self.beats_kind else by_kind)
        self.error, self.kind_error = (float(np.abs(each).mean()) for each in (self.off, self.ranks - by_kind))
        self.in_support = np.argsort(self.support, kind="stable")
        self.covered = self._covered()
        self.worths = worths(self.features, self.ranks, np.ones(count, dtype=bool))

    def estimate(self, entity: int) -> Estimate:
        live, count = self.predictor.live, len(self.entities)
        row = int(np.searchsorted(self.entities, entity))
        is_known = row < count and int(self.entities[row]) == entity
        others = np.arange(count) != row if is_known else np.ones(count, dtype=bool)
        mean, worth = worths(self.features, self.ranks, others) if is_known and self.beats_kind else self.worths
        features = self._features(entity)
        kind = self.kinds.get(entity, NO_KIND)
        middle = self._median(kind, others)
        rank = float(np.clip(mean + worth[features].sum(), 0.0, 1.0)) if self.beats_kind else middle
        below, above = self._ends(len(features))
        return Estimate(
            entity=live.entities.names[entity],
            property=self.property,
            median=self._written(rank),
            low=self._written(rank + below),
            high=self._written(rank + above),
            family=self.family,
            unit=self.unit,
            by_facts=self.beats_kind,
            kind=None if kind == NO_KIND else self.kind_names[kind],
            kind_median=self._written(middle),
            known=int(others.sum()),
            error=self.error,
            kind_error=self.kind_error,
            covered=self.covered,
            because=self._because(entity, worth) if self.beats_kind else (),
            stored=tuple(each.as_value().shown for each in live.store.values.listing(self._name(entity), self.property))
            if self._name(entity) in self.valued
            else (),
        )

    # What is known

    def _read(self) -> tuple[Entities, Float[np.ndarray, " n"]]:
        """The entities with a value that can be compared, by number, and the first such value of each."""
        live = self.predictor.live
        rows = [row for row in live.store.values.columns(self.property) if row[0] < len(live.entities.of_store)]
        groups: dict[tuple[Family, str | None, str], dict[int, float]] = {}
        for number_there, _, text, datatype, unit, number in rows:
            if number is not None and (family := family_of(text, datatype)) in ("number", "date"):
                part = datatype if family == "date" else ""
                groups.setdefault((family, unit, part), {}).setdefault(
                    int(live.entities.of_store[number_there]), number
                )
        largest = max(groups, key=lambda each: len(groups[each]), default=("text", None, ""))
        self.family, self.unit, self.datatype = largest
        found = groups.get(largest, {})
        if len(found) < FEWEST:
            problem = (
                f'"{shown(self.property)}" has {len(found):,} numbers or dates of one unit; an estimate takes {FEWEST}'
            )
            raise ConfigError(problem)
        self.valued = {live.entities.names[int(live.entities.of_store[row[0]])] for row in rows}
        entities = np.array(sorted(found))
        entities = np.sort(np.random.default_rng(0).permutation(entities)[:MOST])
        return entities, np.array([found[each] for each in entities.tolist()])

    def _name(self, entity: int) -> str:
        return self.predictor.live.entities.names[entity]

    def _kinds(self) -> dict[int, int]:
        """The kind of each entity, by number, if enough of the kind have a value."""
        live = self.predictor.live
        kinds = {
            int(live.entities.of_store[number]): kind
            for number, kind in live.store.naming.kinds_of()
            if number < len(live.entities.of_store)
        }
        known = [kinds[each] for each in self.entities.tolist() if each in kinds]
        names, counts = np.unique(np.array(known, dtype=str), return_counts=True)
        self.kind_names = names[counts >= OF_KIND].tolist()
        numbers = {name: number for number, name in enumerate(self.kind_names)}
        return {entity: numbers[kind] for entity, kind in kinds.items() if kind in numbers}

    def _keys(self, entities: Entities) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
        """The features of entities: a fact is a role and its filler, a role alone and a kind are below zero."""
        live = self.predictor.live
        own = [
            number
            for number in live.values.properties
            if live.relations.names[number].split(HIDDEN)[1] == self.property
        ]
        found = live.graph.lookup(entities)
        kept = ~np.isin(found.roles % max(1, live.num_relations), own)
        example, role = found.owner[kept], found.roles[kept].astype(np.int64)
        fact = role * live.graph.num_entities + found.fillers[kept]
        kind = np.array([self.kinds.get(each, NO_KIND) for each in entities.tolist()])
        of_kind = np.flatnonzero(kind != NO_KIND)
        roles = np.unique(np.stack([example, -1 - role], axis=1), axis=0)
        examples = np.concatenate([example, roles[:, 0], of_kind])
        return examples, np.concatenate([fact, roles[:, 1], -1 - live.graph.num_roles - kind[of_kind]])

    def _features(self, entity: int) -> Int[np.ndarray, " n"]:
        """Those of an entity that others share."""
        _, keys = self._keys(np.array([entity]))
        return np.flatnonzero(np.isin(self.keys, keys))

    # What was withheld

    def _median(self, kind: int, shown: Bool[np.ndarray, " n"]) -> float:
        """The median of a kind, or of all, of those that are shown."""
        of_kind = shown & (self.of_kind == kind)
        return float(np.median(self.ranks[of_kind if of_kind.any() and kind != NO_KIND else shown]))

    def _by_kind(self) -> Ranks:
        """The median of the kind of each known entity, from those of the other folds."""
        folds, found = folds_of(len(self.entities)), np.empty(len(self.entities))
        for fold in range(FOLDS):
            for kind in np.unique(self.of_kind).tolist():
                found[(folds == fold) & (self.of_kind == kind)] = self._median(kind, folds != fold)
        return found

    def _ends(self, support: int) -> tuple[float, float]:
        """How far below and above its rank a value may be, by the withheld ones with about as much support."""
        near = min(NEAR, len(self.off))
        place = int(np.searchsorted(self.support[self.in_support], support))
        first = min(max(0, place - near // 2), len(self.off) - near)
        ends = np.sort(self.off[self.in_support[first : first + near]])
        out = _outside(near)
        return float(ends[out]), float(ends[near - 1 - out])

    def _covered(self) -> float:
        """How many withheld values are in the intervals that the others near them make."""
        near = min(NEAR, len(self.off) - 1)
        out = _outside(near)
        windows = sliding_window_view(self.off[self.in_support], near + 1)  # each with the one that is asked about
        places = np.arange(len(self.off))
        first = np.clip(places - near // 2, 0, len(windows) - 1)
        others, own = windows[first], self.off[self.in_support][:, None]
        is_above, is_below = ((each.sum(1) - 1 > out) for each in (others <= own, others >= own))
        return float((is_above & is_below).mean())

    def _written(self, rank: float) -> str:
        number = float(np.quantile(self.in_order, min(1.0, max(0.0, rank))))
        if self.family == "date":
            parts = {"xsd:gYear": 2, "xsd:gYearMonth": 1}.get(self.datatype, 0)
            return date_of(number).rsplit("-", parts)[0] if parts else date_of(number)
        return str(round(number)) if self.is_whole else f"{number:.6g}"

    def _because(self, entity: int, worth: Float[np.ndarray, " features"]) -> tuple[tuple[Names3, float], ...]:
        """The facts that move it most."""
        live = self.predictor.live
        steps = []
        for role, filler in zip(*(each.tolist() for each in live.graph.edges_of(entity)), strict=True):
            key = role * live.graph.num_entities + filler
            place = int(np.searchsorted(self.keys, key))
            if place < len(self.keys) and self.keys[place] == key and abs(worth[place]) >= TELLING:
                steps.append((self.predictor.named(entity, role, filler), float(worth[place])))
        return tuple(sorted(steps, key=lambda each: -abs(each[1]))[:BECAUSE])


def _outside(near: int) -> int:
    """How many of so many withheld values are outside at either end (conformal prediction)."""
    return max(0, int(OUTSIDE * (near + 1)) - 1)
