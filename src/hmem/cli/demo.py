"""`hmem demo`: a minute that shows what the library is for, on a graph that grew every month."""

import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from hmem.cli import output
from hmem.errors import ConfigError

if TYPE_CHECKING:
    from hmem.graph.dated import DatedFact, Newcomer
    from hmem.knowledge.base import KnowledgeBase
    from hmem.knowledge.explanation import Reasons
    from hmem.knowledge.store.records import Names3

FIRST_DAY = "2024-01-01"  # what was known before is there from the start
ASKED = ("malware", "tool", "group", "campaign")
GIVEN, TOLD = 3, 5  # techniques that a report names, and answers that count
SHOWN = ("DarkGate", "INC Ransom", "Lumma Stealer", "Qilin")  # newcomers whose answers are printed
LIKELY = ((0.0, 0.2), (0.2, 0.3), (0.3, 0.4), (0.4, 1.0))  # probabilities that are counted together
NEXT = """\
Ask it yourself:
  hmem kb create attack.kb --facts attack
  hmem facts add attack.kb "My malware" uses "Process Hollowing"
  hmem predict attack.kb "My malware" uses
  hmem explain attack.kb "My malware" uses "Native API (T1106)"
Your own graph: hmem kb create mine.kb --facts FILE"""


@dataclass
class Replay:
    """A knowledge base that is told what became known, and what came of its answers."""

    kb: "KnowledgeBase"
    kind_of: dict[str, str]
    known_since: dict[tuple[str, str, str], str]
    uses: Counter[str] = field(default_factory=Counter)  # how many use each technique, by now
    outcomes: list[tuple[float, bool]] = field(default_factory=list)  # probability of an answer, and whether right
    popular: list[bool] = field(default_factory=list)  # whether the most used techniques were right
    asked: int = 0

    def count(self, facts: "Sequence[DatedFact]") -> None:
        """Note which techniques are used how often."""
        self.uses.update(fact.tail for fact in facts if fact.relation == "uses" and self._is_technique(fact.tail))

    def meet(self, newcomer: "Newcomer") -> None:
        """Three techniques of a newcomer are told; ask for others, and look up what became of the answers."""
        given, hidden = newcomer.tails[:GIVEN], set(newcomer.tails[GIVEN:])
        self.kb.add_many([(newcomer.name, "uses", technique) for technique in given], source="report")
        answers = [each for each in self.kb.predict(newcomer.name, "uses", k=200) if self._is_technique(each.tail)]
        best = answers[:TOLD]
        self.outcomes += [(each.probability or 0.0, each.tail in hidden) for each in best]
        usual = [technique for technique, _ in self.uses.most_common() if technique not in given][:TOLD]
        self.popular += [technique in hidden for technique in usual]
        self.asked += 1
        if newcomer.name in SHOWN:
            self._show(newcomer, [(each.tail, each.probability) for each in best])

    def _show(self, newcomer: "Newcomer", answers: list[tuple[str, float | None]]) -> None:
        console, given = output.console(), newcomer.tails[:GIVEN]
        console.print(f"{month(newcomer.date)}: {newcomer.name}, a new {newcomer.kind}. A report says that it uses")
        for technique in given:
            console.print(f"         {plain(technique)}")
        console.print("  Look for", style="bold")
        for technique, probability in answers:
            since = self.known_since.get((newcomer.name, "uses", technique))
            became = "not reported so far" if since is None else f"right, reported in {month(since)}"
            console.print(f"  {output.percent(probability):>5}  {plain(technique):<40} {became}")
            if technique == answers[0][0]:
                console.print(f"         {why(self.kb.explain(newcomer.name, 'uses', technique))}", style="dim")
        console.print()

    def _is_technique(self, name: str) -> bool:
        return self.kind_of.get(name) == "technique"


def _month(text: str) -> str:
    if re.fullmatch(r"202[45]-(0[1-9]|1[0-2])", text) is None:
        raise ConfigError(f'"{text}": expected a month from 2024-01 to 2025-12')
    return text


