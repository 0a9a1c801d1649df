"""Two entities made one, a name changed, an entity taken out: each one write, so that the history keeps what was.

Every function here is called inside one writing transaction.
"""

from dataclasses import dataclass

from hmem.errors import DataError, Hint
from hmem.graph.qualifiers import TYPES as QUALIFIERS
from hmem.graph.values import Value
from hmem.knowledge.store.database import Kind
from hmem.knowledge.store.describe import FIELDS, Telling
from hmem.knowledge.store.texts import description, is_bare, number_of
from hmem.knowledge.store.value_rows import present_values, set_slot
from hmem.knowledge.store.write import END_FACT, Numbering, Write

SAID = ", ".join(QUALIFIERS)  # of a fact besides its names


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a merge did."""

    moment: int
    kept: str
    other: str
    moved: int  # facts of the other that are facts of the kept one now
    stored_before: int  # that the kept one had too
    dropped: int  # between the two
    values: int  # that the kept one did not have
    aliases: tuple[str, ...]  # that are new


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """What a change of a name did."""

    moment: int
    name: str
    was: str  # which is an alias now
    moved: int  # facts
    stored_before: int  # with a relation that was there
    values: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedEntity:
    """What went with an entity."""

    moment: int  # the last moment of the file if nothing was said of it
    entity: str
    facts: int
    values: int


def merge(write: Write, kept: int, other: int) -> Merged:
    """Make `other` a name of `kept`, by their numbers."""
    db = write.db
    if kept == other:
        raise DataError(f'"{description(db, "entity", kept).id}" is one entity; a merge takes two')
    names = [description(db, "entity", number) for number in (kept, other)]
    moved, before, dropped = _move_facts(write, "entity", kept, other)
    values = _move_values(write, kept, other)
    telling, (mine, its) = Telling(write), names
    told = [its.label, *its.aliases, its.id]
    aliases = [text for text in dict.fromkeys(told) if text and text not in (mine.id, mine.label, *mine.aliases)]
    telling.set("entity", kept, "alias", aliases, keep=True)
    for field in ("kind", "description"):
        if getattr(mine, field) is None and (said := getattr(its, field)) is not None:
            telling.set("entity", kept, field, [said])
    for field in ("label", "alias", "kind", "description"):
        telling.set("entity", other, field, [])
    return Merged(
        moment=write.last,
        kept=mine.id,
        other=its.id,
        moved=moved,
        stored_before=before,
        dropped=dropped,
        values=values,
        aliases=tuple(aliases),
    )


def rename(write: Write, kind: Kind, number: int, name: str) -> Renamed:
    """Let an entity have another id, or let the facts of a relation be of another one, which may be there already."""
    db, said = write.db, description(write.db, kind, number)
    its = number_of(db, kind, name)
    taken = its is not None and (its != number if kind == "entity" else description(db, kind, its).id != name)
    new = Numbering(db, kind).number(name)
    if new == number:
        raise DataError(f'"{said.id}" is called so already')
    if taken and not (its == new and is_bare(db, kind, new)):
        hint = Hint(text="to make one of the two", command=f'hmem merge KB "{name}" "{said.id}"', call="kb.merge")
        raise DataError(f'"{name}" is the name of another {kind}', hint=hint if kind == "entity" else None)
    own = description(db, kind, new)
    moved, before, _ = _move_facts(write, kind, new, number)
    values = _move_values(write, new, number) if kind == "entity" else 0
    telling, aliases = Telling(write), [*said.aliases, said.id]
    for field in FIELDS[kind]:
        text = None if field == "alias" else getattr(said, field)
        if text is not None and text != name:
            if getattr(own, field) is None:
                telling.set(kind, new, field, [text])
            elif field == "label":
                aliases.append(text)
    names = (name, said.label, own.label, *own.aliases)
    telling.set(kind, new, "alias", [text for text in dict.fromkeys(aliases) if text not in names], keep=True)
    for field in FIELDS[kind]:
        telling.set(kind, number, field, [])
    return Renamed(moment=write.last, name=name, was=said.id, moved=moved, stored_before=before, values=values)


def remove_entity(write: Write, number: int) -> RemovedEntity:
    """Take out all that is said of an entity."""
    db, id = write.db, description(write.db, "entity", number).id
    now = {
        table: f"{table} WHERE ({' OR '.join(f'{each} = {number}' for each in columns)}) AND removed IS NULL"
        for table, columns in (("fact", ("head", "tail")), ("value", ("entity",)), ("entity_text", ("entity",)))
    }
    facts, values, texts = (int(db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0]) for rows in now.values())
    if facts or values or texts:
        moment = write.moment()
        for table, rows in now.items():
            db.execute(f"UPDATE {table} SET removed = {moment} WHERE id IN (SELECT id FROM {rows})")
    return RemovedEntity(moment=write.last, entity=id, facts=facts, values=values)


def _move_facts(write: Write, kind: Kind, kept: int, other: int) -> tuple[int, int, int]:
    """How many facts moved, how many were there before, and how many were between the two."""
    db, moved, before, dropped = write.db, 0, 0, 0
    is_its = "head = ? OR tail = ?" if kind == "entity" else "relation = ?"
    rows = db.execute(
        f"SELECT id, head, relation, tail FROM fact WHERE ({is_its}) AND removed IS NULL ORDER BY id",
        [other] * is_its.count("?"),
    ).fetchall()
    moment = write.moment()  # also of what has no facts: its names change
    db.executemany(END_FACT, ((moment, row) for row, *_ in rows))
    for row, head, relation, tail in rows:
        if kind == "relation":
            fact = head, kept, tail
        elif {head, tail} == {kept, other}:
            dropped += 1
            continue
        else:
            fact = (kept if head == other else head, relation, kept if tail == other else tail)
        was = db.execute(
            """SELECT id, inferred_by IS NOT NULL AND (SELECT inferred_by FROM fact WHERE id = ?) IS NULL FROM fact
            WHERE head = ? AND relation = ? AND tail = ? AND removed IS NULL""",
            (row, *fact),
        ).fetchone()
        if was is not None and not was[1]:
            before += 1
            continue
        if was is not None:  # what was asserted takes the place of what a model concluded
            db.execute(END_FACT, (moment, was[0]))
        db.execute(
            f"INSERT INTO fact (head, relation, tail, added, {SAID}) SELECT ?, ?, ?, ?, {SAID} FROM fact WHERE id = ?",
            (*fact, moment, row),
        )
        moved += 1
    return moved, before, dropped


def _move_values(write: Write, kept: int, other: int) -> int:
    """How many values are new to the kept entity."""
    by = write.db.execute("SELECT DISTINCT property FROM value WHERE entity = ? AND removed IS NULL", (other,))
    new = 0
    for (each,) in by.fetchall():
        said: dict[Value, int] = present_values(write.db, (other, each))
        new += set_slot(write, (kept, each), list(said), present_values(write.db, (kept, each)), keep=True)[1]
        set_slot(write, (other, each), [], said, keep=False)
    return new
