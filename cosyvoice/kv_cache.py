"""Keys and values of all utterances in flight: one row (slot) each, in blocks of fixed size that are never moved."""

from __future__ import annotations

import torch
from torch import Tensor

from cosyvoice.config import QwenConfig


class KvCache:
    """Per layer keys and values, [rows, kv heads, capacity, head width]."""

    def __init__(self, config: QwenConfig, rows: int, capacity: int, dtype: torch.dtype, device: torch.device) -> None:
        self._shape = (config.kv_heads, config.head_width)
        self._dtype, self._device = dtype, device
        self.rows, self.capacity = rows, capacity
        self.keys = [self._block(rows, capacity) for _ in range(config.layers)]
        self.values = [self._block(rows, capacity) for _ in range(config.layers)]

    def resize(self, rows: int, capacity: int) -> None:
        """Change the number of rows and columns; what fits into the new shape is kept. Old and new exist side by side
        for one layer only."""
        kept_rows, kept_columns = min(rows, self.rows), min(capacity, self.capacity)
        for blocks in (self.keys, self.values):
            for layer, old in enumerate(blocks):
                new = self._block(rows, capacity)
                new[:kept_rows, :, :kept_columns] = old[:kept_rows, :, :kept_columns]
                blocks[layer] = new
        self.rows, self.capacity = rows, capacity

    def move(self, source: int, target: int, columns: int) -> None:
        """Copy the first `columns` of one row over another."""
        for blocks in (self.keys, self.values):
            for block in blocks:
                block[target, :, :columns] = block[source, :, :columns]

    def _block(self, rows: int, capacity: int) -> Tensor:
        heads, width = self._shape
        # Zeros: attention multiplies the unused columns by a weight of 0, and 0 * NaN would be NaN.
        return torch.zeros(rows, heads, capacity, width, dtype=self._dtype, device=self._device)
