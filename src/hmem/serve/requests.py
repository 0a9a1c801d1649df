"""What a client sends, as OpenAPI describes it. Unknown fields are refused: a misspelt one is a mistake."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag

from hmem.graph.values import STRING
from hmem.knowledge import results
from hmem.knowledge.audit import SAMPLE
from hmem.serve.settings import LONGEST_NAME, MOST_FACTS, MOST_K, MOST_QUESTIONS

WOLF: dict[str, JsonValue] = {"entity": "wolf.n.01", "relation": "_hyponym"}
FACT: dict[str, JsonValue] = {"head": "dire_wolf.n.01", "relation": "_hypernym", "tail": "wolf.n.01"}

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, description="An id, a label or an alias.")]
Text = Annotated[str, Field(max_length=LONGEST_NAME)]
MOST_ALIASES = 1_000
MOST_AUDITED = 100_000  # facts of one request, if there is time for them
MOST_MOMENT = 1 << 53
LONGEST_DAY = 40  # characters
EndOf = results.Direction
Direction = Annotated[EndOf, Field(description="Which end is asked for: the tails of (entity, relation, ?), or heads.")]
Count = Annotated[int, Field(ge=1, le=MOST_K, description="How many answers are wanted.")]
Day = Annotated[
    str,
    Field(min_length=4, max_length=LONGEST_DAY, examples=["2019-05-01"], description="2019-05-01, 2019-05 or 2019."),
]
Names3 = Annotated[list[Name], Field(min_length=3, max_length=3, description="Head, relation and tail.")]


class In(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Dated(In):
    """A question that may be about a time."""

    at: Annotated[
        Day | None, Field(description="Only the facts that held then are there. Without it, all of them.")
    ] = None


class WriteIn(In):
    """A change of what is stored."""

    source: Annotated[Name | None, Field(description="Where it comes from, or who says so; kept with it.")] = None


class QuestionIn(Dated):
    """One question: (entity, relation, ?), or with the direction "head" (?, relation, entity)."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**WOLF, "direction": "tail", "k": 10, "stored": False}]})

    entity: Name
    relation: Name
    direction: Direction = "tail"
    k: Count | None = None
    stored: Annotated[
        bool,
        Field(
            description="List stored answers too, marked as such.",
            validation_alias=AliasChoices("stored", "known"),  # the second is what it was called before
        ),
    ] = False


class QuestionsIn(In):
    """Several questions, answered in one pass."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"queries": [WOLF, {**WOLF, "direction": "head"}], "k": 5}]}
    )

    queries: Annotated[list[QuestionIn], Field(min_length=1, max_length=MOST_QUESTIONS)]
    k: Annotated[Count | None, Field(description="For the questions that do not say.")] = None


def _which(body: Any) -> str:
    return "many" if isinstance(body, dict) and "queries" in body else "one"


PredictIn = Annotated[Annotated[QuestionIn, Tag("one")] | Annotated[QuestionsIn, Tag("many")], Discriminator(_which)]


class ScoreIn(Dated):
    model_config = ConfigDict(json_schema_extra={"examples": [{"facts": [list(FACT.values())]}]})

    facts: Annotated[list[Names3], Field(min_length=1, max_length=MOST_QUESTIONS)]
    direction: Direction = "tail"


class AboutIn(In):
    model_config = ConfigDict(json_schema_extra={"examples": [{"entity": "wolf.n.01", "k": 10}]})

    entity: Name
    k: Count = 10


class MissingIn(AboutIn, Dated):
    pass


class MissingAnywhereIn(Dated):
    """Of a relation, or about the entities that have a tail in a relation, or both; or of all."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"relation": "_hyponym", "k": 10}]})

    relation: Name | None = None
    having: Annotated[list[Name] | None, Field(min_length=2, max_length=2, description="A relation and its tail.")] = (
        None
    )
    k: Count = 10


class AuditIn(In):
    model_config = ConfigDict(json_schema_extra={"examples": [{"entity": "wolf.n.01", "k": 3}]})

    entity: Name | None = None
    relation: Name | None = None
    k: Count = 10
    sample: Annotated[int, Field(ge=1, le=MOST_AUDITED, description="At most so many facts are judged.")] = SAMPLE


