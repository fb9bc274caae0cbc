"""The vocoder's excitation: pitch from the mel, then sines of pitch and harmonics with noise, merged into one signal.

A neural source-filter model (Wang et al. 2019) as in HiFTNet (Li et al. 2023). CosyVoice 2 moves the phase linearly
between frames and draws fresh normal noise; CosyVoice 3 holds the phase within a frame and reads a fixed uniform noise
that the reference draws when it builds the network and stores nowhere.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosyvoice.config import VocoderConfig

MAX_SAMPLES = 300 * 24_000
"""Length of the reference's fixed noise in CosyVoice 3."""
_NOISE_BLOCK = 24_000

# What the reference draws from its generator (seed 0) before the noise, in numbers: the flow's start noise, its token
# embedding, its speaker layer; then the pitch predictor's convolutions and its last layer; then nine unused phases.
# The flow's own noise and embedding are normal draws of a multiple of 16, which take one number each.
_DRAWN_BEFORE = 80 * 15_000 + 6561 * 80 + (192 + 1) * 80 + (80 * 4 + 1) * 512 + 4 * (512 * 3 + 1) * 512 + (512 + 1) + 9


class F0Predictor(nn.Module):
    """mel [B, 80, M] -> pitch in Hz [B, M]. The causal form sees three frames to the right, in its first layer."""

    _LOOKAHEAD = 3

    def __init__(self, mels: int, width: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        kernels = [self._LOOKAHEAD + 1 if causal else 3, 3, 3, 3, 3]
        layers: list[nn.Module] = []
        for number, kernel in enumerate(kernels):
            layers += [nn.Conv1d(mels if number == 0 else width, width, kernel), nn.ELU()]
        self.condnet = nn.Sequential(*layers)
        self.classifier = nn.Linear(width, 1)

    def forward(self, mel: Tensor, mask: Tensor | None) -> Tensor:
        """`mask` [B, 1, M] marks the real frames of a padded batch; frames past the end count as zero."""
        x = mel.to(self.classifier.weight.dtype)
        for number in range(0, len(self.condnet), 2):
            if mask is not None:
                x = x * mask
            x = F.elu(self.condnet[number](F.pad(x, self._padding(number))))
        return self.classifier(x.transpose(1, 2)).squeeze(-1).abs()  # type: ignore[no-any-return]

    def _padding(self, layer: int) -> tuple[int, int]:
        if not self.causal:
            return (1, 1)
        return (0, self._LOOKAHEAD) if layer == 0 else (2, 0)


class Source(nn.Module):
    """Pitch [B, M] -> excitation [B, N], N samples = M frames x `hop_samples`."""

    def __init__(self, config: VocoderConfig, hop_samples: int) -> None:
        super().__init__()
        self.config, self.hop_samples = config, hop_samples
        self.l_linear = nn.Linear(config.harmonics + 1, 1)

    def forward(self, f0: Tensor, noise: Tensor, mask: Tensor | None) -> Tensor:
        """`noise` [B, N] is already merged over the harmonics, see `merge`."""
        config = self.config
        if mask is not None:
            f0 = f0 * mask[:, 0]
        voiced = (f0 > config.voiced_threshold_hz).float().repeat_interleave(self.hop_samples, dim=1)
        amplitude = voiced * config.source_noise + (1 - voiced) * config.source_amplitude / 3
        tones = config.source_amplitude * self._tones(f0)
        excitation: Tensor = voiced * tones + amplitude * noise + self.l_linear.bias
        return excitation.tanh()

    def merge(self, noise: Tensor) -> Tensor:
        """Noise of each harmonic [..., H] -> [...], with the weights that merge the sines."""
        return noise @ self.l_linear.weight[0]

    def normal_noise(self, samples: int, seed: int) -> Tensor:
        """Merged normal noise [N] of one utterance: a weighted sum of H normal numbers is one of the right width."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(samples, generator=generator).to(self.l_linear.weight.device)
        return noise * self.l_linear.weight.norm()  # type: ignore[no-any-return]

    def _tones(self, f0: Tensor) -> Tensor:
        """Merged sines of pitch and harmonics [B, N]."""
        phase, advance = self._phases(f0)
        weight = self.l_linear.weight[0]
        if self.config.generation == 3:
            return (torch.sin(2 * torch.pi * phase) @ weight).repeat_interleave(self.hop_samples, dim=1)
        # From the middle of each frame to the middle of the next; before the first middle and past the last it stands.
        between = (torch.arange(self.hop_samples, device=f0.device) + 0.5) / self.hop_samples
        following = F.pad(advance[:, 1:], (0, 0, 0, 1))
        cycles = phase[:, :, None] + between[:, None] * following[:, :, None]
        merged = (torch.sin(2 * torch.pi * cycles) @ weight).flatten(1)
        half = self.hop_samples // 2
        first = (torch.sin(2 * torch.pi * phase[:, 0]) @ weight)[:, None].expand(-1, half)
        return torch.cat([first, merged[:, : merged.shape[1] - half]], dim=1)

    def _phases(self, f0: Tensor) -> tuple[Tensor, Tensor]:
        """Phase at every frame and what it advanced since the last, in cycles [B, M, H].

        Summed in float64 on the CPU and wrapped: in fp32 a minute of speech would blur the upper harmonics.
        """
        harmonics = torch.arange(1, self.config.harmonics + 2, dtype=torch.float64)
        turns = (f0.detach().cpu().double()[:, :, None] * harmonics / self.config.sample_rate_hz) % 1
        advance = turns * self.hop_samples
        phase = advance.cumsum(1) % 1
        return phase.float().to(f0.device), advance.float().to(f0.device)


class FixedNoise:
    """The fixed noise of CosyVoice 3, merged over the harmonics; grows as longer utterances come.

    Uniform numbers are drawn one by one, so the front of the reference's tensor comes without drawing the rest.
    """

    def __init__(self, source: Source, generator: torch.Generator | None = None) -> None:
        """`generator` stands where the reference's stands before it draws the noise; default: seed 0, the official
        construction order."""
        self._source = source
        self._harmonics = source.config.harmonics + 1
        if generator is None:
            generator = torch.Generator().manual_seed(0)
            torch.empty(_DRAWN_BEFORE).uniform_(generator=generator)
        self._generator = generator
        self._merged = torch.empty(0)

    def first(self, samples: int) -> Tensor:
        """[N], on the source's device. Raises ValueError past the reference's length."""
        if samples > MAX_SAMPLES:
            raise ValueError(f"{samples} samples; the fixed noise has {MAX_SAMPLES}")
        device = self._source.l_linear.weight.device
        missing = -(-(samples - len(self._merged)) // _NOISE_BLOCK)
        # Always merged in blocks of one size: the last bits of a product depend on its size.
        blocks = [torch.rand(_NOISE_BLOCK, self._harmonics, generator=self._generator) for _ in range(missing)]
        if blocks:
            grown = [self._source.merge(block.to(device)) for block in blocks]
            self._merged = torch.cat([self._merged.to(device), *grown])
        return self._merged[:samples]
