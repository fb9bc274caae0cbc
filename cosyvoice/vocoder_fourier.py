"""Short-time Fourier transform and its inverse as plain real products, as some devices have no complex numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_MAX_MAGNITUDE = 1e2
_SMALLEST_ENVELOPE = 1e-8


class Fourier(nn.Module):
    """Short-time Fourier transform with a Hann window, and its inverse, as real products."""

    def __init__(self, n_fft: int, hop: int) -> None:
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.tables: tuple[Tensor, Tensor, Tensor] | None = None

    def _tables(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Analysis [n_fft, 2 K], synthesis [2 K, n_fft] and squared window [n_fft]; K = n_fft / 2 + 1 bins."""
        if self.tables is None or self.tables[0].device != device:
            n, bins = self.n_fft, self.n_fft // 2 + 1
            window = torch.hann_window(n, dtype=torch.float64, device="cpu")
            steps = torch.arange(n, dtype=torch.float64, device="cpu")
            angles = 2 * torch.pi * steps[:, None] * torch.arange(bins, dtype=torch.float64, device="cpu") / n
            waves = torch.cat([angles.cos(), -angles.sin()], dim=1)
            # The two bins without a mirror image count once; their imaginary parts are ignored, as sin is zero there.
            share = torch.full((bins,), 2.0 / n, dtype=torch.float64, device="cpu")
            share[0] = share[-1] = 1.0 / n
            back = (waves * share.repeat(2)).t() * window
            tables = (window[:, None] * waves, back, window.square())
            analysis, synthesis, squared = (table.float().to(device) for table in tables)
            self.tables = analysis, synthesis, squared
        return self.tables

    def analyse(self, signal: Tensor, lengths: Sequence[int]) -> Tensor:
        """[B, N] -> real and imaginary parts [B, 2 K, N / hop + 1]; each row is mirrored at its own end."""
        margin = self.n_fft // 2
        place = torch.arange(-margin, signal.shape[1] + margin, device=signal.device)[None].abs()
        last = torch.tensor(lengths, device=signal.device)[:, None] - 1
        place = torch.where(place > last, 2 * last - place, place).clamp(min=0)
        padded = signal.gather(1, place.expand(len(signal), -1))
        frames = padded.unfold(1, self.n_fft, self.hop)
        return (frames @ self._tables(signal.device)[0]).transpose(1, 2)

    def synthesise(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Log-magnitudes and raw phases [B, 2 K, L] -> signal [B, (L - 1) hop]; `mask` [B, 1, L] marks real frames."""
        bins = self.n_fft // 2 + 1
        magnitude = x[:, :bins].exp().clamp(max=_MAX_MAGNITUDE)
        phase = torch.sin(x[:, bins:])
        parts = torch.cat([magnitude * phase.cos(), magnitude * phase.sin()], dim=1).transpose(1, 2)
        _, synthesis, squared = self._tables(x.device)
        frames = parts @ synthesis
        weights = squared.expand(1, x.shape[-1], -1)
        if mask is not None:
            frames, weights = frames * mask.transpose(1, 2), weights * mask.transpose(1, 2)
        envelope = self._overlap_add(weights).clamp(min=_SMALLEST_ENVELOPE)
        return self._overlap_add(frames) / envelope

    def _overlap_add(self, frames: Tensor) -> Tensor:
        """[B, L, n_fft], one every `hop` samples -> [B, (L - 1) hop], half a frame cut off at both ends."""
        count = self.n_fft // self.hop
        pieces = frames.reshape(*frames.shape[:2], count, self.hop)
        total = sum(F.pad(pieces[:, :, piece], (0, 0, piece, count - 1 - piece)) for piece in range(count))
        assert isinstance(total, Tensor)
        margin = self.n_fft // 2
        return total.flatten(1)[:, margin:-margin]
