"""What is in the knowledge base: the whole, its names, and who is next to whom."""

from fastapi import APIRouter

from hmem.evaluation.metrics import ALIASES
from hmem.knowledge.asking import Asking
from hmem.serve.context import TheDesk, failures
from hmem.serve.desk import Desk
from hmem.serve.responses import AttachedOut, FiguresOut, GraphOut, ModelOut, RelationOut, RelationsOut

router = APIRouter(tags=["graph"])


@router.get("/graph", responses=failures())
async def describe_graph(desk: TheDesk) -> GraphOut:
    """What the knowledge base holds, which model it uses, and whether it can be changed here."""

    def look() -> GraphOut:
        counts = desk.store.count()
        first = next(desk.store.listing(limit=1), None)
        return GraphOut(
            path=desk.store.path.name,
            facts=counts["facts"],
            entities=counts["entities"],
            relations=counts["relations"],
            moment=counts["moments"],
            created=None if first is None else first.added_at,
            model=_attached(desk),
            writes=desk.settings.writable,
            token=desk.settings.token is not None,
        )

    return await desk.read(look)


@router.get("/model", responses=failures("no_model"))
async def describe_model(desk: TheDesk) -> ModelOut:
    """The model that answers: what kind, how large, how good, and how much came after it."""
    return await desk.ask(_describe)


@router.get("/relations", responses=failures())
async def list_relations(desk: TheDesk) -> RelationsOut:
    """All relations; those that came after the model was trained are stored, but cannot be asked for."""
    saved = desk.model.saved
    found = await desk.read(desk.directory.relations)
    return RelationsOut(
        relations=[
            RelationOut(
                name=each.name, usable=saved is not None and each.name in saved.vocab.relations, facts=each.facts
            )
            for each in found
        ]
    )


def _attached(desk: Desk) -> AttachedOut | None:
    state = desk.model
    if state.name is None or state.status == "none":
        return None
    saved = state.saved
    return AttachedOut(
        name=state.name,
        status=state.status,
        preset=None if saved is None else saved.preset,
        dataset=None if saved is None else saved.dataset,
        calibrated=None if saved is None else saved.metrics.get("calibration") is not None,
        trouble=state.trouble or None,
    )


def _describe(now: Asking) -> ModelOut:
    saved, memory = now.saved, now.saved.config.memory
    calibration = saved.metrics.get("calibration") or {}
    reports = saved.metrics.get("reports") or []
    return ModelOut(
        name=now.attached.folder.name,
        preset=saved.preset,
        dataset=saved.dataset,
        kind=memory.kind,
        binding=memory.binding,
        entity_dim=memory.entity_dim,
        relation_dim=memory.relation_dim,
        parameters=sum(parameter.numel() for parameter in saved.model.parameters()),
        entities=len(saved.vocab.entities),
        relations=len(saved.vocab.relations),
        metrics=[_figures(report) for report in reports if isinstance(report, dict)],
        calibration_error=calibration.get("error"),
        calibration_top_error=calibration.get("top_error"),
        trained_until=now.attached.trained_until,
        newcomers=len(now.live.newcomers()),
    )


def _figures(report: dict[str, object]) -> FiguresOut:
    protocols = report.get("protocols")
    everything = protocols.get("all") if isinstance(protocols, dict) else None
    values = everything if isinstance(everything, dict) else {}
    found = {name: values.get(key) for name, key in ALIASES.items()}
    graph = report.get("graph")
    return FiguresOut(
        split=str(report.get("split", "")),
        graph=None if graph is None else str(graph),
        mrr=found["mrr"],
        mr=found["mr"],
        hits_at_1=found["hits@1"],
        hits_at_10=found["hits@10"],
    )
