"""What a client receives, as OpenAPI describes it."""

import math
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hmem.serve.requests import EndOf


def finite(score: float | None) -> float | None:
    """JSON has no infinity."""
    return score if score is not None and math.isfinite(score) else None


Score = Annotated[
    float | None,
    BeforeValidator(finite),
    Field(description="Higher is better, within one question. null where nothing speaks for the answer."),
]
Probability = Annotated[
    float | None,
    Field(
        description="Calibrated; null where the model is not, and for entities that have grown far beyond all of "
        "those it was trained with."
    ),
]
IfMissing = Annotated[
    float | None, Field(description="The probability, provided that an answer is missing there at all.")
]
Stored = Annotated[bool, Field(description="Whether the fact is stored. Then the score is what it would be if not.")]


InferredBy = Annotated[
    str | None, Field(description="The model that concluded it before, if that is stored; such facts are no evidence.")
]


class Out(BaseModel):
    """A response, which can be read off the library's own rows."""

    model_config = ConfigDict(from_attributes=True)


class LabelsOut(Out):
    """By id, the labels of those that have one which differs from it, and the kinds of entities that have one."""

    entities: dict[str, str] = {}
    relations: dict[str, str] = {}
    kinds: dict[str, str] = {}


class Labelled(Out):
    labels: Annotated[LabelsOut, Field(description="What the entities and relations in this are called.")] = LabelsOut()


class ErrorOut(Out):
    code: Annotated[str, Field(description="Stable; for programs.", examples=["unknown_name"])]
    message: Annotated[str, Field(description="One sentence, which may change.", examples=['no entity "woolf"'])]
    suggestion: Annotated[list[str], Field(description="Names that may have been meant.", examples=[["wolf.n.01"]])]


class PairOut(Out):
    kept: Annotated[str, Field(description="The one with more facts.")]
    other: str
    score: Annotated[float, Field(description="Bits for it less bits against it. It orders pairs; no probability.")]
    reasons: list[str]


class DuplicatesOut(Labelled):
    pairs: list[PairOut]


class MergedOut(Out):
    """What a merge did; `POST /undo` with its moment turns it back."""

    moment: int
    kept: str
    other: str
    moved: Annotated[int, Field(description="Facts of the other that are facts of the kept one now.")]
    stored_before: Annotated[int, Field(description="Facts that both had.")]
    dropped: Annotated[int, Field(description="Facts between the two.")]
    values: Annotated[int, Field(description="Values that the kept one did not have.")]
    aliases: list[str]


class UndoneOut(Out):
    """What undoing a write did, of facts, values and texts."""

    moment: int
    removed: int
    restored: int
    left: Annotated[int, Field(description="What a later write changed, and which stays as it is.")]


class Failure(Out):
    error: ErrorOut


class AskedOut(Out):
    entity: str
    relation: str
    direction: EndOf
    k: int
    stored: bool
    at: str | None = None


class AnswerOut(Out):
    rank: Annotated[int, Field(description="From 1.")]
    name: Annotated[str, Field(validation_alias="answer")]
    score: Score
    probability: Probability
    if_missing: IfMissing
    stored: Stored
    inferred_by: InferredBy = None


class AnswersOut(Out):
    query: AskedOut
    answers: list[AnswerOut]


class PredictOut(Labelled):
    results: Annotated[list[AnswersOut], Field(description="One for each question, in the order asked.")]


class NamesOut(Out):
    head: str
    relation: str
    tail: str


class MissingFactOut(NamesOut):
    rank: int
    score: Score
    probability: Probability
    if_missing: IfMissing
    inferred_by: InferredBy = None


class MissingOut(Labelled):
    entity: str
    facts: list[MissingFactOut]


class MissingAnywhereOut(Labelled):
    facts: list[MissingFactOut]
    done: Annotated[int, Field(description="Entities that were asked about before the time was over.")]
    of: int


class SuspectOut(NamesOut):
    doubt: Annotated[
        float, Field(description="2 to its power is how many times as likely the best answers are, from both ends.")
    ]
    tail_rank: Annotated[int, Field(description="Of the tail, among the answers that are not stored.")]
    head_rank: int
    end: Annotated[EndOf, Field(description="At which end another is expected.")]
    instead: Annotated[str | None, Field(description="What is expected there.")] = None
    if_missing: IfMissing = None
    because: Annotated[list[list[str]], Field(description="Stored facts that speak for it.")] = []


class AuditOut(Labelled):
    facts: Annotated[list[SuspectOut], Field(description="The most doubtful first.")]
    judged: Annotated[int, Field(description="Facts that were judged before the time was over.")]
    of: int


class WorthOut(MissingFactOut):
    direction: Annotated[EndOf, Field(description="Which end is asked for.")]


class QuestionsOut(Labelled):
    questions: Annotated[list[WorthOut], Field(description="Each with its best answer that is not stored.")]


class ScoredOut(MissingFactOut):
    rank: Annotated[int, Field(description="Among all answers to its question that are not stored.")]
    stored: Stored


class ScoreOut(Labelled):
    results: list[ScoredOut]


class SimilarEntityOut(Out):
    name: Annotated[str, Field(validation_alias="entity")]
    similarity: Annotated[float, Field(description="The cosine of the angle between the two vectors.")]


class SimilarOut(Labelled):
    entity: str
    similar: list[SimilarEntityOut]


