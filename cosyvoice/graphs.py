"""Replays a decode step of fixed shapes as one CUDA graph. Not checked on hardware yet; other devices run the step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class StepGraphs:
    """One captured graph per (rows, columns). The step must work in place on tensors that stay where they are."""

    def __init__(self, step: Callable[[int, int], Tensor], device: torch.device) -> None:
        self._step, self._device = step, device
        self._seen: set[tuple[int, int]] = set()
        self._captured: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        # One pool for all graphs: what a step works on is free again when its ids are read, before any other step.
        self._pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None

    def run(self, rows: int, columns: int) -> Tensor:
        """Run the step: plainly the first time for a shape (that warms the kernels up), captured from then on. Read the
        result before the next call, which may write over it."""
        shape = (rows, columns)
        if self._device.type != "cuda" or shape not in self._seen:
            self._seen.add(shape)
            return self._step(rows, columns)
        if shape not in self._captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                result = self._step(rows, columns)
            self._captured[shape] = (graph, result)
        graph, result = self._captured[shape]
        graph.replay()
        return result

    def forget(self) -> None:
        """Drop all graphs, because the tensors they point to were replaced."""
        self._seen.clear()
        self._captured.clear()
