"""The vocoder's network: a HiFT generator (Li et al. 2023), convolutions that raise the rate and a short inverse
Fourier transform at the end. CosyVoice 3 has the causal form, with a look-ahead in the first layer only.

Attribute names are the tensor names of the official checkpoints, weight norm folded.
Count at full size, per mel frame: 0.30 G multiply-adds, of which 0.29 in residual blocks; 10 s of audio cost 150 G.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosyvoice.config import VocoderConfig
from cosyvoice.vocoder_fourier import Fourier
from cosyvoice.vocoder_source import F0Predictor, Source

_POST_SLOPE = 0.01


def end_mask(lengths: Sequence[int], device: torch.device) -> Tensor | None:
    """[B, 1, L] with ones up to each length; None if all are equal."""
    longest = max(lengths)
    if min(lengths) == longest:
        return None
    ends = torch.tensor(lengths, device=device)[:, None, None]
    return (torch.arange(longest, device=device) < ends).float()


class HiftNet(nn.Module):
    """The modules of hift.pt under their official names."""

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config = config
        self.causal = causal = config.generation == 3
        base, bins = config.base_channels, config.n_fft + 2
        self.stage_rates = [1]
        for rate in config.upsample_rates:
            self.stage_rates.append(self.stage_rates[-1] * rate)
        self.hop_samples = self.stage_rates[-1] * config.hop
        self.m_source = Source(config, self.hop_samples)
        self.f0_predictor = F0Predictor(config.mel_channels, config.f0_channels, causal)
        lookahead = config.lookahead_frames
        self.conv_pre = (
            _Conv(config.mel_channels, base, 7, "same")
            if lookahead is None
            else _Conv(config.mel_channels, base, lookahead + 1, "right")
        )
        widths = [base // 2**stage for stage in range(len(config.upsample_rates) + 1)]
        side = "left" if causal else "same"
        self.ups = nn.ModuleList()
        self.source_downs = nn.ModuleList()
        self.source_resblocks = nn.ModuleList()
        self.resblocks = nn.ModuleList()
        for stage, (rate, kernel) in enumerate(zip(config.upsample_rates, config.upsample_kernels, strict=True)):
            width = widths[stage + 1]
            self.ups.append((_RepeatUp if causal else _TransposedUp)(widths[stage], width, kernel, rate))
            self.source_downs.append(_Down(bins, width, self.stage_rates[-1] // self.stage_rates[stage + 1], causal))
            kernels = config.source_block_kernels[stage], config.source_block_dilations[stage]
            self.source_resblocks.append(_ResBlock(width, *kernels, side))
            for block in zip(config.block_kernels, config.block_dilations, strict=True):
                self.resblocks.append(_ResBlock(width, *block, side))
        self.conv_post = _Conv(widths[-1], bins, 7, side)
        self.fourier = Fourier(config.n_fft, config.hop)

    def forward(self, mel: Tensor, source: Tensor, lengths: Sequence[int]) -> Tensor:
        """See `Vocoder.decode`."""
        ends = [length * self.stage_rates[-1] + 1 for length in lengths]
        spectrum = self.fourier.analyse(source, [length * self.hop_samples for length in lengths])
        if (mask := end_mask(ends, mel.device)) is not None:
            spectrum = spectrum * mask
        x = self.conv_pre(mel)
        for stage in range(len(self.ups)):
            x = self._stage(stage, x, spectrum, lengths)
        x = F.leaky_relu(x, _POST_SLOPE)
        x = self.conv_post(x if self.causal or mask is None else x * mask)
        return self.fourier.synthesise(x, mask)

    def _stage(self, stage: int, x: Tensor, spectrum: Tensor, lengths: Sequence[int]) -> Tensor:
        """Raise the rate, add the excitation at that rate, and average the residual blocks."""
        # A causal network never looks past an end; the other must find zeros there, before every layer.
        last = stage == len(self.ups) - 1
        ends = [length * self.stage_rates[stage + 1] + last for length in lengths]
        before = None if self.causal else end_mask([length * self.stage_rates[stage] for length in lengths], x.device)
        mask = None if self.causal else end_mask(ends, x.device)
        x = F.leaky_relu(x, self.config.leaky_slope)
        x = self.ups[stage](x if before is None else x * before)
        if last:
            x = torch.cat([x[:, :, 1:2], x], dim=-1)
        x = x + self.source_resblocks[stage](self.source_downs[stage](spectrum), mask)
        count = len(self.config.block_kernels)
        blocks = self.resblocks[stage * count : (stage + 1) * count]
        total = blocks[0](x, mask)
        for block in blocks[1:]:
            total += block(x, mask)
        return total.div_(count)  # type: ignore[no-any-return]


class _Conv(nn.Conv1d):
    """A convolution that keeps the length: `same` pads both sides, `left` only the past, `right` only the future."""

    def __init__(self, inputs: int, outputs: int, kernel: int, side: str, dilation: int = 1) -> None:
        span = (kernel - 1) * dilation
        super().__init__(inputs, outputs, kernel, dilation=dilation, padding=span // 2 if side == "same" else 0)
        self.ends = {"same": (0, 0), "left": (span, 0), "right": (0, span)}[side]

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x, self.ends) if any(self.ends) else x)


class _TransposedUp(nn.ConvTranspose1d):
    def __init__(self, inputs: int, outputs: int, kernel: int, rate: int) -> None:
        super().__init__(inputs, outputs, kernel, rate, padding=(kernel - rate) // 2)


class _RepeatUp(nn.Conv1d):
    """Repeat each frame, then smooth with a convolution that looks back."""

    def __init__(self, inputs: int, outputs: int, kernel: int, rate: int) -> None:
        super().__init__(inputs, outputs, kernel)
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x.repeat_interleave(self.rate, dim=-1), (self.kernel_size[0] - 1, 0)))


class _Down(nn.Conv1d):
    """The excitation's spectrum at a lower rate."""

    def __init__(self, inputs: int, outputs: int, rate: int, causal: bool) -> None:
        kernel = 1 if rate == 1 else 2 * rate
        super().__init__(inputs, outputs, kernel, rate, padding=0 if causal or rate == 1 else rate // 2)
        self.past = rate - 1 if causal else 0

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x, (self.past, 0)) if self.past else x)


class _ResBlock(nn.Module):
    def __init__(self, width: int, kernel: int, dilations: Sequence[int], side: str) -> None:
        super().__init__()
        self.convs1 = nn.ModuleList(_Conv(width, width, kernel, side, dilation) for dilation in dilations)
        self.convs2 = nn.ModuleList(_Conv(width, width, kernel, side) for _ in dilations)
        self.activations1 = nn.ModuleList(_Snake(width) for _ in dilations)
        self.activations2 = nn.ModuleList(_Snake(width) for _ in dilations)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for parts in zip(self.activations1, self.convs1, self.activations2, self.convs2, strict=True):
            y = x
            for layer in parts:
                if mask is not None and isinstance(layer, _Conv):
                    y = y * mask
                y = layer(y)
            x = x + y
        return x


class _Snake(nn.Module):
    """x + sin^2(a x) / a, with one a for each channel (Ziyin et al. 2020)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(channels))

    def forward(self, x: Tensor) -> Tensor:
        alpha = self.alpha[:, None]
        wave = (x * alpha).sin_()
        return torch.addcmul(x, wave.square_(), 1 / (alpha + 1e-9))
