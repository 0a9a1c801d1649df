"""Labels, aliases, kinds and descriptions into the file, and out of the present.

Every function here is called inside one writing transaction: it does all of its work or none.
"""

from collections.abc import Sequence

from hmem.graph.descriptions import Description, fold
from hmem.knowledge.store.database import KINDS, Database, Kind
from hmem.knowledge.store.read import find_id
from hmem.knowledge.store.texts import FOUND_BY
from hmem.knowledge.store.validation import check_name
from hmem.knowledge.store.write import Write

FIELDS = {
    "entity": ("label", "alias", "kind", "description"),
    "relation": ("label", "alias", "inverse", "description"),
    "property": ("label", "alias", "description"),
}
MANY = 1_000  # descriptions from which on all ids are read at once


class Telling:
    """Descriptions, all said in one write."""

    def __init__(self, write: Write) -> None:
        self._write, self._db = write, write.db

    def tell(self, kind: Kind, number: int, said: Description) -> bool:
        """Say what is given of one thing, in the place of what was said before; aliases add up."""
        changed = False
        for field in FIELDS[kind]:
            texts = said.aliases if field == "alias" else [getattr(said, field)]
            wanted = [text for text in texts if text is not None]
            if wanted:
                changed |= self.set(kind, number, field, wanted, keep=field == "alias")
        return changed

    def set(self, kind: Kind, number: int, field: str, wanted: Sequence[str], *, keep: bool = False) -> bool:
        """Let this be what a field says from now on, with `keep` besides what it said; whether that is a change."""
        wanted = [check_name(field, text) for text in wanted]
        now = f"{kind} = ? AND field = ? AND removed IS NULL"
        rows = self._db.execute(f"SELECT text FROM {kind}_text WHERE {now}", (number, field))
        present = {text for (text,) in rows}
        gone, new = set() if keep else present.difference(wanted), [text for text in wanted if text not in present]
        if not gone and not new:
            return False
        moment = self._write.moment()
        for text in gone:
            end = f"UPDATE {kind}_text SET removed = ? WHERE {now} AND text = ?"
            self._db.execute(end, (moment, number, field, text))
        self._db.executemany(
            f"INSERT INTO {kind}_text ({kind}, field, text, folded, added) VALUES (?, ?, ?, ?, ?)",
            ((number, field, text, fold(text) if field in FOUND_BY else None, moment) for text in dict.fromkeys(new)),
        )
        return True


def tell_all(write: Write, rows: Sequence[Description]) -> tuple[int, list[str]]:
    """Say what is known of many: of how many something changed, and the ids that the facts do not have."""
    telling, changed, unknown = Telling(write), 0, []
    numbers = {kind: Numbers(write.db, kind, many=len(rows) >= MANY) for kind in KINDS}
    for row in rows:
        own = [(kind, found) for kind, each in numbers.items() if (found := each.get(row.id)) is not None]
        changed += sum([telling.tell(kind, number, row) for kind, number in own]) > 0  # all are told
        if not own:
            unknown.append(row.id)
    return changed, unknown


class Numbers:
    """The numbers of ids, looked up one by one or all at once."""

    def __init__(self, db: Database, kind: Kind, *, many: bool) -> None:
        self._db, self._kind = db, kind
        self._all = dict(db.execute(f"SELECT name, id FROM {kind}").fetchall()) if many else None

    def get(self, name: str) -> int | None:
        return find_id(self._db, self._kind, name) if self._all is None else self._all.get(name)
