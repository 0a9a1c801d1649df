"""How long from nothing to a given test MRR?

Trains with the clock running (validation included in neither the time nor the stopping), then ranks the test split
once, protocol `all`.

    python benchmarks/time_to_quality.py WN18 --preset tpr --set training.minutes=0.4 ... [--json PATH]
"""

import time
from dataclasses import replace

import torch
from common import arguments, keep

import hmem
from hmem.config import to_dict
from hmem.evaluation.metrics import MRR


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", nargs="?", default="wordnet-mini")
    parser.add_argument("--preset", default="recall")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    parser.add_argument("--split", default="test", choices=("valid", "test"))
    given = parser.parse_args()
    dataset = hmem.load_dataset(given.data)
    unvalidated = replace(dataset, valid=dataset.valid[:0])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # The device's own start is not training, nor are the seconds in which torch imports its compiler for an optimizer.
    torch.optim.Adam([torch.zeros(1, device=device, requires_grad=True)])
    started = time.perf_counter()
    model = hmem.fit(unvalidated, given.preset, settings=given.assignments, device=device)
    if device == "cuda":
        torch.cuda.synchronize()
    seconds, epochs = time.perf_counter() - started, model.metrics["training"]["epochs"]
    mrr = hmem.evaluate(model, dataset, split=given.split, protocols=("all",)).protocols["all"][MRR]
    print(f"{dataset.name} {given.preset}: {given.split} MRR {mrr:.4f} after {seconds:.1f} s, {epochs:.1f} epochs")
    row = {
        "question": "time_to_quality",
        "dataset": dataset.name,
        "preset": given.preset,
        "split": given.split,
        "settings": to_dict(model.config),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "seconds": seconds,
        "epochs": epochs,
        "mrr": mrr,
    }
    keep(row, given.json)


if __name__ == "__main__":
    main()