class ReasonOut(Out):
    kind: Annotated[
        str,
        Field(
            description="What it rests on: fact, path, completion, usual, dense, rest, counted; others for those "
            "left out."
        ),
    ]
    text: str
    facts: list[list[str]]
    weight: Annotated[float | None, Field(description="How strongly the fact stands in the memory.")]
    contribution: Annotated[
        float, Field(description="They sum to `total`; where there is none, how much the answer's share falls without.")
    ]
    without: Annotated[float | None, Field(description="The probability of the answer without these facts.")]
    counts: Annotated[
        tuple[int, int] | None, Field(description="How many have the answer, of how many that have the counted fact.")
    ]
    share: Annotated[float, Field(description="Its part of all contributions, by size: from 0 to 1.")]


class ExplainOut(Labelled, NamesOut):
    direction: EndOf
    stored: Stored
    score: Score
    probability: Probability
    total: float | None
    lines: list[ReasonOut]


class AddedOut(Out):
    moment: Annotated[int, Field(description="The number of this write, or of the last one if nothing changed.")]
    added: int
    unchanged: Annotated[int, Field(description="Those that were there already.")]
    kept: Annotated[
        int, Field(description="Of these, those with other days or another confidence, which they keep: revise them.")
    ] = 0
    revised: Annotated[int, Field(description="Stored facts of which something else is said now.")] = 0


class WithdrawnOut(Out):
    moment: int
    withdrawn: int


class RemovedOut(Out):
    moment: int
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
    aliases: list[str] = []
    description: str | None = None


class NamedOut(AboutOut):
    name: Annotated[str, Field(description="Its id.")]
    kind: str | None = None
    facts: Annotated[int, Field(description="In how many it stands.")]
    new: Annotated[bool, Field(description="Whether it came after the model was trained.")]


class DescribedOut(Out):
    moment: Annotated[int, Field(description="The number of this write, or of the last one if nothing changed.")]
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


class ShiftOut(Out):
    fact: Annotated[list[str], Field(description="Head, relation and tail; a value in the words of its bucket.")]
    step: Annotated[float, Field(description="By which share of the known values it moves the median up.")]


class EstimateOut(Out):
    entity: str
    property: str
    median: Annotated[str, Field(description="As it would be written.")]
    low: Annotated[str, Field(description="Four in five values are from here")]
    high: Annotated[str, Field(description="to here.")]
    family: Annotated[str, Field(description="number or date.")]
    unit: str | None
    by_facts: Annotated[bool, Field(description="Whether the facts say more than the kind, whose median it is if not.")]
    kind: Annotated[str | None, Field(description="Whose median is told; null for all that have a value.")]
    kind_median: str
    known: Annotated[int, Field(description="Values that were learned from.")]
    error: Annotated[float, Field(description="The mean share of known values between it and one that was withheld.")]
    kind_error: Annotated[float, Field(description="The same of the median of the kind.")]
    covered: Annotated[float, Field(description="How many of the withheld values are in their intervals.")]
    because: list[ShiftOut]
    stored: Annotated[list[str], Field(description="What is stored, which was left out.")]


class StatedOut(Out):
    moment: Annotated[int, Field(description="The number of this write, or of the last one if nothing changed.")]
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


class RelationOut(AboutOut):
    name: Annotated[str, Field(description="Its id.")]
    inverse: Annotated[str | None, Field(description="What it is called from the tail to the head.")] = None
    usable: Annotated[bool, Field(description="Whether the model can be asked for it.")]
    facts: int


class RelationsOut(Out):
    relations: list[RelationOut]


class AttachedOut(Out):
    name: Annotated[
        str, Field(description="That of its folder; any-graph, which comes with hmem, if none is attached.")
    ]
    status: Literal["loading", "ready", "trouble"]
    preset: str | None
    dataset: str | None
    calibrated: bool | None
    weighs: Annotated[bool | None, Field(description="Whether facts have weights in a memory, as in `GET /neighbors`.")]
    trouble: Annotated[str | None, Field(description="Why the model cannot be used.")]


class GraphOut(Out):
    path: Annotated[str, Field(description="The name of the file.")]
    facts: int
    entities: int
    relations: int
    moment: Annotated[int, Field(description="The number of the last write.")]
    created: Annotated[datetime | None, Field(description="When the oldest fact was added.")]
    model: AttachedOut
    writes: Annotated[bool, Field(description="Whether facts can be added and removed here.")]
    token: Annotated[bool, Field(description="Whether that needs a token.")]


class MetricsOut(Out):
    split: str
    graph: str | None
    mrr: float | None
    mr: float | None
    hits_at_1: float | None
    hits_at_10: float | None


class ModelOut(Out):
    name: str
    preset: str
    dataset: str
    kind: Annotated[str, Field(description="explicit, implicit or propagation; what it has not is null.")]
    binding: str | None
    entity_dim: int | None
    relation_dim: int | None
    dim: int | None
    steps: int | None
    parameters: int
    entities: int
    relations: int
    metrics: list[MetricsOut]
    calibration_error: float | None
    calibration_top_error: float | None
    trained_until: Annotated[int, Field(description="The last moment whose facts it was trained with.")]
    unseen: Annotated[int, Field(description="Entities with facts that came after training.")]


class StatusOut(Out):
    status: str


class ReadyOut(Out):
    status: str
    model: str
    moment: int