def demo(
    until: Annotated[
        str, typer.Option(metavar="MONTH", parser=_month, help="The last month that arrives, such as 2024-06.")
    ] = "2025-12",
) -> None:
    """Let two years of new malware and hacker groups arrive, and predict what they do from three facts each.

    The graph is MITRE ATT&CK as it was known at the end of 2023. Nothing is trained.
    """
    from hmem.graph.dated import dated_facts, kinds, newcomers
    from hmem.knowledge.base import KnowledgeBase
    from hmem.training.allocation import kept_memory

    started, console = time.perf_counter(), output.console()
    facts, kind_of = dated_facts(), kinds()
    before = [fact for fact in facts if fact.date < FIRST_DAY]
    after = [fact for fact in facts if fact.date >= FIRST_DAY and fact.date[:7] <= until]
    names = {end for fact in before for end in (fact.head, fact.tail)}
    console.print("MITRE ATT&CK: which malware, tools and hacker groups use which attack techniques.", style="bold")
    console.print(
        f"A knowledge base of what was known at the end of 2023: {len(before):,} facts about {len(names):,} things.\n"
        "Nothing is trained: the model that comes with hmem answers. Then 2024 and 2025 arrive as they did. A report\n"
        "names three techniques of malware that nobody has seen before: which others should you look for?\n"
    )
    found = newcomers(facts, kind_of, "uses", "technique", FIRST_DAY, f"{until}-31")
    asked = [each for each in found if each.kind in ASKED and len(each.tails) > GIVEN]
    with tempfile.TemporaryDirectory() as folder, kept_memory():
        path = f"{folder}/attack.kb"
        with KnowledgeBase.create(path, facts=[fact.names for fact in before], source="ATT&CK") as kb:
            replay = Replay(kb, kind_of, {fact.names: fact.date for fact in facts})
            replay.count(before)
            for now, arrived in by_month(after):
                for newcomer in (each for each in asked if each.date[:7] == now):
                    replay.meet(newcomer)
                kb.add_many([fact.names for fact in arrived], source=f"ATT&CK of {now}")
                replay.count(arrived)
    _summarize(replay)
    console.print(f"That took {time.perf_counter() - started:.0f} s. {NEXT}")


def by_month(facts: "Sequence[DatedFact]") -> "Iterator[tuple[str, list[DatedFact]]]":
    for now, some in groupby(facts, key=lambda fact: fact.date[:7]):
        yield now, list(some)


def why(reasons: "Reasons") -> str:
    """Others that use the answer and share a technique with the newcomer: the one that matters most."""
    walks = [[fact[0] for fact in each.facts[1:]] + [each.facts[0][2]] for each in reasons if is_example(each.facts)]
    others = list(dict.fromkeys(other for other, _, shared in walks if shared == walks[0][-1]))[:3]
    if not others:
        facts = [" ".join(plain(part) for part in fact) for each in reasons[:1] for fact in each.facts]
        return f"because {listed(facts)}" if facts else "though no single fact decides it"
    use = "uses" if len(others) == 1 else "use"
    return f"because {listed(others)} {use} it, and {plain(walks[0][-1])} too"


def is_example(facts: "Sequence[Names3]") -> bool:
    """Whether these are: the newcomer uses a technique, another uses it, that other uses the answer."""
    return len(facts) == 3 and facts[0][1:] == facts[1][1:] and facts[1][0] == facts[2][0]


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _summarize(replay: Replay) -> None:
    console = output.console()
    right = sum(is_right for _, is_right in replay.outcomes)
    table = output.table(["of the five answers given first"], ["answers", "proven right"])
    table.add_row("hmem, from three facts", output.count(len(replay.outcomes)), f"{share(right, replay.outcomes):.0%}")
    table.add_row(
        "what most others use", output.count(len(replay.popular)), f"{share(sum(replay.popular), replay.popular):.0%}"
    )
    console.print(f"All {replay.asked} newcomers together, by what was reported until November 2025:", style="bold")
    output.show(table)
    table = output.table(["hmem called it"], ["answers", "proven right"])
    for low, high in LIKELY:
        some = [is_right for probability, is_right in replay.outcomes if low <= probability < high]
        if some:
            said = (
                f"under {high:.0%} likely" if not low else f"{low:.0%} to {high:.0%}" if high < 1 else f"over {low:.0%}"
            )
            table.add_row(said, output.count(len(some)), f"{share(sum(some), some):.0%}")
    output.show(table)


def share(part: int, whole: Sequence[object]) -> float:
    return part / max(1, len(whole))


def month(day: str) -> str:
    return f"{date.fromisoformat(day):%B %Y}"


def plain(technique: str) -> str:
    """The name without the id behind it."""
    return re.sub(r" \([A-Z]+[0-9.]+\)$", "", technique)
