"""Questions: what is likely, how likely, and why."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Body, Query

from hmem.graph.triples import PARTS
from hmem.knowledge.explanation import Reason, Reasons
from hmem.knowledge.results import Question
from hmem.knowledge.worth_asking import worth_asking
from hmem.serve.context import BRIEF, TheService, day, failures
from hmem.serve.errors import ApiError
from hmem.serve.requests import AboutIn, ExplainIn, MissingIn, PredictIn, QuestionIn, ScoreIn
from hmem.serve.responses_ask import ExplainOut, MissingOut, PredictOut, QuestionsOut, ReasonOut, ScoreOut, SimilarOut
from hmem.serve.settings import MOST_ANSWERS, STORED_EDGES

K = 10  # answers, unless the request says otherwise
MOST_WORTH = 12  # questions worth asking, of the few that are tried
ASKING = failures("unknown_name", "no_facts", "not_trained")

router = APIRouter(tags=["questions"])


@router.post("/predict", **BRIEF, responses=ASKING)
async def predict(service: TheService, body: Annotated[PredictIn, Body()]) -> PredictOut:
    """The best answers to a question, or to several at once.

    A stored answer is scored as if it were not stored. Questions of different requests that come at about the same
    time are answered in one pass.
    """
    several = [body] if isinstance(body, QuestionIn) else body.queries
    usual = K if isinstance(body, QuestionIn) or body.k is None else body.k
    asked = [each.model_copy(update={"k": each.k or usual}) for each in several]
    if (wanted := sum(each.k or 0 for each in asked)) > MOST_ANSWERS:
        raise ApiError("too_large", f"{wanted:,} answers are wanted, at most {MOST_ANSWERS:,} are given; ask for fewer")
    room = STORED_EDGES // len(asked)
    questions = [
        Question(
            **each.model_dump(exclude={"stored", "at"}), new_only=not each.stored, most_edges=room, at=day(each.at)
        )
        for each in asked
    ]
    answers = await service.predict(questions)
    results = [{"query": query, "answers": found} for query, found in zip(asked, answers, strict=True)]
    facts = (each.names for found in answers for each in found)
    labels = service.name_index.labels_of(facts, as_of=service.batcher.moment)
    return PredictOut.model_validate({"results": results, "labels": labels})


@router.post("/score", **BRIEF, responses=ASKING)
async def score(service: TheService, body: ScoreIn) -> ScoreOut:
    """How likely given facts are, each as if it were not stored."""
    facts = [(head, relation, tail) for head, relation, tail in body.facts]
    found = await service.ask(lambda now: now.judge(facts, body.direction), day(body.at))
    labels = service.name_index.labels_of(each.names for each in found)
    return ScoreOut.model_validate({"results": found, "labels": labels})


@router.post("/missing", **BRIEF, responses=ASKING)
async def missing(service: TheService, body: MissingIn) -> MissingOut:
    """The likeliest facts about an entity that are not stored, over all relations and both directions."""
    found = await service.ask(lambda now: now.missing(body.entity, body.k), day(body.at))
    labels = service.name_index.labels_of(each.names for each in found)
    return MissingOut.model_validate({"entity": body.entity, "facts": found, "labels": labels})


@router.get("/questions", **BRIEF, responses=failures())
async def questions(service: TheService, limit: Annotated[int, Query(ge=1, le=MOST_WORTH)] = 6) -> QuestionsOut:
    """A few questions worth asking of this base, each with its best answer that is not stored, the likeliest first."""
    found = await service.ask(lambda now: worth_asking(now, limit))
    labels = service.name_index.labels_of(each.names for each in found)
    return QuestionsOut.model_validate({"questions": found, "labels": labels})


@router.post("/similar", **BRIEF, responses=ASKING)
async def similar(service: TheService, body: AboutIn) -> SimilarOut:
    """The entities whose vectors are most like that of this one."""
    found = await service.ask(lambda now: now.similar(body.entity, body.k))
    labels = service.name_index.labels(each.entity for each in found)
    return SimilarOut.model_validate({"entity": body.entity, "similar": found, "labels": labels})


@router.post("/explain", **BRIEF, responses=ASKING)
async def explain(service: TheService, body: ExplainIn) -> ExplainOut:
    """Why a fact is likely or not: the stored facts that speak for it, and how much each contributes."""
    found = await service.ask(
        lambda now: now.explain(body.head, body.relation, body.tail, body.direction), day(body.at)
    )
    fact = dict(zip(PARTS, found.fact, strict=True))
    labels = service.name_index.labels_of([found.fact, *(each for reason in found for each in reason.facts)])
    about = {**fact, "direction": body.direction, **found.summary(), "labels": labels}
    return ExplainOut.model_validate({**about, "lines": lines_of(found, body.k)})


def lines_of(found: Reasons, k: int) -> list[ReasonOut]:
    """The k lines that matter most, in their order, and one for all others if they add up."""
    everything = sum(abs(each.contribution) for each in found) or 1.0
    chosen = sorted(range(len(found)), key=lambda place: -abs(found[place].contribution))[:k]
    lines = [_line(found[place], everything) for place in sorted(chosen)]
    others = [found[place] for place in set(range(len(found))).difference(chosen)]
    if others and found.total is not None:
        rest = Reason(kind="others", facts=(), contribution=sum(each.contribution for each in others))
        share = sum(abs(each.contribution) for each in others) / everything
        lines.append(_line(rest, everything, text=f"{len(others):,} others", share=share))
    return lines


def _line(reason: Reason, everything: float, **more: object) -> ReasonOut:
    share = abs(reason.contribution) / everything
    return ReasonOut.model_validate({**asdict(reason), "text": reason.text, "share": share, **more})
