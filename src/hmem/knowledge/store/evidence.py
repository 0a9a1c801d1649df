"""Which of the stored facts speak for others."""

from dataclasses import dataclass

from hmem.graph.days import Stretch, to_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The facts that were asserted, those with the confidence 0 left out; on request only those that held at a time."""

    at: Stretch | None = None  # they held on one of these days; a fact without days always held
    with_inferred: bool = False  # what a model inferred counts too

    def condition(self) -> str:
        """The same as a condition on rows of the table of facts."""
        conditions = ["(fact.confidence IS NULL OR fact.confidence > 0)"]
        if not self.with_inferred:
            conditions.append("fact.inferred_by IS NULL")
        if self.at is not None:
            conditions.append(held(self.at))
        return " AND ".join(conditions)


def held(at: Stretch) -> str:
    """The condition that a fact held on one of these days."""
    first, last = to_number(at.first), to_number(at.last)
    return f"coalesce(fact.valid_from, {last}) <= {last} AND coalesce(fact.valid_until, {first}) >= {first}"
