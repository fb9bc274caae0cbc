"""What a model folder says about its networks, as frozen records. Sizes are counts; rates are in Hz."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import Generation, ModelFiles
from cosyvoice.model_yaml import Section, read_model_yaml


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


_CLASSES: dict[Generation, dict[str, str]] = {
    2: {"llm": "Qwen2LM", "flow": "CausalMaskedDiffWithXvec", "hift": "HiFTGenerator"},
    3: {"llm": "CosyVoice3LM", "flow": "CausalMaskedDiffWithDiT", "hift": "CausalHiFTGenerator"},
}


def read_config(files: ModelFiles) -> ModelConfig:
    """Read the settings of a complete model folder. Raises ModelMissing that names the file and the value at fault."""
    settings = Section(files.settings, "", read_model_yaml(files.settings))
    for key, expected in _CLASSES[files.generation].items():
        if (found := settings.section(key).class_name()) != expected:
            raise ModelMissing(f"{files.settings}: {key} must be a {expected}, found {found or 'no class'}.")
    qwen = read_qwen_config(files.text_folder / "config.json")
    return ModelConfig(
        generation=files.generation,
        sample_rate_hz=settings.integer("sample_rate"),
        token_rate_hz=settings.integer("token_frame_rate"),
        lm=_read_lm(settings.section("llm"), qwen, files.generation),
        flow=_read_flow(settings.section("flow"), files.generation),
        vocoder=_read_vocoder(settings.section("hift"), files.generation),
        mel=_read_mel(settings.section("feat_extractor")),
    )


def read_qwen_config(path: Path) -> QwenConfig:
    """Read the transformer's settings from CosyVoice-BlankEN/config.json."""
    try:
        section = Section(path, "", json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ModelMissing(f"{path} is no valid JSON ({error}): download it again.") from error
    section.require("model_type", "qwen2")
    section.require("hidden_act", "silu")
    section.require("tie_word_embeddings", True)
    section.require("use_sliding_window", False)
    config = QwenConfig(
        width=section.integer("hidden_size"),
        layers=section.integer("num_hidden_layers"),
        heads=section.integer("num_attention_heads"),
        kv_heads=section.integer("num_key_value_heads"),
        feed_forward=section.integer("intermediate_size"),
        text_vocabulary=section.integer("vocab_size"),
        rope_theta=section.number("rope_theta"),
        norm_eps=section.number("rms_norm_eps"),
    )
    if config.width % config.heads or config.heads % config.kv_heads:
        raise ModelMissing(
            f"{path}: hidden_size {config.width}, num_attention_heads {config.heads} and num_key_value_heads "
            f"{config.kv_heads} must divide each other."
        )
    return config


def _read_lm(section: Section, qwen: QwenConfig, generation: Generation) -> LmConfig:
    section.require("llm_input_size", qwen.width)
    section.require("llm_output_size", qwen.width)
    section.ignore("length_normalized_loss", "lsm_weight", "mix_ratio", "llm", "spk_embed_dim")
    sampling = section.section("sampling")
    config = LmConfig(
        generation=generation,
        qwen=qwen,
        speech_vocabulary=section.integer("speech_token_size"),
        sampling=SamplingConfig(
            top_p=sampling.number("top_p"),
            top_k=sampling.integer("top_k"),
            window=sampling.integer("win_size"),
            repeat_share=sampling.number("tau_r"),
        ),
    )
    sampling.done()
    section.done()
    return config


def _read_flow(section: Section, generation: Generation) -> FlowConfig:
    section.ignore("output_type", "input_frame_rate", "only_mask_loss", "encoder", "pre_lookahead_layer")
    decoder = section.section("decoder")
    decoder.ignore("in_channels", "n_spks", "spk_emb_dim")
    flow = decoder.section("cfm_params").section("content")
    flow.require("solver", "euler")
    flow.require("t_scheduler", "cosine")
    flow.ignore("sigma_min", "training_cfg_rate", "reg_loss_type")
    estimator = decoder.section("estimator")
    config = FlowConfig(
        generation=generation,
        token_width=section.integer("input_size"),
        mel_channels=section.integer("output_size"),
        speaker_width=section.integer("spk_embed_dim"),
        speech_vocabulary=section.integer("vocab_size"),
        frames_per_token=section.integer("token_mel_ratio"),
        lookahead_tokens=section.integer("pre_lookahead_len"),
        guidance=flow.number("inference_cfg_rate"),
        encoder=_read_encoder(section.section("encoder")) if generation == 2 else None,
        estimator=_read_unet(estimator)
        if generation == 2
        else _read_dit(estimator, section.section("pre_lookahead_layer").integer("channels")),
    )
    for part in (flow, decoder, section):
        part.done()
    return config


def _read_encoder(section: Section) -> EncoderConfig:
    section.require("normalize_before", True)
    section.require("input_layer", "linear")
    section.require("pos_enc_layer_type", "rel_pos_espnet")
    section.require("selfattention_layer_type", "rel_selfattn")
    section.require("use_cnn_module", False)
    section.require("macaron_style", False)
    section.ignore("input_size", "dropout_rate", "positional_dropout_rate", "attention_dropout_rate")
    section.ignore("static_chunk_size", "use_dynamic_chunk", "use_dynamic_left_chunk")
    config = EncoderConfig(
        width=section.integer("output_size"),
        heads=section.integer("attention_heads"),
        feed_forward=section.integer("linear_units"),
        blocks=section.integer("num_blocks"),
    )
    section.done()
    return config


def _read_unet(section: Section) -> UnetConfig:
    section.require("act_fn", "gelu")
    section.require("causal", True)
    section.ignore("dropout", "static_chunk_size", "num_decoding_left_chunks")
    config = UnetConfig(
        in_channels=section.integer("in_channels"),
        out_channels=section.integer("out_channels"),
        channels=section.integers("channels"),
        head_width=section.integer("attention_head_dim"),
        blocks=section.integer("n_blocks"),
        mid_blocks=section.integer("num_mid_blocks"),
        heads=section.integer("num_heads"),
    )
    section.done()
    return config


def _read_dit(section: Section, lookahead_channels: int) -> DitConfig:
    section.ignore("dropout", "static_chunk_size", "num_decoding_left_chunks")
    config = DitConfig(
        width=section.integer("dim"),
        depth=section.integer("depth"),
        heads=section.integer("heads"),
        head_width=section.integer("dim_head"),
        feed_forward_factor=section.integer("ff_mult"),
        mel_channels=section.integer("mel_dim"),
        mu_channels=section.integer("mu_dim"),
        speaker_channels=section.integer("spk_dim"),
        out_channels=section.integer("out_channels"),
        lookahead_channels=lookahead_channels,
    )
    section.done()
    return config


def _read_vocoder(section: Section, generation: Generation) -> VocoderConfig:
    stft = section.section("istft_params")
    f0 = section.section("f0_predictor")
    f0.require("num_class", 1)
    config = VocoderConfig(
        generation=generation,
        mel_channels=section.integer("in_channels"),
        base_channels=section.integer("base_channels"),
        harmonics=section.integer("nb_harmonics"),
        sample_rate_hz=section.integer("sampling_rate"),
        source_amplitude=section.number("nsf_alpha"),
        source_noise=section.number("nsf_sigma"),
        voiced_threshold_hz=section.number("nsf_voiced_threshold"),
        upsample_rates=section.integers("upsample_rates"),
        upsample_kernels=section.integers("upsample_kernel_sizes"),
        n_fft=stft.integer("n_fft"),
        hop=stft.integer("hop_len"),
        block_kernels=section.integers("resblock_kernel_sizes"),
        block_dilations=section.integer_rows("resblock_dilation_sizes"),
        source_block_kernels=section.integers("source_resblock_kernel_sizes"),
        source_block_dilations=section.integer_rows("source_resblock_dilation_sizes"),
        leaky_slope=section.number("lrelu_slope"),
        audio_limit=section.number("audio_limit"),
        f0_channels=f0.integer("cond_channels"),
        lookahead_frames=section.integer("conv_pre_look_right") if generation == 3 else None,
    )
    section.done()
    return config


def _read_mel(section: Section) -> MelConfig:
    section.require("center", False)
    config = MelConfig(
        n_fft=section.integer("n_fft"),
        hop=section.integer("hop_size"),
        window=section.integer("win_size"),
        mels=section.integer("num_mels"),
        sample_rate_hz=section.integer("sampling_rate"),
        bottom_hz=section.number("fmin"),
        top_hz=section.optional_number("fmax"),
    )
    section.done()
    return config
