"""The small files of a model folder in the official layout, to build checkpoints with random weights.

`tiny` has the sizes of the parity models, `full` those of the official ones. The byte-pair vocabulary is a small one of
its own (every byte and a few merges), and the two ONNX networks only have the right inputs and outputs.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

Size = Literal["tiny", "full"]

_LM: dict[str, dict[str, int]] = {
    "tiny": {"width": 64, "layers": 3, "heads": 4, "kv_heads": 2, "feed_forward": 160, "vocabulary": 1024, "ids": 200},
    "full": {
        "width": 896,
        "layers": 24,
        "heads": 14,
        "kv_heads": 2,
        "feed_forward": 4864,
        "vocabulary": 151_936,
        "ids": 6561,
    },
}
_FLOW2: dict[str, dict[str, int]] = {
    "tiny": {"width": 64, "heads": 4, "ff": 128, "blocks": 2, "channels": 48, "head": 16, "n": 2, "mid": 2, "h": 4},
    "full": {"width": 512, "heads": 8, "ff": 2048, "blocks": 6, "channels": 256, "head": 64, "n": 4, "mid": 12, "h": 8},
}
_FLOW3: dict[str, dict[str, int]] = {
    "tiny": {"lookahead": 96, "dim": 64, "depth": 3, "heads": 4, "head": 16},
    "full": {"lookahead": 1024, "dim": 1024, "depth": 22, "heads": 16, "head": 64},
}
_VOCODER: dict[str, dict[str, int]] = {"tiny": {"base": 64, "f0": 32}, "full": {"base": 512, "f0": 512}}
_OWN_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def settings_yaml(generation: int, size: Size) -> str:
    """Return the text of cosyvoice2.yaml or cosyvoice3.yaml, with the tags and references of the official files."""
    lm = _LM[size]
    names = {
        2: ("Qwen2LM", "HiFTGenerator", "ConvRNNF0Predictor"),
        3: ("CosyVoice3LM", "CausalHiFTGenerator", "CausalConvRNNF0Predictor"),
    }
    lm_class, vocoder_class, f0_class = names[generation]
    return f"""\
__set_seed1: !apply:random.seed [1986]
sample_rate: 24000
spk_embed_dim: 192
qwen_pretrain_path: ''
token_frame_rate: 25
token_mel_ratio: 2
chunk_size: 25
num_decoding_left_chunks: -1
llm: !new:cosyvoice.llm.llm.{lm_class}
    llm_input_size: {lm["width"]}
    llm_output_size: {lm["width"]}
    speech_token_size: {lm["ids"]}
    length_normalized_loss: True
    lsm_weight: 0
    mix_ratio: [5, 15]
    llm: !new:cosyvoice.llm.llm.Qwen2Encoder
        pretrain_path: !ref <qwen_pretrain_path>
    sampling: !name:cosyvoice.utils.common.ras_sampling
        top_p: 0.8
        top_k: 25
        win_size: 10
        tau_r: 0.1
{_flow2(size, lm["ids"]) if generation == 2 else _flow3(size, lm["ids"])}
    decoder: !new:cosyvoice.flow.flow_matching.CausalConditionalCFM
        in_channels: 240
        n_spks: 1
        spk_emb_dim: 80
        cfm_params: !new:omegaconf.DictConfig
            content:
                sigma_min: 1e-06
                solver: 'euler'
                t_scheduler: 'cosine'
                training_cfg_rate: 0.2
                inference_cfg_rate: 0.7
                reg_loss_type: 'l1'
{_unet(size) if generation == 2 else _dit(size)}
            static_chunk_size: !ref <chunk_size> * <token_mel_ratio>
            num_decoding_left_chunks: !ref <num_decoding_left_chunks>
hift: !new:cosyvoice.hifigan.generator.{vocoder_class}
    in_channels: 80
    base_channels: {_VOCODER[size]["base"]}
    nb_harmonics: 8
    sampling_rate: !ref <sample_rate>
    nsf_alpha: 0.1
    nsf_sigma: 0.003
    nsf_voiced_threshold: 10
    upsample_rates: [8, 5, 3]
    upsample_kernel_sizes: [16, 11, 7]
    istft_params:
        n_fft: 16
        hop_len: 4
    resblock_kernel_sizes: [3, 7, 11]
    resblock_dilation_sizes: [[1, 3, 5], [1, 3, 5], [1, 3, 5]]
    source_resblock_kernel_sizes: [7, 7, 11]
    source_resblock_dilation_sizes: [[1, 3, 5], [1, 3, 5], [1, 3, 5]]
    lrelu_slope: 0.1
    audio_limit: 0.99
{"    conv_pre_look_right: 4" if generation == 3 else ""}
    f0_predictor: !new:cosyvoice.hifigan.f0_predictor.{f0_class}
        num_class: 1
        in_channels: 80
        cond_channels: {_VOCODER[size]["f0"]}
