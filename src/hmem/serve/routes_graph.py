"""What is in the knowledge base: the whole, its model and its relations."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from hmem.evaluation.metrics import ALIASES
from hmem.knowledge.session import Session
from hmem.serve.context import BRIEF, TheService, failures
from hmem.serve.responses_graph import AttachedOut, GraphOut, MetricsOut, ModelOut, RelationsOut
from hmem.serve.service import Service

router = APIRouter(tags=["graph"])


@router.get("/graph", responses=failures())
async def describe_graph(service: TheService) -> GraphOut:
    """What the knowledge base holds, which model it uses, and whether it can be changed here."""

    def look() -> GraphOut:
        counts = service.store.count()
        first = next(service.store.listing(limit=1), None)
        return GraphOut(
            path=service.store.path.name,
            **{name: counts[name] for name in ("facts", "entities", "relations")},
            moment=counts["moments"],
            created=None if first is None else first.added_at,
            model=_attached(service),
            writes=service.settings.writable,
            token=service.settings.token is not None,
        )

    return await service.read(look)


@router.get("/model", responses=failures())
async def describe_model(service: TheService) -> ModelOut:
    """The model that answers: what kind, how large, how good, and how much came after it."""
    return await service.ask(_describe)


@router.get("/relations", **BRIEF, responses=failures())
async def list_relations(service: TheService) -> RelationsOut:
    """All relations; whether those can be asked for that came after the model was trained depends on its kind."""
    model = service.model
    found = await service.read(service.name_index.relations)
    listed = [
        {**({} if each.said is None else asdict(each.said)), **asdict(each), "usable": model.can_use(each.name)}
        for each in found
    ]
    return RelationsOut.model_validate({"relations": listed})


def _attached(service: Service) -> AttachedOut:
    state = service.model
    saved = state.saved
    return AttachedOut(
        name=state.name,
        status=state.status,
        preset=None if saved is None else saved.preset,
        dataset=None if saved is None else saved.dataset,
        calibrated=None if saved is None else saved.metrics.get("calibration") is not None,
        weighs=None if saved is None else saved.config.propagation is None,
        trouble=state.trouble or None,
    )


def _describe(now: Session) -> ModelOut:
    saved = now.saved
    network: Any = saved.config.propagation or saved.config.memory
    calibration = saved.metrics.get("calibration") or {}
    reports = saved.metrics.get("reports") or []
    return ModelOut(
        name=now.model_link.folder.name,
        preset=saved.preset,
        dataset=saved.dataset,
        kind="propagation" if saved.config.propagation is not None else network.kind,
        **{name: getattr(network, name, None) for name in ("binding", "entity_dim", "relation_dim", "dim", "steps")},
        parameters=sum(parameter.numel() for parameter in saved.model.parameters()),
        entities=len(saved.vocab.entities),
        relations=len(saved.vocab.relations),
        metrics=[found for report in reports if (found := _metrics(report)) is not None],
        calibration_error=calibration.get("error"),
        calibration_top_error=calibration.get("top_error"),
        trained_until=now.model_link.trained_until,
        unseen=len(now.live.unseen()),
    )


def _metrics(report: Any) -> MetricsOut | None:
    """A report as a model folder has it, or None for something else in its place."""
    try:
        values = report.get("protocols", {}).get("all", {})
        found = {name.replace("@", "_at_"): values.get(key) for name, key in ALIASES.items()}
        return MetricsOut.model_validate({"split": report.get("split", ""), "graph": report.get("graph"), **found})
    except (AttributeError, ValueError):
        return None
