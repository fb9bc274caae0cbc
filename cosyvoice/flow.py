"""Speech tokens to mel: embed, look ahead, and integrate the flow from noise in a few Euler steps.

Conditional flow matching with classifier-free guidance (Lipman et al. 2023; Ho & Salimans 2022) as CosyVoice 2 and 3
(Du et al. 2024, 2025) use it. Two habits of the reference are part of its sound: the noise is one fixed tensor for
every utterance, whose frame 0 meets the first frame of the reference audio, and the time is summed up step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosyvoice.config import DitConfig, FlowConfig, UnetConfig
from cosyvoice.flow_attention import Frames
from cosyvoice.flow_dit import DitEstimator
from cosyvoice.flow_encoder import LookaheadLayer, UpsamplingEncoder
from cosyvoice.flow_unet import UnetEstimator
from cosyvoice.packed_layers import own_tensors, pack_linears
from cosyvoice.weights import load_strict

MAX_FRAMES = 15_000
"""Frames of the fixed noise, 300 s: reference and utterance together must fit."""
_NOISE_SEED = 0
_LENGTHS_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class FlowRequest:
    """One utterance for the flow; all tensors on the CPU."""

    tokens: Tensor
    """Speech tokens to be spoken [S], whole numbers."""
    prompt_tokens: Tensor
    """Speech tokens of the reference audio [P]; P = 0 if there is none."""
    prompt_mel: Tensor
    """Log-mel of the reference audio [2 P, 80], fp32."""
    embedding: Tensor
    """Speaker vector [192], as it comes from the speaker model."""
    final: bool = True
    """False: the last tokens are look-ahead only and give no frames."""

    def frames(self, per_token: int = 2) -> int:
        """Frames that the solver works on, reference included."""
        return per_token * (len(self.tokens) + len(self.prompt_tokens))


class Flow:
    """The loaded flow of one model on one device."""

    def __init__(
        self, config: FlowConfig, net: FlowNet, device: torch.device, dtype: torch.dtype, *, int8: bool = False
    ) -> None:
        """Takes `net` apart: what runs once per utterance is packed in fp32, the estimator in `dtype` or `int8`."""
        self.config, self.device, self.dtype = config, device, dtype
        times, self.widths = euler_times(config.steps)
        self.estimator = net.decoder.estimator
        del net.decoder
        self.estimator.prepare(times, dtype, int8=int8)
        pack_linears(net, torch.float32)
        self.front = net
        own_tensors(self.front)
        own_tensors(self.estimator)
        self._noise = fixed_noise(config.mel_channels).to(device)
        self._first_steps: dict[int, Tensor] = {}

    @classmethod
    def build(
        cls,
        config: FlowConfig,
        state: Mapping[str, Tensor],
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        *,
        int8: bool = False,
    ) -> Flow:
        """Take the tensors of flow.pt. `dtype` is what the estimator's large layers compute in; its residuals, its
        norms, the solver and everything before the estimator stay in fp32. `int8` (CPU only) multiplies its largest
        layers in 8 bits and returns them in `dtype`. The given tensors are not changed.
        Raises ModelMissing if the tensors do not fit."""
        with torch.device("meta"):
            net = FlowNet(config)
        load_strict(net, state, "flow.pt")
        return cls(config, net.requires_grad_(False).eval().to(device), device, dtype, int8=int8)

    def mel(self, requests: Sequence[FlowRequest]) -> list[Tensor]:
        """The mel [80, M] of every request, fp32 on the flow's device, the reference cut off.

        A request's mel does not depend on the others. On the CPU the requests run one by one: products of some hundred
        frames are as fast as larger ones there, and padding would only cost.
        Raises ValueError for a request without tokens, with an impossible token, or that does not fit.
        """
        if self.device.type == "cpu":
            return [self.mel_padded([request])[0] for request in requests]
        return self.mel_padded(requests)

    @torch.inference_mode()
    def mel_padded(self, requests: Sequence[FlowRequest]) -> list[Tensor]:
        """As `mel`, in one padded batch with exact masks. Lengths should be close; see `batches.py`."""
        for request in requests:
            self._check(request)
        speakers = self.speakers(torch.stack([request.embedding for request in requests]))
        mu, frames = self.encode(requests)
        reference = torch.zeros_like(mu)
        for row, request in enumerate(requests):
            reference[row, : len(request.prompt_mel)] = request.prompt_mel.to(self.device)
        mel = self.solve(mu, speakers, reference, frames)
        return [
            mel[row, len(request.prompt_mel) : frames.lengths[row]].t().contiguous()
            for row, request in enumerate(requests)
        ]

    def speakers(self, embeddings: Tensor) -> Tensor:
        """[B, 192] -> [B, 80]."""
        unit = F.normalize(embeddings.to(self.device, torch.float32), dim=1)
        return self.front.spk_embed_affine_layer(unit)  # type: ignore[no-any-return]

    def encode(self, requests: Sequence[FlowRequest]) -> tuple[Tensor, Frames]:
        """The condition mu [B, M, 80] from reference and utterance tokens, and which of its frames are real."""
        final = requests[0].final
        if any(request.final != final for request in requests):
            raise ValueError("requests with and without `final` cannot share a batch")
        rows = [torch.cat([request.prompt_tokens, request.tokens]).long() for request in requests]
        tokens = Frames.of([len(row) for row in rows], self.device)
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True).to(self.device)
        mu = self.front.project(self.front.hidden(ids, tokens, final))
        cut = 0 if final else self.config.lookahead_tokens
        lengths = [self.config.frames_per_token * (length - cut) for length in tokens.lengths]
        return mu, Frames.of(lengths, self.device)

    def solve(self, mu: Tensor, speakers: Tensor, reference: Tensor, frames: Frames) -> Tensor:
        """Integrate from the fixed noise: [B, M, 80] -> [B, M, 80], padded frames arbitrary."""
        batch, length, channels = mu.shape
        x = self._noise[:length].expand(batch, -1, -1)
        inputs = guidance_pair(self.estimator.arrange(mu, speakers, reference))
        pair, strength = frames.twice(), self.config.guidance
        for step, width in enumerate(self.widths):
            inputs[..., :channels] = x.repeat(2, 1, 1)
            if step == 0 and batch == 1 and self.device.type == "cpu":
                guided, free = self.estimator(inputs[:1], step, frames), self._first_unguided(inputs[1:], frames)
            else:
                guided, free = self.estimator(inputs, step, pair).chunk(2)
            x = x + width * ((1 + strength) * guided - strength * free)
        return x

    def _first_unguided(self, inputs: Tensor, frames: Frames) -> Tensor:
        """The unguided velocity of the first step: noise alone, so it depends on the length only and is remembered.

        Saves a twentieth of the work on every length met before. It is computed apart from the guided row even when it
        is new, so that the result is the same to the last bit either way.
        """
        (length,) = frames.lengths
        found = self._first_steps.pop(length, None)
        if found is None:
            found = self.estimator(inputs, 0, frames)
        self._first_steps[length] = found
        if len(self._first_steps) > _LENGTHS_REMEMBERED:
            del self._first_steps[next(iter(self._first_steps))]
        return found

    def _check(self, request: FlowRequest) -> None:
        per_token = self.config.frames_per_token
        kept = len(request.tokens) - (0 if request.final else self.config.lookahead_tokens)
        if kept < 1:
            raise ValueError(f"the flow needs at least one speech token that gives frames, found {len(request.tokens)}")
        if len(request.prompt_mel) != per_token * len(request.prompt_tokens):
            raise ValueError(
                f"reference mel has {len(request.prompt_mel)} frames, expected {per_token} for each of the "
                f"{len(request.prompt_tokens)} reference tokens"
            )
        if request.frames(per_token) > MAX_FRAMES:
            raise ValueError(
                f"{request.frames(per_token)} frames with the reference, at most {MAX_FRAMES} are possible"
            )
        ids = torch.cat([request.prompt_tokens, request.tokens])
        for token in (int(ids.min()), int(ids.max())):
            if not 0 <= token < self.config.speech_vocabulary:
                raise ValueError(
                    f"speech token {token} does not exist, the last is {self.config.speech_vocabulary - 1}"
                )


class FlowNet(nn.Module):
    """The modules of flow.pt under their official names."""

    def __init__(self, config: FlowConfig) -> None:
        super().__init__()
        mels = config.mel_channels
        self.frames_per_token = config.frames_per_token
        self.input_embedding = nn.Embedding(config.speech_vocabulary, config.token_width)
        self.spk_embed_affine_layer: nn.Module = nn.Linear(config.speaker_width, mels)
        if config.encoder is not None:
            self.encoder = UpsamplingEncoder(config.encoder, config.token_width, config.lookahead_tokens)
            self.encoder_proj: nn.Module = nn.Linear(config.encoder.width, mels)
        estimator = config.estimator
        if isinstance(estimator, DitConfig):
            hidden = estimator.lookahead_channels
            self.pre_lookahead_layer = LookaheadLayer(config.token_width, hidden, config.lookahead_tokens)
        self.decoder = _Decoder(estimator)

    def hidden(self, ids: Tensor, frames: Frames, final: bool) -> Tensor:
        """Token ids [B, S] -> the encoder's frames [B, 2 S, D] (CosyVoice 2), or tokens [B, S, 80] (CosyVoice 3)."""
        tokens = self.input_embedding(ids)
        if hasattr(self, "encoder"):
            return self.encoder(tokens, frames, final)  # type: ignore[no-any-return]
        hidden: Tensor = self.pre_lookahead_layer(tokens, frames)
        return hidden if final else hidden[:, : -self.pre_lookahead_layer.lookahead]

    def project(self, hidden: Tensor) -> Tensor:
        """What `hidden` returns -> mu [B, M, 80]."""
        if hasattr(self, "encoder"):
            return self.encoder_proj(hidden)  # type: ignore[no-any-return]
        return hidden.repeat_interleave(self.frames_per_token, dim=1)


