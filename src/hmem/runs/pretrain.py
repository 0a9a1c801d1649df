"""`hmem pretrain`: one network for any graph, trained on several, in a folder from which the run can go on."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hmem.config import Config, PropagationConfig, TrainingConfig, to_dict
from hmem.errors import ConfigError, Hint, InterruptedRunError
from hmem.graph.dataset import Dataset
from hmem.graph.names import Vocabulary
from hmem.model.checkpoint import Model
from hmem.model.presets import DEFAULT
from hmem.model.propagation import Propagation
from hmem.runs.device import resolve_device
from hmem.runs.fit import fingerprint
from hmem.runs.folder import RunFolder, claimed
from hmem.training.loop import matmul_precision
from hmem.training.pretrain import BATCH, EXCERPTS, GENERATED, RATE, WEIGHT_DECAY, Budget, Look, mixture, pretrain
from hmem.training.start import new_model


def pretrain_in(
    out: Path,
    datasets: Sequence[Dataset],
    budget: Budget,
    *,
    weights: Sequence[float] | None = None,
    excerpts: int = EXCERPTS,
    made: int = GENERATED,
    seed: int = 0,
    device: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
    making: Callable[[int, int], None] | None = None,
    progress: Callable[[Look], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Model:
    """A network whose role vectors are computed, trained on excerpts of the datasets' train facts and generated graphs.

    `weights` say how often each dataset is asked about, all alike if they are not given. `making` gets how many of how
    many graphs are made, `progress` where the training stands.
    """
    device = resolve_device(device)
    weights = [1.0] * len(datasets) if weights is None else list(weights)
    if len(weights) != len(datasets) or not all(weight > 0 for weight in weights):
        expected = f"a positive number for each of {len(datasets)} graphs"
        raise ConfigError(f"expected {expected}, found {weights}", option="weights", found=weights, expected=expected)
    config = _settings(budget, seed)
    run = {
        "data": ", ".join(dataset.name for dataset in datasets),
        "facts": hashlib.sha256("".join(map(fingerprint, datasets)).encode()).hexdigest(),
        "weights": weights,
        "graphs": {"excerpts": excerpts, "generated": made},
        "steps": budget.steps,
        "config": to_dict(config),
    }

    def counted(done: int, number: int) -> None:
        if making is not None:
            making(done, number)
        if stop is not None and stop():
            raise KeyboardInterrupt  # nothing has been trained since the folder was last written

    folder = RunFolder(out)
    start = folder.resume(run) if resume else None
    with claimed(out) as is_ours:
        if not is_ours:
            raise ConfigError("another process is training in {path}; choose another folder", path=out)
        if not resume:
            folder.begin(run, overwrite)
        sources = mixture(datasets, weights, excerpts=excerpts, made=made, seed=seed, progress=counted)
        network = new_model(config, 0, 0).to(device)
        assert isinstance(network, Propagation), "as its settings say"

        def told(look: Look) -> None:
            folder.log(look)
            if progress is not None:
                progress(look)

        with matmul_precision(config.training.precision):
            done = pretrain(
                network, sources, budget,
                seed=seed, progress=told, checkpoint=folder.checkpoint, stop=stop, resume=start,
            )  # fmt: skip
        if done.stopped == "interrupted":
            hint = Hint(text="go on from there", option="resume")
            raise InterruptedRunError(f"stopped after {done.steps:,} steps", hint=hint)
        cost: dict[str, Any] = {
            "training_seconds": round(done.seconds, 1),
            "steps": done.steps,
            "stopped": done.stopped,
            "parameters": sum(parameter.numel() for parameter in done.network.parameters()),
        }
        vocab, name = Vocabulary([], []), f"{run['data']} and generated graphs"
        model = Model(
            model=done.network, config=config, vocab=vocab, dataset=name, preset=DEFAULT, metrics={"training": cost}
        )
        folder.finish(model)
    return model


def _settings(budget: Budget, seed: int) -> Config:
    """Those of the network, and of its training as far as they are settings there."""
    training = TrainingConfig(
        epochs=None,
        minutes=budget.minutes,
        batch_size=BATCH,
        learning_rate=RATE,
        weight_decay=WEIGHT_DECAY,
        validate_every=None,
        patience=None,
        validation_queries=None,
        precision="tf32",
        seed=seed,
    )
    return Config(propagation=PropagationConfig(roles="computed"), training=training)
