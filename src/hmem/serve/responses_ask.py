"""What the server answers to questions."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from hmem.serve.requests import EndOf
from hmem.serve.responses import Labelled, NamesOut, Out, finite

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
    because: list[list[str]] = Field(default=[], description="Stored facts that speak for it.")


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
