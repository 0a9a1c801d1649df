"""What the server says of the graph, its model and itself."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hmem.serve.responses import Out
from hmem.serve.responses_facts import AboutOut


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
