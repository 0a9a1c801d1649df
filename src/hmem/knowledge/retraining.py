"""Training on the facts of a knowledge base, which then uses the new model."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hmem.config import to_dict
from hmem.errors import CheckpointError, ConfigError, Hint, Place, StoreError
from hmem.graph.fact_keys import FactKeys
from hmem.knowledge.model_link import ModelLink, attach, trained_from
from hmem.knowledge.store.as_dataset import dataset_of
from hmem.knowledge.store.store import Store
from hmem.model.checkpoint import Model
from hmem.model.presets import DEFAULT
from hmem.model.presets import preset as settings_of
from hmem.runs.fit import Plan, Settings, bundled_start, configure, train_in
from hmem.runs.folder import read_facts
from hmem.runs.measure import Trained
from hmem.training.warm_start import warm_start


@dataclass(frozen=True, kw_only=True)
class Retraining:
    """What a run takes from a knowledge base, and gives back to it."""

    path: Place
    moment: int  # the facts up to it are trained on
    before: Model | None  # the model in use
    trained: FactKeys | None = None  # of the facts that it was trained on
    problem: str = ""  # why the model in use cannot be read

    @classmethod
    def of(cls, path: Place, out: Path, *, resume: bool = False) -> "Retraining":
        """Look at a knowledge base before training on its facts of now, or on those of the run that is resumed."""
        with Store.open(path) as store:  # not read-only: better to fail now than when the model is ready
            moment = trained_from(out)[1] if resume else None
            moment = store.moment if moment is None else moment
            link = ModelLink.of(store)
            if link is None:
                return cls(path=path, moment=moment, before=None)
            if out.resolve() == link.folder:
                problem = f"{{path}} is the model that {path} uses; choose another folder, so that it stays until then"
                raise ConfigError(problem, path=out)
            try:
                before, facts = link.load(store, "cpu"), read_facts(link.folder)
                trained = link.keys_until(store) if facts is None else facts.trained
                return cls(path=path, moment=moment, before=before, trained=trained)
            except (StoreError, CheckpointError) as error:  # no reason not to train a better one
                return cls(path=path, moment=moment, before=None, problem=str(error))

    def train(
        self,
        out: Path,
        preset: str | None = None,
        *,
        settings: Settings | None = None,
        seed: int | None = None,
        fine_tune: bool = False,
        from_scratch: bool = False,
        **run: Any,
    ) -> Trained:
        """Train as `hmem.fit` does, and let the knowledge base use the model when it is ready and saved.

        Without a preset the settings are those of the model in use; `fine_tune` begins with its weights, too, and
        validates with facts that neither it nor those before it were trained on. `run` is what `train_in` takes:
        device, callbacks, resume, overwrite.
        """
        plan = self._plan(preset, settings, seed, fine_tune, from_scratch)
        trained = train_in(out, plan, **run)
        self._swap(out)
        return trained

    def _plan(
        self, preset: str | None, settings: Settings | None, seed: int | None, fine_tune: bool, from_scratch: bool
    ) -> Plan:
        if fine_tune and from_scratch:
            raise ConfigError("fine-tuning begins with the weights of the model in use, and so not from scratch")
        before, data = self.before, f"{self.path}@{self.moment}"
        if preset is None and before is not None:
            preset, base = before.preset, to_dict(before.config)
            if before.metrics.get("counting"):  # its weight was chosen by facts of that time
                base["training"]["counting"] = None
        else:
            preset = preset or DEFAULT
            base = settings_of(preset)
        trained = self.trained if fine_tune else None
        config, dataset = configure(base, settings, seed), dataset_of(self.path, moment=self.moment, trained=trained)
        plan = Plan(data=data, dataset=dataset, preset=preset, config=config, before=trained)
        if not fine_tune:
            return plan if from_scratch else replace(plan, start=bundled_start(config, dataset))
        if before is None:
            reason = self.problem or f"{self.path} has no model to start from"
            raise ConfigError(f"{reason}; train without fine-tuning")
        if (config.memory, config.propagation) != (before.config.memory, before.config.propagation):
            raise ConfigError("fine-tuning keeps the settings of the network; train without it to change them")
        return replace(plan, start=lambda: warm_start(config, before.model, before.vocab, dataset.vocab, dataset.train))

    def _swap(self, folder: Path) -> None:
        """Let the knowledge base use the model in `folder` from now on, in one step."""
        try:
            with Store.open(self.path) as store:
                attach(store, folder, trained_until=self.moment)
        except StoreError as error:
            call = f"kb.use_model({str(folder)!r})"
            hint = Hint(text="use it with", command=f"hmem kb use {self.path} {folder}", call=call)
            raise StoreError(f"{error}. The model is ready", hint=hint) from error
