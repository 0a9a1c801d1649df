"""How probable the answers of a session are."""

from hmem.evaluation.calibration import Calibration
from hmem.evaluation.joined import USUAL, Weights, weights_of
from hmem.evaluation.slots import stored_answers
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.model_link import ModelLink
from hmem.knowledge.newcomers import Newcomers
from hmem.knowledge.predictor import Ids
from hmem.knowledge.ranked import Ranked
from hmem.knowledge.self_calibration import SelfCalibration
from hmem.model.checkpoint import Model


class Probabilities:
    """The calibration that came with the model, or one by the facts of the base for a model of no graph."""

    def __init__(
        self, saved: Model, live: LiveGraph, link: ModelLink, self_calibration: SelfCalibration | None = None
    ) -> None:
        """With the `self_calibration` of the present, those of a single time have that, and count nothing."""
        belongs_to_no_graph = len(saved.vocab.relations) == 0
        calibration = saved.metrics.get("calibration")
        self.live = live
        self._weights = weights_of(saved.config.training.counting)
        self._of_model = None if calibration is None else Calibration.from_dict(calibration)
        if self_calibration is None and belongs_to_no_graph:
            self_calibration = SelfCalibration(saved.model, live, link)
        self.self_calibration = self_calibration
        judges = calibration is not None or self_calibration is not None
        weights = USUAL if belongs_to_no_graph else self._weights
        self.newcomers = Newcomers(saved, live, weights) if judges and not saved.model.is_implicit else None

    @property
    def calibration(self) -> Calibration | None:
        """That of the moment. If one is due, it is counted now, and what the network and counting are worth with it."""
        if self.self_calibration is not None:
            return self.self_calibration.current()
        if self._of_model is not None:  # relations may have come after training
            self._of_model = self._of_model.with_roles_of(self.live.graph)
        return self._of_model

    def weights(self, entity: int, role: int) -> Weights:
        """What the network and counting are worth in a question: in this base, or anywhere if the entity is new."""
        if self.self_calibration is None:
            return self._weights
        is_new = self.newcomers is not None and self.newcomers.is_one(entity, role)
        return USUAL if is_new else self.self_calibration.weights

    def of(self, entities: Ids, roles: Ids, ranked: Ranked) -> list[tuple[float | None, float | None]]:
        """The probability of each answer, and that provided an answer is missing at all.

        None where the calibration cannot speak of the entity that is asked about.
        """
        calibration = self.calibration
        if calibration is None:
            return [(None, None)] * len(entities)
        graph = self.live.graph
        missing = calibration.missing(graph, entities, roles, ranked.lead_log_p, ranked.stored)
        stored = stored_answers(graph, entities, roles, ranked.stored)
        if_missing = calibration.probability(ranked.log_p, ranked.leads, stored=stored)
        shown = missing * if_missing
        for entity, role in set(zip(entities.tolist(), roles.tolist(), strict=True)):
            likely = None if self.newcomers is None else self.newcomers.likely(entity, role)
            if likely is not None:
                rows = (entities == entity) & (roles == role)
                asked = ranked.log_p[rows], ranked.leads[rows], ranked.lead_log_p[rows]
                shown[rows], if_missing[rows] = likely.shown(*asked), likely.if_missing(*asked)
        outgrown = {entity for entity in set(entities.tolist()) if not calibration.covers(graph.edges_of(entity)[0])}
        both = zip(shown.tolist(), if_missing.tolist(), strict=True)
        none = None, None
        return [none if entity in outgrown else each for entity, each in zip(entities.tolist(), both, strict=True)]

    def has_outgrown(self, entity: int) -> bool:
        """Whether it has so many more facts of a kind than any had in training that no probability can be given."""
        calibration = self.calibration
        return calibration is not None and not calibration.covers(self.live.graph.edges_of(entity)[0])
