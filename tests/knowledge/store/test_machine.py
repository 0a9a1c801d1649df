"""The store against a plain Python model: adds, removals, batches, failures, reopenings, in any order, two handles."""

from contextlib import ExitStack

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hmem.errors import StoreError, UnknownNameError
from hmem.graph.triples import PARTS
from hmem.knowledge.store import errors
from hmem.knowledge.store import store as module
from hmem.knowledge.store.records import Names3
from hmem.knowledge.store.sqlite import connection, loading
from hmem.knowledge.store.store import Store
from tests.knowledge.store.conftest import Engine, new_base
from tests.knowledge.stores import Remembering, by_name
from tests.laws import examples

entities, relations = st.sampled_from(["a", "b", "c", "d é", "x" * 300]), st.sampled_from(["r", "s"])
batches = st.lists(st.tuples(entities, relations, entities), max_size=6)
handles = st.sampled_from([0, 1])


class InterruptError(Exception):
    pass


class Machine(RuleBasedStateMachine):
    engine: Engine = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        hasty = (setting.replace("synchronous = FULL", "synchronous = OFF") for setting in connection.SETTINGS)
        self.patch.setattr(connection, "SETTINGS", tuple(hasty))
        self.patch.setattr(module, "PART", 2)
        self.patch.setattr(module, "PAUSE", 0)
        self.patch.setattr(loading, "FEWEST_TO_REBUILD", 3)  # so that both ways to insert many are taken
        self.open = ExitStack()
        self.path = self.open.enter_context(new_base(self.engine))
        self.model, self.named, self.notes = Remembering(), set[str](), dict[str, str]()

    @initialize()
    def create(self) -> None:
        Store.create(self.path).close()
        self.stores = [Store.open(self.path), Store.open(self.path)]

    def teardown(self) -> None:
        for store in getattr(self, "stores", ()):
            store.close()
        self.open.close()
        self.patch.undo()

    @rule(handle=handles, facts=batches)
    def add(self, handle: int, facts: list[Names3]) -> None:
        written, new = self.stores[handle].add(facts), self.model.add(facts)
        assert (len(written.changed), written.unchanged) == (len(new), len(facts) - len(new))
        assert written.moment == len(self.model.states) - 1
        self._name(facts)

    @rule(handle=handles, facts=batches)
    def add_columns(self, handle: int, facts: list[Names3]) -> None:
        columns = [pa.array([fact[part] for fact in facts], pa.string()) for part in range(3)]
        written = self.stores[handle].add_columns(*columns)
        assert len(written.changed) == len(self.model.add(facts))
        self._name(facts)

    @rule(handle=handles, facts=batches)
    def add_in_parts(self, handle: int, facts: list[Names3]) -> None:
        columns = [pa.array([fact[part] for fact in facts], pa.string()) for part in range(3)]
        writes = list(self.stores[handle].add_in_parts(pa.table(dict(zip(PARTS, columns, strict=True)))))
        expected = [self.model.add(facts[start : start + 2]) for start in range(0, len(facts), 2)]
        assert [len(each.changed) for each in writes] == ([len(each) for each in expected] or [0])
        self._name(facts)

    @rule(handle=handles, back=st.integers(0, 5))
    def undo(self, handle: int, back: int) -> None:
        moment = len(self.model.states) - 1 - back
        if moment > 0:
            undone, (removed, restored) = self.stores[handle].undo(moment), self.model.undo(moment)
            assert (undone.removed, undone.restored) == (len(removed), len(restored))

    @rule(handle=handles, facts=batches)
    def fail_to_add(self, handle: int, facts: list[Names3]) -> None:
        """A bad fact at the end, or an interrupt in the middle, and nothing of it happened."""
        with pytest.raises(Exception, match="expected"):
            self.stores[handle].add([*facts, ("a", "r", "")])

        def interrupt(done: int, of: int) -> None:
            raise InterruptError

        columns = [pa.array([*(fact[part] for fact in facts), f"new {part}"], pa.string()) for part in range(3)]
        with pytest.raises(InterruptError):
            self.stores[handle].add_columns(*columns, progress=interrupt)

    @rule(handle=handles, facts=batches)
    def remove(self, handle: int, facts: list[Names3]) -> None:
        if all(name in self.named for fact in facts for name in fact):
            assert len(self.stores[handle].remove(facts).changed) == len(self.model.remove(facts))
        else:
            with pytest.raises(UnknownNameError):
                self.stores[handle].remove(facts)

    @rule(handle=handles, value=st.sampled_from(["one", "two", None]))
    def note(self, handle: int, value: str | None) -> None:
        self.stores[handle].set_meta(model=value, other=value)
        self.notes = {} if value is None else {"model": value, "other": value}

    @rule(handle=handles)
    def reopen(self, handle: int) -> None:
        self.stores[handle].close()
        self.stores[handle] = Store.open(self.path)

    @rule(handle=handles)
    def compact(self, handle: int) -> None:
        self.stores[handle].compact()

    @rule(handle=handles)
    def write_while_the_other_does(self, handle: int) -> None:
        with self.stores[1 - handle]._connection.writing(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(errors, "BUSY_SECONDS", 0.01)
            with Store.open(self.path) as third, pytest.raises(StoreError, match="being written"):
                third.add([("a", "r", "never")])

    @invariant()
    def both_handles_see_all(self) -> None:
        for store in getattr(self, "stores", ()):
            assert frozenset(by_name(store)) == self.model.now
            assert store.moment == len(self.model.states) - 1
            assert store.metas() == self.notes
            for moment in range(store.moment):
                assert frozenset(by_name(store, moment)) == self.model.states[moment]

    @invariant()
    def sqlite_and_the_check_agree_that_it_is_sound(self) -> None:
        if hasattr(self, "stores"):
            assert self.stores[0].check() == []
            other = self.stores[1]._connection
            if isinstance(other, connection.SqliteConnection):
                assert other._open().execute("PRAGMA quick_check").fetchone() == ("ok",)

    def _name(self, facts: list[Names3]) -> None:
        self.named |= {name for fact in facts for name in fact}


class PostgresMachine(Machine):
    engine: Engine = "postgres"


TestMachine = Machine.TestCase
TestPostgresMachine = PostgresMachine.TestCase
TestPostgresMachine.settings = examples(3, stateful_step_count=12)
TestMachine.settings = examples(15, stateful_step_count=20)
