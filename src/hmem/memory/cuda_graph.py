"""Functions recorded as CUDA graphs, so that their many small kernels become one launch.

A solve by conjugate gradients is some two hundred kernels of a few microseconds each, and launching one takes as long
as running it. The third call with the same shapes is recorded, and calls after it replay the recording. Results do not
change. Elsewhere than on CUDA, and for shapes that are new, the function is called as usual."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import torch
from torch import Tensor

SIGHTINGS = 3  # how often a shape is seen before it is worth recording
LIMIT = 8  # recordings kept; each holds its own memory


@dataclass(eq=False)
class Recording:
    inputs: list[Tensor]
    outputs: tuple[Tensor, ...]
    graph: "torch.cuda.CUDAGraph"


@dataclass(eq=False)
class Replayed:
    """A function of tensors and constants that returns tensors and never waits for the device."""

    function: Callable[..., tuple[Tensor, ...]]
    sightings: dict[Hashable, int] = field(default_factory=dict)
    recordings: dict[Hashable, Recording] = field(default_factory=dict)

    def __call__(self, *tensors: Tensor, **constants: Hashable) -> tuple[Tensor, ...]:
        if tensors[0].device.type != "cuda" or torch.cuda.is_current_stream_capturing():
            return self.function(*tensors, **constants)
        shapes = tuple((tensor.shape, tensor.dtype, tensor.device) for tensor in tensors)
        key = (shapes, tuple(constants.items()), torch.get_float32_matmul_precision())
        if key not in self.recordings:
            self.sightings[key] = self.sightings.get(key, 0) + 1
            if self.sightings[key] < SIGHTINGS or len(self.recordings) >= LIMIT:
                return self.function(*tensors, **constants)
            self.recordings[key] = self._record(tensors, constants)
        recording = self.recordings[key]
        for kept, given in zip(recording.inputs, tensors, strict=True):
            kept.copy_(given)
        recording.graph.replay()
        return tuple(output.clone() for output in recording.outputs)

    def _record(self, tensors: tuple[Tensor, ...], constants: dict[str, Hashable]) -> Recording:
        inputs = [tensor.clone() for tensor in tensors]
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries choose their kernels and workspaces before the recording
            for _ in range(2):
                self.function(*inputs, **constants)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = self.function(*inputs, **constants)
        return Recording(inputs, outputs, graph)
