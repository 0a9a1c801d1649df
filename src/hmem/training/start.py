"""Where training starts: random weights, what counting says, and an optimizer in groups."""

import math
from typing import Any

import torch

from hmem.config import Config, TrainingConfig
from hmem.errors import ConfigError
from hmem.graph.neighborhoods import Neighborhoods
from hmem.graph.paths import mine_paths
from hmem.graph.rules import mine, share_of_loops
from hmem.memory.log_odds import log_odds
from hmem.memory.weighting import Weighting
from hmem.model.build import Network, build
from hmem.model.explicit import ExplicitMemory
from hmem.model.hmem import HMem
from hmem.model.propagation import Propagation
from hmem.model.query import seed_for

MOST_RELATIONS = 16_000  # of an explicit memory: a table of every two roles then takes 4 GB


def new_model(config: Config, num_entities: int, num_relations: int) -> Network:
    """A model with the starting weights that the seed determines, whatever the device."""
    if num_relations > MOST_RELATIONS and (config.propagation is not None or config.memory.kind == "explicit"):
        raise ConfigError(
            f"{num_relations:,} relations are too many for a model that compares every two of them; "
            "is a column of names read as relations?",
            found=num_relations,
            expected=f"at most {MOST_RELATIONS:,}",
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for("weights", config.training.seed))
        return build(config, num_entities, num_relations)


def start_from_rules(model: HMem, graph: Neighborhoods, seed: int) -> None:
    """Let whatever starts from counts begin with what the facts say: exact channels, a counted bias, s_q."""
    beginners = [each for each in (model.exact, _counted_weighting(model)) if each is not None]
    if beginners:
        keys, confidence = (torch.from_numpy(each).to(model.device) for each in mine(graph))
        for each in beginners:
            each.start_from(keys, confidence)
    if model.own is not None:
        share = torch.from_numpy(share_of_loops(graph)).to(model.device)
        with torch.no_grad():
            model.own.copy_(log_odds(share))
    if model.paths is not None:
        _, per_role, steps = model.paths.steps.shape
        found = mine_paths(graph, per_role, steps, seed)
        model.paths.start_from(*(torch.from_numpy(each).to(model.device) for each in (found.steps, found.confidence)))


def make_optimizer(model: Network, training: TrainingConfig) -> torch.optim.Optimizer:
    """Adam, in groups that step at their own rates.

    The exact channels' coefficients step faster, and are not decayed; nor is what else starts from counts, which decay
    would draw to even odds. Whitening divides what is learned about entities and roles by √d, so that steps √d
    times as far: the whitened vectors then move as unwhitened ones would.
    """
    rate, decay = training.learning_rate, training.weight_decay
    if isinstance(model, Propagation):
        if model.learned is not None and model.computed is not None:
            # Computing role vectors anew in each step takes half the time on a CPU, and the table can learn the rest.
            model.computed.requires_grad_(model.device.type == "cuda")
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        groups: list[dict[str, Any]] = [{"params": trained, "full_rate": rate}]
        return torch.optim.AdamW(groups, lr=rate, weight_decay=decay, fused=True)
    channels = [channel for channel in (model.exact, model.paths) if channel is not None]
    exact = [parameter for channel in channels for parameter in channel.parameters()]
    raw = list(model.embeddings.parameters()) if model.embeddings.whitening is not None else []
    weighting = _counted_weighting(model)
    counted = [weighting.role_bias] if weighting is not None and weighting.role_bias is not None else []
    counted += [model.own] if model.own is not None else []
    others = {id(parameter) for parameter in exact + raw + counted}
    usual = [parameter for parameter in model.parameters() if id(parameter) not in others]
    groups = [{"params": usual, "full_rate": rate}]
    if raw:
        groups.append({"params": raw, "full_rate": rate * math.sqrt(model.config.entity_dim)})
    if counted:
        groups.append({"params": counted, "full_rate": rate, "weight_decay": 0.0})
    if exact:
        groups.append({"params": exact, "full_rate": rate * training.exact_rate, "weight_decay": 0.0})
    return torch.optim.AdamW(groups, lr=rate, weight_decay=decay, fused=True)


def _counted_weighting(model: HMem) -> Weighting | None:
    """The weighting, if its role bias starts from counts."""
    if model.config.role_bias != "counted" or not isinstance(model.memory, ExplicitMemory):
        return None
    return model.memory.weighting
