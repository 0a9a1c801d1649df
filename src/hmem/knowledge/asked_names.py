"""The names in a question as numbers: they are checked here and nowhere else."""

from typing import get_args

from hmem.errors import ConfigError, EmptyNeighborhoodError, Hint, UntrainedRelationError, shown
from hmem.graph.names import Names, unknown_name
from hmem.knowledge.live_graph import LiveGraph
from hmem.knowledge.live_values import HIDDEN
from hmem.knowledge.predictor import Predictor
from hmem.knowledge.results import Direction
from hmem.knowledge.store.database import Kind


class AskedNames:
    """What a name stands for in the facts of this moment, if a question about it can be answered."""

    def __init__(self, live: LiveGraph, predictor: Predictor) -> None:
        self._live, self._predictor = live, predictor
        self._is_implicit = predictor.model.is_implicit

    def entity(self, name: str) -> int:
        """The number of an entity, by its id, its label or an alias."""
        return self._number("entity", self._live.entities.names, name)

    def subject(self, name: str) -> int:
        """The number of an entity that a question is about."""
        entity = self.entity(name)
        if not self._is_implicit and not self._live.has_facts(entity):
            raise self.no_facts(entity)
        if self._is_implicit and entity >= self._live.num_trained:
            raise ConfigError(
                f'"{name}" came after training, and this model has learned its memories instead of assembling them '
                '(kind="implicit"); use an explicit model to ask about unseen entities'
            )
        return entity

    def role(self, relation: str, direction: str) -> int:
        """The number of the role that stands for a relation asked from one end."""
        number = self._number("relation", self._live.relations.names, relation)
        if number >= self._live.num_relations:
            problem = f'the relation "{shown(relation)}" is stored and shown, but the model was trained before it came'
            raise UntrainedRelationError(
                problem, hint=self._train_hint("to predict with it, train with the present facts")
            )
        if direction not in get_args(Direction):
            raise ConfigError(f'direction is "tail", to ask for tails, or "head", to ask for heads; not {direction!r}')
        return number + self._live.num_relations if direction == "tail" else number

    def fact(self, head: str, relation: str, tail: str, direction: str) -> tuple[int, int, int]:
        """The asked entity, the role and the answer of a fact that is asked for from one end."""
        role = self.role(relation, direction)
        asked, other = (head, tail) if direction == "tail" else (tail, head)
        entity, answer = self.subject(asked), self.entity(other)
        if not self._predictor.is_candidate(answer):
            raise self.no_facts(answer)
        return entity, role, answer

    def no_facts(self, entity: int) -> EmptyNeighborhoodError:
        """Why there is nothing to assemble a memory from."""
        name, path = shown(self._live.entities.names[entity]), self._live.store.path
        if self._live.has_stored_facts(entity):
            if self._live.takes_new_relations or self._live.evidence.at is not None:
                problem = f'the facts about "{name}" do not count here: they held at other times, a model inferred them'
                return EmptyNeighborhoodError(f"{problem}, or their confidence is 0")
            problem = f'"{name}" has only facts with relations that the model was not trained with'
            return EmptyNeighborhoodError(problem, hint=self._train_hint("add others, or train a model with these"))
        hint = Hint(text="add one first", command=f"hmem facts add {path} HEAD RELATION TAIL")
        return EmptyNeighborhoodError(f'"{name}" has no facts yet', hint=hint)

    def _number(self, kind: Kind, names: Names, name: str) -> int:
        if isinstance(name, str) and name.startswith(HIDDEN):  # a bucket, which only the graph knows of
            raise unknown_name(kind, name)
        if isinstance(name, str):
            own = names.get(name)
            if own is not None and (kind != "entity" or self._live.has_facts(own)):
                return own
            name = self._live.store.naming.get(kind, name) or name
        return names.id_of(name, suggest=False)

    def _train_hint(self, text: str) -> Hint:
        return Hint(text=text, command=f"hmem train --from {self._live.store.path} --out DIR")