class InferIn(MissingIn):
    least: Annotated[float, Field(ge=0, le=1, description="The least probability of what is kept.")] = 0.5


class WithdrawIn(WriteIn):
    """Which inferred facts are taken back; without either, all of them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "base", "below": 0.6, "source": "me"}]})

    model: Annotated[Name | None, Field(description="Only what this model inferred.")] = None
    below: Annotated[float | None, Field(ge=0, le=1, description="Only what is less likely than this.")] = None


class ExplainIn(Dated):
    model_config = ConfigDict(json_schema_extra={"examples": [{**FACT, "direction": "tail"}]})

    head: Name
    relation: Name
    tail: Name
    direction: Direction = "tail"
    k: Annotated[Count, Field(description="How many lines are wanted; the others are summed up in one.")] = 50


class FactIn(In):
    head: Name
    relation: Name
    tail: Name
    confidence: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None
    valid_from: Annotated[Day | None, Field(description="The first day on which it held, or the first of a month.")] = (
        None
    )
    valid_until: Annotated[Day | None, Field(description="The last one.")] = None


class FactsIn(WriteIn):
    """Facts to store or to remove, all or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"facts": [FACT], "source": "me"}]})

    facts: Annotated[list[FactIn], Field(min_length=1, max_length=MOST_FACTS)]
    revise: Annotated[
        bool, Field(description="Say of facts that are stored what is given, instead of adding facts.")
    ] = False

    @property
    def names(self) -> list[tuple[str, str, str]]:
        return [(fact.head, fact.relation, fact.tail) for fact in self.facts]


class MergeIn(WriteIn):
    model_config = ConfigDict(json_schema_extra={"examples": [{"kept": "wolf.n.01", "other": "dog.n.01"}]})

    kept: Name
    other: Annotated[Name, Field(description="The one that becomes a name of the kept one.")]


class RenameIn(WriteIn):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "poodle.n.01", "new": "poodle_dog.n.01"}]})

    name: Name
    new: Annotated[Name, Field(description="The id from now on.")]
    of: Annotated[Literal["entity", "relation"], Field(description="What is renamed.")] = "entity"


class EntityIn(WriteIn):
    model_config = ConfigDict(json_schema_extra={"examples": [{"entity": "poodle.n.01"}]})

    entity: Name


class UndoIn(WriteIn):
    model_config = ConfigDict(json_schema_extra={"examples": [{"moment": 1}]})

    moment: Annotated[int, Field(ge=1, le=MOST_MOMENT, description="Of the write that is turned back.")]
    and_later: Annotated[bool, Field(description="All later writes, too: everything is as it was before.")] = False


class DescriptionIn(In):
    id: Annotated[Name, Field(description="Its name in the facts.")]
    label: Text | None = None
    aliases: Annotated[list[Name], Field(max_length=MOST_ALIASES)] = []
    kind: Text | None = None
    description: Text | None = None
    inverse: Annotated[Text | None, Field(description="What a relation is called from the tail to the head.")] = None


class DescriptionsIn(WriteIn):
    """What entities and relations are called and what they are; aliases add up."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"entities": [{"id": "wolf.n.01", "label": "wolf", "kind": "animal"}]}]}
    )

    entities: Annotated[list[DescriptionIn], Field(min_length=1, max_length=MOST_FACTS)]


class ValueIn(In):
    entity: Annotated[Name, Field(description="Its id.")]
    property: Annotated[Name, Field(description="Its id; a new one is made.")]
    text: Annotated[Text, Field(description="The value as it is written.")]
    datatype: Annotated[Name, Field(description="Such as xsd:integer, xsd:decimal, xsd:date or xsd:boolean.")] = STRING
    language: Name | None = None
    unit: Name | None = None


class ValuesIn(WriteIn):
    """What properties of entities are, in the place of what they were."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"values": [{"entity": "wolf.n.01", "property": "legs", "text": "4", "datatype": "xsd:integer"}]}
            ]
        }
    )

    values: Annotated[list[ValueIn], Field(min_length=1, max_length=MOST_FACTS)]