feat_extractor: !name:matcha.utils.audio.mel_spectrogram
    n_fft: 1920
    num_mels: 80
    sampling_rate: !ref <sample_rate>
    hop_size: 480
    win_size: 1920
    fmin: 0
    fmax: {8000 if generation == 2 else "null"}
    center: False
data_pipeline: [!ref <feat_extractor>]
"""


def write_text_folder(folder: Path, size: Size) -> None:
    """Write CosyVoice-BlankEN: transformer settings and a byte-level vocabulary with a few merges."""
    lm = _LM[size]
    folder.mkdir(parents=True, exist_ok=True)
    qwen = {
        "model_type": "qwen2",
        "hidden_act": "silu",
        "hidden_size": lm["width"],
        "num_hidden_layers": lm["layers"],
        "num_attention_heads": lm["heads"],
        "num_key_value_heads": lm["kv_heads"],
        "intermediate_size": lm["feed_forward"],
        "vocab_size": lm["vocabulary"],
        "rope_theta": 1000000.0,
        "rms_norm_eps": 1e-06,
        "tie_word_embeddings": True,
        "use_sliding_window": False,
    }
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    entries = [chr(byte) for byte in plain] + [chr(256 + index) for index in range(256 - len(plain))]
    merges = [("t", "h"), ("th", "e"), ("i", "n"), ("in", "g"), ("Ġ", "the"), ("o", "n")]
    entries += [left + right for left, right in merges]
    own = {str(len(entries) + index): {"content": token} for index, token in enumerate(_OWN_TOKENS)}
    (folder / "config.json").write_text(json.dumps(qwen), encoding="utf-8")
    vocabulary = {entry: index for index, entry in enumerate(entries)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    (folder / "merges.txt").write_text("".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": own}), encoding="utf-8")


def speech_tokenizer_onnx(vocabulary: int) -> bytes:
    """A network with the speech tokenizer's face: features [1, 128, T] and their length to ids [1, ceil(T / 4)].

    An id follows from the loudest mel value of its four frames, so different audio gives different ids.
    """
    nodes = [
        _node("ReduceMean", ["feats"], ["level"], axes=[1], keepdims=1),
        _node("MaxPool", ["level"], ["pooled"], kernel_shape=[4], strides=[4], ceil_mode=1),
        _node("Abs", ["pooled"], ["size"]),
        _node("Mul", ["size", "scale"], ["scaled"]),
        _node("Cast", ["scaled"], ["whole"], to=7),
        _node("Mod", ["whole", "vocabulary"], ["wrapped"]),
        _node("Squeeze", ["wrapped"], ["indices"], axes=[1]),
    ]
    constants = [_tensor("scale", np.float32(997.0)), _tensor("vocabulary", np.int64(vocabulary))]
    inputs = [_value("feats", 1, (1, 128, "T")), _value("feats_length", 6, (1,))]
    return _model(nodes, constants, inputs, [_value("indices", 7, (1, "S"))])


def speaker_encoder_onnx() -> bytes:
    """A network with the speaker encoder's face: filter bank [1, T, 80] to an embedding [1, 192]."""
    weight = np.random.default_rng(0).standard_normal((80, 192)).astype(np.float32)
    nodes = [
        _node("Abs", ["input"], ["size"]),
        _node("ReduceMean", ["size"], ["mean"], axes=[1], keepdims=0),
        _node("MatMul", ["mean", "weight"], ["output"]),
    ]
    inputs, outputs = [_value("input", 1, (1, "T", 80))], [_value("output", 1, (1, 192))]
    return _model(nodes, [_tensor("weight", weight)], inputs, outputs)


