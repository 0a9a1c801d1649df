"""Settings that suit a graph, where a preset leaves them open, and why.

How long to train follows from the number of facts and the device. What is hidden in training follows from what is
missing where the model is asked: the validation facts show how often the entities of a missing fact are linked by
others, and the observed facts of held-out entities what share of an entity's facts is missing.
"""

from dataclasses import replace

from hmem.config import Config
from hmem.errors import ConfigError, plural
from hmem.graph.dataset import Dataset
from hmem.training.propagation import share_to_hide

QUESTIONS = 600_000  # of a whole training, if the graph has so many: two for each fact and epoch
MOST_EPOCHS = 30
BLIND_EPOCHS = 3  # where nothing tells whether they make the model better
LOOKS = 8  # at the validation facts
CPU_MINUTES = 10.0
MOST_SCORES = 2**29  # that a step computes, 2 GiB; beyond that it compares candidates that are drawn
CANDIDATES = 8_192


def chosen(config: Config, dataset: Dataset, device: str) -> tuple[Config, list[str]]:
    """The settings with nothing left open, and a line for each choice."""
    config, reasons = _with_candidates(config, dataset)
    training = config.training
    facts = max(1, len(dataset.train))
    if training.epochs is None:
        most = MOST_EPOCHS if len(dataset.valid) else BLIND_EPOCHS
        epochs = min(most, max(1, round(QUESTIONS / (2 * facts))))
        training = replace(training, epochs=epochs)
        said = f"{plural(epochs, 'epoch')} of {plural(facts, 'fact')}"
        if training.minutes is None and device == "cpu":
            training = replace(training, minutes=CPU_MINUTES)
            said += f", or {CPU_MINUTES:g} minutes on this CPU"
        last = "the last weights are kept, and few epochs, since no validation facts tell when to stop"
        reasons.append(f"{said}; {'the best weights are kept' if len(dataset.valid) else last}")
    if training.validate_every is None:
        assert training.epochs is not None
        training = replace(training, validate_every=training.epochs / LOOKS)
    if training.link_withholding is None:
        share = round(share_to_hide(dataset), 2)
        training = replace(training, link_withholding=share)
        if share:
            why = "since validation facts are linked by other facts that much less often than those of training"
            reasons.append(f"all links of a fact hidden in {share:.0%} of the questions, {why}")
    if training.neighbor_dropout is None:
        share = round(share_missing(dataset), 2)
        training = replace(training, neighbor_dropout=share)
        if share:
            reasons.append(f"{share:.0%} of all facts hidden, the share that held-out entities lack")
    return replace(config, training=training), reasons


def _with_candidates(config: Config, dataset: Dataset) -> tuple[Config, list[str]]:
    """Draw candidates where all are too many to compare; what that means for the processes of a training."""
    training, count = config.training, dataset.num_entities
    if training.candidates is None:
        questions = 2 * min(training.batch_size, len(dataset.train))
        if config.why_all_candidates or dataset.heldout is not None or questions * count <= MOST_SCORES:
            return config, []
        config = replace(config, training=replace(training, candidates=CANDIDATES))
    elif dataset.heldout is not None:
        option = "training.candidates"
        problem = f"{option}={training.candidates} must be none where validation asks about held-out entities"
        raise ConfigError(problem, option=option, found=training.candidates, expected="none")
    drawn = config.training.candidates
    assert drawn is not None
    said = f"candidates: {drawn:,} sampled of {count:,}" if drawn < count else f"candidates: all {count:,}"
    return config, [f"{said}; the vectors of entities are shared out among the processes, all else is in each"]


def share_missing(dataset: Dataset) -> float:
    """The share of their facts that held-out entities lack: those of validation, and as many of test.

    Validation facts that are not about them say nothing of it, and no training is like having no facts at all.
    """
    if dataset.observed is None or not len(dataset.observed) or dataset.validates_held_in:
        return 0.0
    asked = 2 * len(dataset.valid)
    return asked / (asked + len(dataset.observed))
