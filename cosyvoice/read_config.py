"""From the settings files of a model folder to the records of `config.py`; every value at fault is named."""

from __future__ import annotations

import json
from pathlib import Path

from cosyvoice.config import (
    DitConfig,
    EncoderConfig,
    FlowConfig,
    LmConfig,
    MelConfig,
    ModelConfig,
    QwenConfig,
    SamplingConfig,
    UnetConfig,
    VocoderConfig,
)
from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import Generation, ModelFiles
from cosyvoice.model_yaml import Section, read_model_yaml

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
