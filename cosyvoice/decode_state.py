"""What a decode step reads and writes on the device, one row per utterance in flight, at fixed addresses."""

from __future__ import annotations

import torch
from torch import Tensor


class DecodeState:
    """Row-wise state; every change is in place, so a captured graph stays valid as long as the state is used."""

    def __init__(self, rows: int, steps: int, window: int, device: torch.device) -> None:
        self._window, self._device = window, device
        self.token = self._integers(rows)
        """The id drawn last, which the next step feeds in."""
        self.position = self._integers(rows)
        """The column of the cache at which that id will stand."""
        self.step = self._integers(rows)
        """How many ids were drawn."""
        self.minimum = self._integers(rows)
        """No stop before so many ids."""
        self.active = self._integers(rows)
        """1 where an utterance is in flight; other rows stand still, though padded batches compute them too."""
        self.recent = torch.full((rows, window), -1, dtype=torch.int64, device=device)
        self.uniforms = torch.zeros(rows, steps, 2, device=device)

    def resized(self, rows: int, steps: int) -> DecodeState:
        """Return a state with other numbers of rows and of steps that the random numbers reach; what fits is kept."""
        result = DecodeState(rows, steps, self._window, self._device)
        for new, old in zip(result._all(), self._all(), strict=True):
            span = tuple(slice(0, min(a, b)) for a, b in zip(new.shape, old.shape, strict=True))
            new[span] = old[span]
        return result

    def admit(self, row: int, position: int, minimum: int, uniforms: Tensor) -> None:
        """Start an utterance in `row`, whose prompt fills the columns before `position`."""
        self.token[row] = 0
        self.position[row] = position
        self.step[row] = 0
        self.minimum[row] = minimum
        self.active[row] = 1
        self.recent[row] = -1
        self.uniforms[row, : uniforms.shape[0]] = uniforms.to(self._device)

    def release(self, row: int) -> None:
        """Stop a row: from now on it repeats column 0 of its own cache row."""
        for values in (self.token, self.position, self.step, self.minimum, self.active):
            values[row] = 0

    def move(self, source: int, target: int) -> None:
        for values in self._all():
            values[target] = values[source]
        self.release(source)

    def advance(self, rows: Tensor, drawn: Tensor) -> None:
        """Note the ids drawn for `rows` (-1, a failed draw, is fed back as 0)."""
        self.token[rows] = drawn.clamp(min=0)
        self.step[rows] += self.active[rows]
        self.recent[rows] = torch.cat((self.recent[rows][:, 1:], drawn[:, None]), dim=1)

    def _all(self) -> tuple[Tensor, ...]:
        return (self.token, self.position, self.step, self.minimum, self.active, self.recent, self.uniforms)

    def _integers(self, rows: int) -> Tensor:
        return torch.zeros(rows, dtype=torch.int64, device=self._device)