def guidance_pair(guided: Tensor) -> Tensor:
    """Below the guided rows [B, M, C], the same number of rows without any guide."""
    return torch.cat([guided, torch.zeros_like(guided)])


class _Decoder(nn.Module):
    def __init__(self, config: UnetConfig | DitConfig) -> None:
        super().__init__()
        self.estimator = DitEstimator(config) if isinstance(config, DitConfig) else UnetEstimator(config)


def euler_times(steps: int) -> tuple[list[float], list[float]]:
    """Time and width of every step: cosine schedule, in fp32 like the reference, the time summed up from the widths."""
    schedule = 1 - torch.cos(torch.linspace(0, 1, steps + 1) * 0.5 * torch.pi)
    time, times, widths = schedule[0], [], []
    for following in schedule[1:]:
        times.append(float(time))
        widths.append(float(following - time))
        time = time + (following - time)
    return times, widths


def fixed_noise(channels: int) -> Tensor:
    """The reference's start noise [15000, channels], drawn channel by channel; no global random state is touched."""
    generator = torch.Generator().manual_seed(_NOISE_SEED)
    return torch.randn(channels, MAX_FRAMES, generator=generator).t().contiguous()


def change_speed(mel: Tensor, speed: float) -> Tensor:
    """Stretch a mel [80, M] along time to int(M / speed) frames by linear interpolation; 2.0 halves the duration."""
    if speed == 1.0:
        return mel
    return F.interpolate(mel[None], size=max(1, int(mel.shape[-1] / speed)), mode="linear")[0]
