"""What the server says of stored facts, entities and values, and of changes to them."""

from datetime import date, datetime
from typing import Annotated

from pydantic import Field

from hmem.serve.requests import EndOf
from hmem.serve.responses import Labelled, NamesOut, Out


class WrittenOut(Out):
    moment: Annotated[int, Field(description="The number of this write, or of the last one if nothing changed.")]


class PairOut(Out):
    kept: Annotated[str, Field(description="The one with more facts.")]
    other: str
    score: Annotated[float, Field(description="Bits for it less bits against it. It orders pairs; no probability.")]
    reasons: list[str]


class DuplicatesOut(Labelled):
    pairs: list[PairOut]


class MergedOut(WrittenOut):
    """What a merge did; `POST /undo` with its moment turns it back."""

    kept: str
    other: str
    moved: Annotated[int, Field(description="Facts of the other that are facts of the kept one now.")]
    stored_before: Annotated[int, Field(description="Facts that both had.")]
    dropped: Annotated[int, Field(description="Facts between the two.")]
    values: Annotated[int, Field(description="Values that the kept one did not have.")]
    aliases: list[str]


class RenamedOut(WrittenOut):
    """What a change of a name did; `POST /undo` with its moment turns it back."""

    name: str
    was: Annotated[str, Field(description="The old id, which is an alias now.")]
    moved: Annotated[int, Field(description="Facts that have the new name now.")]
    stored_before: Annotated[int, Field(description="Facts that were there with a relation of this name.")]
    values: int


class RemovedEntityOut(WrittenOut):
    """What went with an entity; `POST /undo` with its moment brings it back."""

    entity: str
    facts: int
    values: int


class WriteOut(Out):
    moment: Annotated[int, Field(description="Its number, which `POST /undo` takes.")]
    at: datetime
    source: str | None
    added: Annotated[int, Field(description="Facts.")]
    removed: int
    said: Annotated[int, Field(description="Values, labels, aliases, kinds and descriptions that came or went.")]


class WritesOut(Out):
    writes: list[WriteOut]
    more: bool


class UndoneOut(WrittenOut):
    """What undoing a write did, of facts, values and texts."""

    removed: int
    restored: int
    left: Annotated[int, Field(description="What a later write changed, and which stays as it is.")]


class AddedOut(WrittenOut):
    added: int
    unchanged: Annotated[int, Field(description="Those that were there already.")]
    kept: Annotated[
        int, Field(description="Of these, those with other days or another confidence, which they keep: revise them.")
    ] = 0
    revised: Annotated[int, Field(description="Stored facts of which something else is said now.")] = 0


class WithdrawnOut(WrittenOut):
    withdrawn: int


class RemovedOut(WrittenOut):
    removed: int
    unchanged: Annotated[int, Field(description="Those that were not there.")]


class FactOut(NamesOut):
    source: str | None
    added_at: datetime
    confidence: float | None
    valid_from: Annotated[date | None, Field(description="The first day on which it held; null if not said.")]
    valid_until: Annotated[date | None, Field(description="The last one.")]
    inferred_by: Annotated[str | None, Field(description="The model that concluded it; null for what was asserted.")]
    probability: Annotated[float | None, Field(description="That this model gave it.")]


class FactsOut(Labelled):
    facts: list[FactOut]
    more: bool


class PastFactOut(FactOut):
    removed_at: datetime | None
    removed_by: str | None


class HistoryOut(Labelled):
    facts: Annotated[list[PastFactOut], Field(description="What changed last comes first.")]
    more: bool


class NeighborOut(FactOut):
    role: Annotated[EndOf, Field(description="Which end of the fact the entity is.")]
    weight: Annotated[float | None, Field(description="Of the fact in the entity's memory, for the question asked.")]


class NeighborsOut(Labelled):
    entity: str
    new: bool
    total: Annotated[int, Field(description="How many facts the entity has.")]
    facts: list[NeighborOut]


class AboutOut(Out):
    label: Annotated[str | None, Field(description="What it is called.")] = None
    aliases: list[str] = Field(default=[])
    description: str | None = None


class NamedOut(AboutOut):
    name: Annotated[str, Field(description="Its id.")]
    kind: str | None = None
    facts: Annotated[int, Field(description="In how many it stands.")]
    new: Annotated[bool, Field(description="Whether it came after the model was trained.")]


class DescribedOut(WrittenOut):
    changed: Annotated[int, Field(description="Of how many something else is said now.")]
    unchanged: int
    unknown: Annotated[list[str], Field(description="Ids that no fact has, which were left out.")]


class ValueOut(Out):
    property: Annotated[str, Field(description="Its id.")]
    label: Annotated[str | None, Field(description="What the property is called.")] = None
    text: Annotated[str, Field(description="As it was written.")]
    datatype: Annotated[str, Field(description="Such as xsd:integer or xsd:date.")]
    language: str | None = None
    unit: str | None = None
    shown: Annotated[str, Field(description="For reading: with its unit, or with its language.")]
    source: str | None = None
    added_at: datetime


class ValuesOut(Out):
    entity: str
    values: Annotated[list[ValueOut], Field(description="By property.")]
    more: bool


class PropertyOut(Out):
    id: str
    label: str | None = None
    values: int
    entities: Annotated[int, Field(description="Of how many it says something.")]
    datatype: Annotated[str, Field(description="The most frequent one.")]
    unit: str | None = None
    lowest: Annotated[str | None, Field(description="Of what can be compared, as it was written.")] = None
    median: str | None = None
    highest: str | None = None


class PropertiesOut(Out):
    properties: Annotated[list[PropertyOut], Field(description="In the order in which they came.")]


class StatedOut(WrittenOut):
    added: int
    removed: Annotated[int, Field(description="Values in whose place others were said.")]
    unchanged: int
    unknown: Annotated[list[str], Field(description="Ids that are not stored, which were left out.")]


class KindOut(Out):
    kind: str
    entities: int


class KindsOut(Out):
    kinds: Annotated[list[KindOut], Field(description="The most frequent first.")]


class FoundOut(NamedOut):
    found_by: Annotated[
        str | None,
        Field(
            description="The label or alias that was found, where the id is not like what was typed; empty if only the "
            "description is."
        ),
    ] = None


class EntitiesOut(Out):
    entities: list[FoundOut]
    more: bool
