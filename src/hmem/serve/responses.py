"""What all responses have in common: labels beside ids, one shape for errors."""

import math
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


def finite(score: float | None) -> float | None:
    """JSON has no infinity."""
    return score if score is not None and math.isfinite(score) else None


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


class Failure(Out):
    error: ErrorOut


class NamesOut(Out):
    head: str
    relation: str
    tail: str