def _flow2(size: Size, ids: int) -> str:
    f = _FLOW2[size]
    return f"""\
flow: !new:cosyvoice.flow.flow.CausalMaskedDiffWithXvec
    input_size: {f["width"]}
    output_size: 80
    spk_embed_dim: !ref <spk_embed_dim>
    output_type: 'mel'
    vocab_size: {ids}
    input_frame_rate: !ref <token_frame_rate>
    only_mask_loss: True
    token_mel_ratio: !ref <token_mel_ratio>
    pre_lookahead_len: 3
    encoder: !new:cosyvoice.transformer.upsample_encoder.UpsampleConformerEncoder
        output_size: {f["width"]}
        attention_heads: {f["heads"]}
        linear_units: {f["ff"]}
        num_blocks: {f["blocks"]}
        dropout_rate: 0.1
        positional_dropout_rate: 0.1
        attention_dropout_rate: 0.1
        normalize_before: True
        input_layer: 'linear'
        pos_enc_layer_type: 'rel_pos_espnet'
        selfattention_layer_type: 'rel_selfattn'
        input_size: {f["width"]}
        use_cnn_module: False
        macaron_style: False
        static_chunk_size: !ref <chunk_size>"""


def _flow3(size: Size, ids: int) -> str:
    return f"""\
flow: !new:cosyvoice.flow.flow.CausalMaskedDiffWithDiT
    input_size: 80
    output_size: 80
    spk_embed_dim: !ref <spk_embed_dim>
    output_type: 'mel'
    vocab_size: {ids}
    input_frame_rate: !ref <token_frame_rate>
    only_mask_loss: True
    token_mel_ratio: !ref <token_mel_ratio>
    pre_lookahead_len: 3
    pre_lookahead_layer: !new:cosyvoice.transformer.upsample_encoder.PreLookaheadLayer
        in_channels: 80
        channels: {_FLOW3[size]["lookahead"]}
        pre_lookahead_len: 3"""


def _unet(size: Size) -> str:
    f = _FLOW2[size]
    return f"""\
        estimator: !new:cosyvoice.flow.decoder.CausalConditionalDecoder
            in_channels: 320
            out_channels: 80
            channels: [{f["channels"]}]
            dropout: 0.0
            attention_head_dim: {f["head"]}
            n_blocks: {f["n"]}
            num_mid_blocks: {f["mid"]}
            num_heads: {f["h"]}
            act_fn: 'gelu'"""


def _dit(size: Size) -> str:
    f = _FLOW3[size]
    return f"""\
        estimator: !new:cosyvoice.flow.DiT.dit.DiT
            dim: {f["dim"]}
            depth: {f["depth"]}
            heads: {f["heads"]}
            dim_head: {f["head"]}
            ff_mult: 2
            mel_dim: 80
            mu_dim: 80
            spk_dim: 80
            out_channels: 80"""


# ONNX files are protocol buffers; the few messages needed are written field by field (numbers from onnx.proto3).


def _model(nodes: list[bytes], constants: list[bytes], inputs: list[bytes], outputs: list[bytes]) -> bytes:
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"graph")
    graph += b"".join(_field(5, tensor) for tensor in constants)
    graph += b"".join(_field(11, value) for value in inputs) + b"".join(_field(12, value) for value in outputs)
    # IR version 8, operator set 11: the last in which axes are attributes everywhere.
    return _number(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _number(2, 11))


def _node(operator: str, inputs: list[str], outputs: list[str], **attributes: int | list[int]) -> bytes:
    node = b"".join(_field(1, name.encode()) for name in inputs)
    node += b"".join(_field(2, name.encode()) for name in outputs) + _field(4, operator.encode())
    for name, value in attributes.items():
        if isinstance(value, int):
            body = _number(3, value) + _number(20, 2)
        else:
            body = b"".join(_number(8, item) for item in value) + _number(20, 7)
        node += _field(5, _field(1, name.encode()) + body)
    return node


def _tensor(name: str, values: np.ndarray | np.generic) -> bytes:
    kind = {"float32": 1, "int64": 7}[values.dtype.name]
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, kind) + _field(8, name.encode()) + _field(9, values.tobytes())


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(
        _field(1, _number(1, size) if isinstance(size, int) else _field(2, size.encode())) for size in shape
    )
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, dims)))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    result = b""
    while value > 0x7F:
        result += struct.pack("B", value & 0x7F | 0x80)
        value >>= 7
    return result + struct.pack("B", value)
