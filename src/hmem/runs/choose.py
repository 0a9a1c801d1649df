"""Settings that suit a graph, where a preset leaves them open, and why.

How long to train follows from the number of facts and the device. What is hidden in training follows from what is
missing where the model is asked: the validation facts show how often the entities of a missing fact are linked by
others, and the observed facts of held-out entities what share of an entity's facts is missing.
"""

from dataclasses import replace

from hmem.config import Config
from hmem.graph.dataset import Dataset
from hmem.training.propagation import share_to_hide

QUESTIONS = 600_000  # of a whole training, if the graph has so many: two for each fact and epoch
MOST_EPOCHS = 30
LOOKS = 8  # at the validation facts
CPU_MINUTES = 10.0


def chosen(config: Config, dataset: Dataset, device: str) -> tuple[Config, list[str]]:
    """The settings with nothing left open, and a line for each choice."""
    training, reasons = config.training, []
    facts = max(1, len(dataset.train))
    if training.epochs is None:
        epochs = min(MOST_EPOCHS, max(1, round(QUESTIONS / (2 * facts))))
        training = replace(training, epochs=epochs)
        said = f"{epochs} {'epoch' if epochs == 1 else 'epochs'} of {facts:,} facts"
        if training.minutes is None and device == "cpu":
            training = replace(training, minutes=CPU_MINUTES)
            said += f", or {CPU_MINUTES:g} minutes on this CPU"
        reasons.append(f"{said}; the {'best' if len(dataset.valid) else 'last'} weights are kept")
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


def share_missing(dataset: Dataset) -> float:
    """The share of their facts that held-out entities lack: those of validation, and as many of test.

    Validation facts that are not about them say nothing of it.
    """
    if dataset.observed is None or dataset.validates_held_in:
        return 0.0
    asked = 2 * len(dataset.valid)
    return asked / max(1, asked + len(dataset.observed))
