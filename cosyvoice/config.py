"""What a model folder says about its networks, as frozen records (`read_config.py` fills them)."""

from __future__ import annotations

from dataclasses import dataclass

from cosyvoice.model_folder import Generation


@dataclass(frozen=True, slots=True)
class QwenConfig:
    """The transformer of the speech language model."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    feed_forward: int
    text_vocabulary: int
    rope_theta: float
    norm_eps: float

    @property
    def head_width(self) -> int:
        return self.width // self.heads


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """Repetition-aware sampling: nucleus of `top_p` and `top_k`, redraw on a repeat within the last `window` ids."""

    top_p: float = 0.8
    top_k: int = 25
    window: int = 10
    repeat_share: float = 0.1


@dataclass(frozen=True, slots=True)
class LmConfig:
    """The speech language model. Ids from `speech_vocabulary` up to `head_rows` all end an utterance."""

    generation: Generation
    qwen: QwenConfig
    speech_vocabulary: int
    sampling: SamplingConfig = SamplingConfig()
    min_token_text_ratio: float = 2.0
    max_token_text_ratio: float = 20.0

    @property
    def head_rows(self) -> int:
        """Rows of the output head and of the speech embedding."""
        return self.speech_vocabulary + (3 if self.generation == 2 else 200)

    @property
    def start_id(self) -> int:
        return 0 if self.generation == 2 else self.speech_vocabulary

    @property
    def task_id(self) -> int:
        return 1 if self.generation == 2 else self.speech_vocabulary + 2


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """The upsampling conformer encoder of CosyVoice 2."""

    width: int
    heads: int
    feed_forward: int
    blocks: int
    up_blocks: int = 4
    up_stride: int = 2


@dataclass(frozen=True, slots=True)
class UnetConfig:
    """The causal U-Net that estimates the flow of CosyVoice 2."""

    in_channels: int
    out_channels: int
    channels: tuple[int, ...]
    head_width: int
    blocks: int
    mid_blocks: int
    heads: int


@dataclass(frozen=True, slots=True)
class DitConfig:
    """The diffusion transformer that estimates the flow of CosyVoice 3."""

    width: int
    depth: int
    heads: int
    head_width: int
    feed_forward_factor: int
    mel_channels: int
    mu_channels: int
    speaker_channels: int
    out_channels: int
    lookahead_channels: int


@dataclass(frozen=True, slots=True)
class FlowConfig:
    """Speech tokens to mel: CosyVoice 2 has an encoder and a U-Net, CosyVoice 3 a diffusion transformer."""

    generation: Generation
    token_width: int
    mel_channels: int
    speaker_width: int
    speech_vocabulary: int
    frames_per_token: int
    lookahead_tokens: int
    guidance: float
    encoder: EncoderConfig | None
    estimator: UnetConfig | DitConfig
    steps: int = 10


@dataclass(frozen=True, slots=True)
class VocoderConfig:
    """Mel to waveform. `lookahead_frames` is None in CosyVoice 2, whose vocoder is not causal."""

    generation: Generation
    mel_channels: int
    base_channels: int
    harmonics: int
    sample_rate_hz: int
    source_amplitude: float
    source_noise: float
    voiced_threshold_hz: float
    upsample_rates: tuple[int, ...]
    upsample_kernels: tuple[int, ...]
    n_fft: int
    hop: int
    block_kernels: tuple[int, ...]
    block_dilations: tuple[tuple[int, ...], ...]
    source_block_kernels: tuple[int, ...]
    source_block_dilations: tuple[tuple[int, ...], ...]
    leaky_slope: float
    audio_limit: float
    f0_channels: int
    lookahead_frames: int | None


@dataclass(frozen=True, slots=True)
class MelConfig:
    """The log-mel of the reference audio, which the flow continues. `top_hz` None: up to half the sample rate."""

    n_fft: int
    hop: int
    window: int
    mels: int
    sample_rate_hz: int
    bottom_hz: float
    top_hz: float | None


@dataclass(frozen=True, slots=True)
class ModelConfig:
    generation: Generation
    sample_rate_hz: int
    token_rate_hz: int
    lm: LmConfig
    flow: FlowConfig
    vocoder: VocoderConfig
    mel: MelConfig
