"""Pre-training: what is asked, what is masked, and that the average of the weights answers what was asked."""

import numpy as np
import pytest
import torch

from hmem.config import PropagationConfig
from hmem.errors import CheckpointError, ConfigError, DataError
from hmem.graph.dataset import Dataset
from hmem.graph.generated import generated
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from hmem.memory.links import Links
from hmem.model.propagation import Propagation
from hmem.training.pretrain import FEWEST, Budget, Questions, Source, mixture, pretrain
from hmem.training.state import State

EMPLOYEES, BOSSES = 64, 64


def inverses() -> Dataset:
    """Each employee has a boss; that the boss manages the employee is asked for half of them, and stored for the rest.

    Employees and bosses are apart: where every role stood at every entity, none could be told from its inverse.
    """
    boss = [(each, 0, EMPLOYEES + each * 7 % BOSSES) for each in range(EMPLOYEES)]
    manages = [(tail, 1, head) for head, _, tail in boss]
    vocab = Vocabulary([f"p{each}" for each in range(EMPLOYEES + BOSSES)], ["boss", "manages"])
    return Dataset(
        name="inverses", vocab=vocab, train=as_triples(boss + manages[FEWEST:]), valid=as_triples(manages[:FEWEST]),
        test=as_triples([]),
    )  # fmt: skip


def small_network() -> Propagation:
    torch.manual_seed(0)
    return Propagation(PropagationConfig(dim=16, steps=2, roles="computed"), 0, 0)


class Fixed(Propagation):
    """Scores that are given, whatever is asked."""

    def __init__(self, scores: torch.Tensor) -> None:
        super().__init__(PropagationConfig(dim=16, steps=1, roles="computed"), 0, 0)
        self.given = scores

    def scores(
        self, entity: torch.Tensor, role: torch.Tensor, links: Links, unreached: float | None = None
    ) -> torch.Tensor:
        return self.given.expand(len(entity), -1)


def test_the_other_true_answers_are_out_of_the_loss() -> None:
    vocab = Vocabulary(["a", "b", "c", "d"], ["knows"])
    dataset = Dataset(
        name="tiny", vocab=vocab, train=as_triples([(0, 0, 1), (3, 0, 3)]), valid=as_triples([(0, 0, 2)]),
        test=as_triples([]),
    )  # fmt: skip
    questions = Questions(dataset, "cpu")
    asked = torch.stack([questions.entity, questions.role, questions.target], 1)
    assert sorted(asked.tolist()) == [[0, 1, 2], [2, 0, 0]]  # who knows c, and whom a knows
    questions.entity, questions.role, questions.target = (
        each[questions.entity == 0] for each in (questions.entity, questions.role, questions.target)
    )
    scores = torch.tensor([0.0, 50.0, 1.0, 0.5])  # b, which is stored, would beat c, which is asked for
    expected = -torch.tensor([0.0, 1.0, 0.5]).log_softmax(0)[1]
    assert questions.loss(Fixed(scores), 3, np.random.default_rng(0)).item() == pytest.approx(expected.item())


def test_questions_can_be_those_without_another_link() -> None:
    dataset = max((generated(seed) for seed in range(4)), key=lambda each: len(each.train))
    pairs = {frozenset((int(head), int(tail))) for head, _, tail in dataset.train}

    def linked(questions: Questions) -> list[bool]:
        ends = zip(questions.entity.tolist(), questions.target.tolist(), strict=True)
        return [frozenset(each) in pairs for each in ends]

    assert any(linked(Questions(dataset, "cpu")))
    assert not any(linked(Questions(dataset, "cpu", unlinked=True)))


def test_the_average_learns_what_is_asked() -> None:
    losses, questions = [], Questions(inverses(), "cpu")
    network = small_network()
    done = pretrain(
        network, [Source(1.0, [inverses()])], Budget(steps=60), batch=16, rate=1e-2,
        progress=lambda look: losses.append(look.loss),
    )  # fmt: skip
    average = done.network
    assert (done.steps, done.stopped) == (60, "done")
    assert losses[-1] < 0.5 * losses[0]
    assert average is not network
    with torch.no_grad():
        best = average.scores(questions.entity, questions.role, questions.links).argmax(1)
    assert (best == questions.target).float().mean() > 0.9


def test_a_mixture_has_graphs_of_every_kind_with_enough_to_ask() -> None:
    dataset = generated(0)
    sources = mixture([dataset, generated(9)], [1.0, 3.0], excerpts=4, made=3)
    assert sum(source.share for source in sources) == pytest.approx(1)
    assert all(len(graph.valid) >= FEWEST for source in sources for graph in source.graphs)
    whole = [source for source in sources if source.graphs[0].name.startswith(f"{dataset.name}-whole")]
    assert [source.share for source in whole] == pytest.approx([0.1 / 4])


def test_nothing_to_ask_about_is_an_error() -> None:
    with pytest.raises(DataError, match="no graph with at least 32 facts"):
        pretrain(small_network(), [], Budget(steps=1))


def test_a_run_that_was_stopped_goes_on_to_the_same_weights() -> None:
    sources = mixture([generated(0)], [1.0], excerpts=2, made=2)
    kept = list[State]()
    whole = pretrain(small_network(), sources, Budget(steps=6), batch=4).network.state_dict()

    def stop() -> bool:
        asked.append(True)
        return len(asked) == 2

    asked = list[bool]()
    cut = pretrain(small_network(), sources, Budget(steps=6), batch=4, checkpoint=kept.append, stop=stop)
    assert (cut.steps, cut.stopped) == (2, "interrupted")
    resumed = pretrain(
        small_network(), sources, Budget(steps=6), batch=4, resume=State.from_tensors(*kept[-1].to_tensors())
    )
    assert (resumed.steps, resumed.stopped) == (6, "done")
    for name, value in resumed.network.state_dict().items():
        assert torch.equal(value, whole[name]), name
    kept[-1].best_weights = None
    with pytest.raises(CheckpointError, match="lacks the average of its weights"):
        pretrain(small_network(), sources, Budget(steps=6), batch=4, resume=kept[-1])


def test_a_state_that_cannot_be_saved_does_not_end_the_run() -> None:
    def full(state: State) -> None:
        raise CheckpointError("the disk is full")

    sources = [Source(1.0, [inverses()])]
    with pytest.warns(UserWarning, match="goes on, but its state is not saved: the disk is full"):
        assert pretrain(small_network(), sources, Budget(steps=2), batch=4, checkpoint=full).stopped == "done"
    with pytest.raises(CheckpointError, match="full"):  # where nothing else is left of it
        pretrain(small_network(), sources, Budget(steps=2), batch=4, checkpoint=full, stop=lambda: True)


def test_the_clock_ends_a_run_and_lowers_the_rate() -> None:
    assert Budget(steps=10, minutes=1.0).over(2, 30.0) == pytest.approx(0.5)
    assert Budget(steps=10, minutes=1.0).over(9, 30.0) == pytest.approx(0.9)
    assert Budget(minutes=1.0).over(9, 90.0) == 1
    with pytest.raises(ConfigError, match="a number of steps or of minutes"):
        Budget()
    done = pretrain(small_network(), [Source(1.0, [inverses()])], Budget(minutes=1e-9), batch=4)
    assert (done.steps, done.stopped) == (1, "time")


def test_the_progress_of_a_mixture_counts_every_graph() -> None:
    seen = list[tuple[int, int]]()
    mixture([generated(0)], [1.0], excerpts=2, made=1, progress=lambda *now: seen.append(now))
    assert seen == [(number, 5) for number in range(1, 6)]
