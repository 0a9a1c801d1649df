"""What does completing a memory cost, matrix-free against a dense solve?

Forward and backward of the Harmony maximum for a batch of 256 memories: conjugate gradients on the shared matrix
against a batched Cholesky factorisation of every local weight. Times are medians after warm-up, with the device
synchronised; memory is the peak above what the inputs hold (CUDA only).

    python benchmarks/completion_cost_vs_dim.py [--dims 500 1000 2000] [--batch 256] [--json PATH]
"""

import statistics
import time
from collections.abc import Callable

import torch
from common import arguments, keep
from torch import Tensor

from hmem.memory.completion import bound_scale
from hmem.memory.conjugate_gradient import solve, steps_needed
from hmem.memory.harmony import complete, local_weight

STIFFNESS, MARGIN, TOLERANCE = 1.0, 0.25, 1e-6


def inputs(batch: int, dim: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator(device).manual_seed(0)
    memory, filters = (torch.randn(batch, dim, generator=generator, device=device) for _ in range(2))
    weight = torch.randn(dim, dim, generator=generator, device=device) / dim
    return tuple(part.requires_grad_() for part in (memory, filters, (weight + weight.mT).detach() / 2))  # type: ignore[return-value]


def matrix_free(memory: Tensor, filters: Tensor, weight: Tensor) -> Tensor:
    scale = bound_scale(filters, weight, STIFFNESS, MARGIN)
    steps = steps_needed(STIFFNESS, MARGIN, TOLERANCE)
    return solve(STIFFNESS * memory, filters, weight, scale, STIFFNESS, TOLERANCE, steps)[0]


def dense(memory: Tensor, filters: Tensor, weight: Tensor) -> Tensor:
    scale = bound_scale(filters, weight, STIFFNESS, MARGIN)
    return complete(memory, local_weight(filters, weight, scale), torch.zeros_like(memory), STIFFNESS)


def cost(way: Callable[..., Tensor], batch: int, dim: int, device: str, repeats: int) -> dict[str, float]:
    parts = inputs(batch, dim, device)
    seconds = []
    if device == "cuda":
        torch.cuda.empty_cache()
    for turn in range(repeats + 3):
        for part in parts:
            part.grad = None
        if device == "cuda":
            torch.cuda.synchronize()
            if turn == 3:
                torch.cuda.reset_peak_memory_stats()
                held = torch.cuda.memory_allocated()
        started = time.perf_counter()
        way(*parts).square().sum().backward()
        if device == "cuda":
            torch.cuda.synchronize()
        if turn >= 3:
            seconds.append(time.perf_counter() - started)
    peak = (torch.cuda.max_memory_allocated() - held) / 2**30 if device == "cuda" else float("nan")
    return {"milliseconds": 1e3 * statistics.median(seconds), "peak_gib": peak}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--dims", type=int, nargs="+")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dims = given.dims or ([500, 1000, 2000] if device == "cuda" else [100, 250])
    batch = given.batch or (256 if device == "cuda" else 64)
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    for dim in dims:
        parts = inputs(batch, dim, device)
        with torch.no_grad():
            reference = dense(*(part.double() for part in parts))
            found = matrix_free(*parts)
            error = float((found - reference).norm() / reference.norm())
            del reference, found
        free, solved = (cost(way, batch, dim, device, given.repeats) for way in (matrix_free, dense))
        row = {
            "question": "completion_cost_vs_dim",
            "device": name,
            "dim": dim,
            "batch": batch,
            "matrix_free": free,
            "dense": solved,
            "times_faster": solved["milliseconds"] / free["milliseconds"],
            "memory_ratio": solved["peak_gib"] / free["peak_gib"],
            "relative_error": error,
        }
        print(
            f"n={dim:5d}  matrix-free {free['milliseconds']:8.2f} ms {free['peak_gib']:6.2f} GiB   "
            f"dense {solved['milliseconds']:9.2f} ms {solved['peak_gib']:6.2f} GiB   "
            f"{row['times_faster']:6.1f}x faster, {row['memory_ratio']:5.1f}x less memory, error {error:.1e}"
        )
        keep(row, given.json)


if __name__ == "__main__":
    main()
