"""Facts with dates, and those who came after a day."""

from hmem.graph.dated import DatedFact, dated_facts, kinds, newcomers

KINDS = {"worm": "malware", "bot": "malware", "old": "malware", "phish": "technique", "hide": "technique"}
FACTS = [
    DatedFact("old", "uses", "phish", "2020-01-01"),
    DatedFact("old", "uses", "hide", "2020-01-01"),
    DatedFact("worm", "domain", "enterprise", "2024-03-01"),
    DatedFact("worm", "uses", "phish", "2024-04-02"),
    DatedFact("worm", "uses", "hide", "2024-04-01"),
    DatedFact("worm", "uses", "late", "2024-04-03"),  # a technique that is new itself
    DatedFact("worm", "uses", "old", "2024-04-03"),  # no technique
    DatedFact("bot", "uses", "phish", "2025-01-01"),
    DatedFact("old", "uses", "late", "2024-05-01"),
]


def test_newcomers_are_told_of_in_the_order_of_the_dates() -> None:
    found = newcomers(FACTS, KINDS | {"late": "technique"}, "uses", "technique", "2024-01-01", "2024-12-31")
    assert [(each.name, each.kind, each.date, each.tails) for each in found] == [
        ("worm", "malware", "2024-03-01", ("hide", "phish"))
    ]


def test_the_bundled_facts_have_dates_and_kinds() -> None:
    facts, kind_of = dated_facts(), kinds()
    assert len(facts) == len({fact.names for fact in facts}) == 28_518
    assert facts[0].date == "2017-05-31"
    assert sum(fact.date < "2024" for fact in facts) == 23_106
    assert kind_of["APT29"] == "group"
    assert set(kind_of.values()) == {"technique", "malware", "tool", "group", "campaign", "mitigation", "asset"}


def test_the_order_within_a_day_is_not_the_alphabet() -> None:
    found = newcomers(dated_facts(), kinds(), "uses", "technique", "2024-01-01", "2024-12-31")
    assert len(found) == 120
    assert sum(list(each.tails) == sorted(each.tails) for each in found if len(each.tails) > 3) < 5
