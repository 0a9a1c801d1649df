"""Questions: what is likely, how likely, and why."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Body

from hmem.knowledge.explanation import Reason, Reasons
from hmem.knowledge.session import Session
from hmem.serve.batching import Question, check_entity, check_relation
from hmem.serve.context import TheService, failures
from hmem.serve.errors import ApiError
from hmem.serve.requests import AboutIn, ExplainIn, PredictIn, QuestionIn, ScoreIn
from hmem.serve.responses import (
    AnswerOut,
    AnswersOut,
    AskedOut,
    ExplainOut,
    MissingFactOut,
    MissingOut,
    PredictOut,
    ReasonOut,
    ScoredOut,
    ScoreOut,
    SimilarEntityOut,
    SimilarOut,
)
from hmem.serve.settings import MOST_ANSWERS, STORED_EDGES

K = 10  # answers, unless told otherwise
ASKING = failures("unknown_name", "no_facts", "not_trained", "no_model")

router = APIRouter(tags=["questions"])


@router.post("/predict", responses=ASKING)
async def predict(service: TheService, body: Annotated[PredictIn, Body()]) -> PredictOut:
    """The best answers to a question, or to several at once.

    A stored answer is scored as if it were not stored. Questions of different requests that come at about the same
    time are answered in one pass.
    """
    asked = [body] if isinstance(body, QuestionIn) else body.queries
    usual = K if isinstance(body, QuestionIn) or body.k is None else body.k
    questions = [
        Question(
            entity=q.entity,
            relation=q.relation,
            direction=q.direction,
            k=q.k or usual,
            known=q.known,
            most_edges=STORED_EDGES // len(asked),
        )
        for q in asked
    ]
    wanted = sum(question.k for question in questions)
    if wanted > MOST_ANSWERS:
        raise ApiError("too_large", f"{wanted:,} answers are wanted, at most {MOST_ANSWERS:,} are given; ask for fewer")
    results = [
        AnswersOut(
            query=AskedOut.model_validate(question), answers=[AnswerOut.model_validate(answer) for answer in found]
        )
        for question, found in zip(questions, await service.predict(questions), strict=True)
    ]
    return PredictOut(results=results)


@router.post("/score", responses=ASKING)
async def score(service: TheService, body: ScoreIn) -> ScoreOut:
    """How likely given facts are, each as if it were not stored."""

    def judge(now: Session) -> list[ScoredOut]:
        facts = [(head, relation, tail) for head, relation, tail in body.facts]
        for head, relation, tail in facts:
            check_entity(now, head)
            check_relation(now, relation)
            check_entity(now, tail)
        return [ScoredOut.model_validate(each) for each in now.judge(facts, body.direction)]

    return ScoreOut(results=await service.ask(judge))


@router.post("/missing", responses=ASKING)
async def missing(service: TheService, body: AboutIn) -> MissingOut:
    """The likeliest facts about an entity that are not stored, over all relations and both directions."""

    def find(now: Session) -> list[MissingFactOut]:
        check_entity(now, body.entity)
        return [MissingFactOut.model_validate(each) for each in now.missing(body.entity, body.k)]

    return MissingOut(entity=body.entity, facts=await service.ask(find))


@router.post("/similar", responses=ASKING)
async def similar(service: TheService, body: AboutIn) -> SimilarOut:
    """The entities whose vectors are most like that of this one."""

    def find(now: Session) -> list[SimilarEntityOut]:
        check_entity(now, body.entity)
        return [
            SimilarEntityOut(name=each.entity, similarity=each.similarity) for each in now.similar(body.entity, body.k)
        ]

    return SimilarOut(entity=body.entity, similar=await service.ask(find))


@router.post("/explain", responses=ASKING)
async def explain(service: TheService, body: ExplainIn) -> ExplainOut:
    """Why a fact is likely or not: the stored facts that speak for it, and how much each contributes."""

    def find(now: Session) -> Reasons:
        check_entity(now, body.head)
        check_relation(now, body.relation)
        check_entity(now, body.tail)
        return now.explain(body.head, body.relation, body.tail, body.direction)

    found = await service.ask(find)
    return ExplainOut(
        head=body.head,
        relation=body.relation,
        tail=body.tail,
        direction=body.direction,
        known=found.known,
        score=found.score,
        probability=found.probability,
        total=found.total,
        lines=lines_of(found, body.k),
    )


def lines_of(found: Sequence[Reason], k: int) -> list[ReasonOut]:
    """The k lines that matter most, in their order, and one for all others."""
    everything = sum(abs(each.contribution) for each in found) or 1.0
    chosen = sorted(range(len(found)), key=lambda place: -abs(found[place].contribution))[:k]
    lines = [
        ReasonOut(
            kind=found[place].kind,
            text=found[place].text,
            facts=[list(fact) for fact in found[place].facts],
            weight=found[place].weight,
            contribution=found[place].contribution,
            share=abs(found[place].contribution) / everything,
        )
        for place in sorted(chosen)
    ]
    others = [found[place] for place in set(range(len(found))).difference(chosen)]
    if others:
        lines.append(
            ReasonOut(
                kind="others",
                text=f"{len(others):,} others",
                facts=[],
                weight=None,
                contribution=sum(each.contribution for each in others),
                share=sum(abs(each.contribution) for each in others) / everything,
            )
        )
    return lines
