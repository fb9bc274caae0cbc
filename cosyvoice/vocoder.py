"""Mel to waveform for many utterances, each as if it were alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from cosyvoice.config import VocoderConfig
from cosyvoice.packed_layers import own_tensors
from cosyvoice.vocoder_net import HiftNet, end_mask
from cosyvoice.vocoder_source import FixedNoise
from cosyvoice.weights import fold_weight_norm, load_strict


class Vocoder:
    """The loaded vocoder of one model on one device, in fp32."""

    def __init__(self, config: VocoderConfig, net: HiftNet, device: torch.device, noise: FixedNoise | None) -> None:
        self.config, self.net, self.device = config, net, device
        self._noise = noise

    @classmethod
    def build(
        cls,
        config: VocoderConfig,
        state: Mapping[str, Tensor],
        device: torch.device,
        noise_generator: torch.Generator | None = None,
    ) -> Vocoder:
        """Take the tensors of hift.pt, weight norm folded or in either spelling.

        `noise_generator` replaces the official start of CosyVoice 3's fixed noise. Raises ModelMissing if the tensors
        do not fit.
        """
        if config.generation == 3 and device.type == "cpu":
            # As in the reference. Other devices lack float64; in fp32 the pitch moves by 0.0003 Hz (measured).
            state = {k: v.double() if k.startswith("f0_predictor.") else v for k, v in state.items()}
        with torch.device("meta"):
            net = HiftNet(config)
        load_strict(net, fold_weight_norm(state), "hift.pt")
        own_tensors(net.requires_grad_(False).eval().to(device))
        return cls(config, net, device, FixedNoise(net.m_source, noise_generator) if config.generation == 3 else None)

    def waveform(self, mels: Sequence[Tensor], seeds: Sequence[int]) -> list[Tensor]:
        """mels [80, M] -> waveforms [N], fp32 on the vocoder's device, within the model's audio limit.

        `seeds` start each utterance's noise (CosyVoice 2; unused in CosyVoice 3). An utterance's waveform does not
        depend on the others. On the CPU they run one by one, as padding would only cost. Raises ValueError for a mel
        without frames.
        """
        if self.device.type == "cpu":
            return [self.waveform_padded([mel], [seed])[0] for mel, seed in zip(mels, seeds, strict=True)]
        return self.waveform_padded(mels, seeds)

    @torch.inference_mode()
    def waveform_padded(self, mels: Sequence[Tensor], seeds: Sequence[int]) -> list[Tensor]:
        """As `waveform`, in one padded batch whose edges are those of each utterance alone."""
        lengths = [mel.shape[1] for mel in mels]
        if 0 in lengths:
            raise ValueError("a mel without frames has no waveform")
        mel = nn.utils.rnn.pad_sequence([mel.to(self.device).t() for mel in mels], batch_first=True).transpose(1, 2)
        f0 = self.f0(mel, lengths)
        source = self.net.m_source(f0, self._noises(lengths, seeds), end_mask(lengths, self.device))
        waves = self.decode(mel, source, lengths)
        hop = self.net.hop_samples
        return [wave[: length * hop] for wave, length in zip(waves, lengths, strict=True)]

    def f0(self, mel: Tensor, lengths: Sequence[int]) -> Tensor:
        """[B, 80, M] -> pitch [B, M] in Hz, fp32."""
        return self.net.f0_predictor(mel, end_mask(lengths, self.device)).float()  # type: ignore[no-any-return]

    def decode(self, mel: Tensor, source: Tensor, lengths: Sequence[int]) -> Tensor:
        """mel [B, 80, M], zero past each end, and excitation [B, N] -> waveform [B, N], arbitrary past each end."""
        limit = self.config.audio_limit
        return self.net(mel, source, lengths).clamp(-limit, limit)  # type: ignore[no-any-return]

    def _noises(self, lengths: Sequence[int], seeds: Sequence[int]) -> Tensor:
        samples = [length * self.net.hop_samples for length in lengths]
        if self._noise is not None:
            return self._noise.first(max(samples)).expand(len(samples), -1)
        rows = [self.net.m_source.normal_noise(count, seed) for count, seed in zip(samples, seeds, strict=True)]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True)
