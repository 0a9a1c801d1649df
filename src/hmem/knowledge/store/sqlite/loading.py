"""Many facts at once into a SQLite file."""

from dataclasses import dataclass
from itertools import repeat

import numpy as np
from jaxtyping import Bool

from hmem.graph.qualifiers import Qualifiers
from hmem.graph.triples import Triples, is_among
from hmem.knowledge.store.database import Database, Progress
from hmem.knowledge.store.read import last_fact, last_moment, triples, triples_after
from hmem.knowledge.store.schema import FACT_INDEXES
from hmem.knowledge.store.write import END_FACT, INSERT_FACT, new_moment, superseded

ROWS_AT_ONCE = 50_000
# From which share of the stored facts on it is quicker to make the indexes anew (measured at a million facts)
SHARE_TO_REBUILD = 0.5
FEWEST_TO_REBUILD = 10_000


def insert_facts(
    db: Database, facts: Triples, qualifiers: Qualifiers, source: str | None, progress: Progress | None
) -> tuple[Triples, int]:
    """Store the facts that are not there yet; see `Database.insert_facts`."""
    rows = _Rows(db, facts, qualifiers, progress)
    if len(facts) < max(FEWEST_TO_REBUILD, SHARE_TO_REBUILD * last_fact(db)):
        return rows.insert_one_by_one(source)
    return rows.insert_and_rebuild(source)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Facts that differ, to be written in one transaction."""

    db: Database
    facts: Triples
    qualifiers: Qualifiers
    progress: Progress | None

    def select(self, kept: Bool[np.ndarray, " n"]) -> "_Rows":
        return _Rows(self.db, self.facts[kept], self.qualifiers.select(kept), self.progress)

    def insert_one_by_one(self, source: str | None) -> tuple[Triples, int]:
        """SQLite looks up each fact, and brings its indexes up to date with each."""
        before, last = last_moment(self.db), last_fact(self.db)
        moment = self._insert(source)
        changed = triples_after(self.db, last)
        if not len(changed):
            self.db.execute("DELETE FROM moment WHERE id = ?", (moment,))
            moment = before
        return changed, moment

    def insert_and_rebuild(self, source: str | None) -> tuple[Triples, int]:
        """Sorting finds the facts that are there already, and makes the indexes anew once all rows are in."""
        _, ended = superseded(self.db, self.facts, self.qualifiers)
        new = self.select(~is_among(self.facts, triples(self.db)) | is_among(self.facts, ended))
        if not len(new.facts):
            return new.facts, last_moment(self.db)
        for name in FACT_INDEXES:
            self.db.execute(f"DROP INDEX {name}")
        moment = new._insert(source)
        for statement in FACT_INDEXES.values():
            self.db.execute(statement)
        return new.facts, moment

    def _insert(self, source: str | None) -> int:
        """Write all rows under a new moment, those that are there already left out."""
        moment, count = new_moment(self.db, source), len(self.facts)
        ended, _ = superseded(self.db, self.facts, self.qualifiers)
        self.db.executemany(END_FACT, zip(repeat(moment), ended, strict=False))
        for start in range(0, count, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            head, relation, tail = self.facts[some].T.tolist()
            said = self.qualifiers.lists(some.start, some.stop)
            self.db.executemany(
                f"{INSERT_FACT} ON CONFLICT DO NOTHING", zip(head, relation, tail, repeat(moment), *said, strict=False)
            )
            if self.progress is not None:
                self.progress(min(start + ROWS_AT_ONCE, count), count)
        return moment
