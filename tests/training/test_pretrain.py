"""Pre-training: what is asked, what is masked, and that the average of the weights answers what was asked."""

import numpy as np
import pytest
import torch

from hmem.config import PropagationConfig
from hmem.errors import DataError
from hmem.graph.dataset import Dataset
from hmem.graph.generated import generated
from hmem.graph.names import Vocabulary
from hmem.graph.triples import as_triples
from hmem.memory.propagation import Links
from hmem.model.propagation import Propagation
from hmem.training.pretrain import FEWEST, Questions, Source, mixture, pretrain

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
    assert questions.loss(Fixed(scores), 3).item() == pytest.approx(expected.item())


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
    average = pretrain(
        network, [Source(1.0, [inverses()])], steps=60, batch=16, rate=1e-2,
        after_step=lambda step, loss, average: losses.append(float(loss)),
    )  # fmt: skip
    assert len(losses) == 60
    assert np.mean(losses[-10:]) < 0.5 * losses[0]
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
        pretrain(small_network(), [], steps=1)
