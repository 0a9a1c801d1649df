"""Do values help to find answers, and can they be asked for?

`planted`: 240 cities, of which a quarter is asked what transport they have; but for one in ten it depends on the
population. `debian`: the sizes of packages, beside the facts of benchmarks/debian.py, of which some are asked for. Both
are asked of a knowledge base with the values and of one without, by the model that comes with hmem.

Then every value is asked for without itself: that of `planted` and `debian`, and for `attack` the day on which a head
of facts of MITRE ATT&CK is first told of. How far off is the estimate, as a share of the known values between it and
the truth? How far off are the median of the kind, and that of the 30 entities most alike, for 300 that are drawn? And
how many are in their interval, which promises 80 %?

    python benchmarks/values.py [--facts 300] [--asking] [--list PACKAGES] [--json PATH]

With --asking only the second is done, which is quick.
"""

import tempfile
from pathlib import Path

import numpy as np
from common import arguments, keep
from debian import apt_list, facts_of, read_list, records

import hmem
from hmem.errors import DataError
from hmem.graph.dataset import spare_rows
from hmem.graph.dated import dated_facts, kinds
from hmem.graph.descriptions import Description
from hmem.graph.intern import intern
from hmem.graph.names import Vocabulary
from hmem.graph.readers.read import read_table
from hmem.graph.values import Said, Value
from hmem.knowledge.store.records import Names3
from hmem.knowledge.value_estimate import Estimator

CITIES, COUNTRIES = 240, 12
TRANSPORT = ("bus", "tram", "metro")
NOISE = 0.1
ASKED, ALIKE = 300, 30


def planted() -> tuple[list[Names3], list[Names3], list[Said]]:
    """Facts, those that are asked for, and values."""
    rng = np.random.default_rng(0)
    population = np.exp(rng.normal(10.5, 1.2, CITIES)).round(-2).astype(int)
    size = np.searchsorted(np.quantile(population, [0.4, 0.75]), population)
    size = np.where(rng.random(CITIES) < NOISE, rng.integers(len(TRANSPORT), size=CITIES), size)
    names = [f"city{number}" for number in range(CITIES)]
    has = [(name, "has", TRANSPORT[each]) for name, each in zip(names, size.tolist(), strict=True)]
    others = [(name, "in", f"country{rng.integers(COUNTRIES)}") for name in names]
    others += [(name, "near", names[rng.integers(CITIES)]) for name in names]
    values = [(name, "population", Value.of(number)) for name, number in zip(names, population.tolist(), strict=True)]
    return others + [fact for place, fact in enumerate(has) if place % 4], has[::4], values


def debian(path: Path, count: int) -> tuple[list[Names3], list[Names3], list[Said]]:
    text = read_list(path)
    facts = np.random.default_rng(0).permutation(np.array(facts_of(text), dtype=object)).tolist()
    triples = intern(read_table([tuple(fact) for fact in facts]), Vocabulary()).triples
    hidden = set(spare_rows(triples, count))
    packages = {head for head, _, _ in facts}
    sizes = {each["Package"]: each["Installed-Size"] for each in records(text) if each.get("Installed-Size")}
    values = [
        (name, "installed size", Value(text=size, datatype="xsd:integer", unit="kB"))
        for name, size in sizes.items()
        if name in packages
    ]
    kept = [tuple(fact) for place, fact in enumerate(facts) if place not in hidden]
    return kept, [tuple(facts[place]) for place in sorted(hidden)], values


def evidence(name: str, facts: list[Names3], asked: list[Names3], values: list[Said], json: Path | None) -> None:
    for with_values in (False, True):
        with tempfile.TemporaryDirectory() as folder, hmem.KnowledgeBase.create(f"{folder}/a.kb", facts=facts) as kb:
            if with_values:
                kb.store.values.set_all(values)
            with kb.session() as session:
                numbers = np.array([session.names.fact(*fact, "tail") for fact in asked])
                ranks = session.predictor.judge(*numbers.T).ranks
        found = {"hits_at_1": float((ranks == 1).mean()), "mrr": float((1 / ranks).mean())}
        how = "with values" if with_values else "without"
        print(f"{name:10s} {how:12s} hits@1 {found['hits_at_1']:.3f}  MRR {found['mrr']:.3f}  ({len(asked)} facts)")
        line = {"question": "values as evidence", "dataset": name, "values": with_values, "facts": len(asked)}
        keep({**line, **found}, json)


def attack() -> tuple[list[Names3], list[Description], list[Said]]:
    facts, kind_of = dated_facts(), kinds()
    first: dict[str, str] = {}
    for fact in facts:
        first[fact.head] = min(fact.date, first.get(fact.head, fact.date))
    values = [(name, "first told", Value(text=day, datatype="xsd:date")) for name, day in first.items()]
    return [fact.names for fact in facts], [Description(id=name, kind=kind) for name, kind in kind_of.items()], values


def asking(name: str, facts: list[Names3], described: list[Description], values: list[Said], json: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder, hmem.KnowledgeBase.create(f"{folder}/a.kb", facts=facts) as kb:
        kb.store.naming.describe_all(described)
        valued = [name for name, _, _ in values]
        drawn = np.random.default_rng(0).permutation(valued)[:ASKED].tolist()
        near = {name: [each.entity for each in kb.similar(name, ALIKE)] for name in drawn}  # before there are values
        kb.store.values.set_all(values)
        with kb.session() as session:
            found = Estimator(session.predictor, values[0][1])
            names = [session.live.entities.names[each] for each in found.entities.tolist()]
        rank_of = dict(zip(names, found.ranks.tolist(), strict=True))
        known = {name: [rank_of[each] for each in near[name] if each in rank_of] for name in drawn}
        alike = [abs(rank_of[name] - (np.median(some) if some else 0.5)) for name, some in known.items()]
    told = {"error": found.error, "kind": found.kind_error, "alike": float(np.mean(alike)), "covered": found.covered}
    by = "facts" if found.beats_kind else "kind"
    print(f"{name:10s} {len(found.entities):,} values, by {by}:", *(f"{key} {each:.3f}" for key, each in told.items()))
    about = {"question": "asking for values", "dataset": name, "known": len(found.entities), "by": by}
    keep({**about, **told}, json)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--facts", type=int, default=300, help="that are asked for")
    parser.add_argument("--asking", action="store_true", help="only ask for values")
    parser.add_argument("--list", type=Path, help="a list of packages; the largest that apt keeps by default")
    given = parser.parse_args()
    facts, asked, values = planted()
    if not given.asking:
        evidence("planted", facts, asked, values, given.json)
    asking("planted", facts + asked, [], values, given.json)
    asking("attack", *attack(), given.json)
    try:
        path = given.list or apt_list()
    except DataError as error:
        print(f"no packages: {error}")
        return
    facts, asked, values = debian(path, given.facts)
    if not given.asking:
        evidence("debian", facts, asked, values, given.json)
    asking("debian", facts + asked, [], values, given.json)


if __name__ == "__main__":
    main()
