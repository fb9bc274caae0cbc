"""The speaker encoder CAM++ in its official size with random weights: to measure what it costs, not what it knows.

Layers after 3D-Speaker (speakerlab/models/campplus/DTDNN.py): a residual 2-D front of 32 channels, three densely
connected blocks of 12, 24 and 16 layers that grow by 32 channels, statistics, 192 numbers; 6.9 million weights. The
mean over 100 frames that its masks look at besides the mean over all is left out: it costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.model_parts import _model, _node, _tensor, _value

BLOCKS = ((12, 1), (24, 2), (16, 2))
GROWTH, BOTTLENECK, FIRST, FRONT = 32, 128, 128, 32


@dataclass
class _Builder:
    """Nodes and weights as they come."""

    random: np.random.Generator
    nodes: list[bytes] = field(default_factory=list)
    weights: list[bytes] = field(default_factory=list)
    many: int = 0
    parameters: int = 0

    def node(self, operator: str, *inputs: str, **attributes: int | list[int]) -> str:
        self.many += 1
        self.nodes.append(_node(operator, list(inputs), [f"v{self.many}"], **attributes))
        return f"v{self.many}"

    def weight(self, *shape: int, ones: bool = False) -> str:
        values = self.random.standard_normal(shape) * (np.prod(shape[1:]) or 1) ** -0.5
        self.parameters += int(np.prod(shape))
        name = f"w{len(self.weights)}"
        self.weights.append(_tensor(name, (np.ones(shape) if ones else values).astype(np.float32)))
        return name

    def normed(self, x: str, channels: int, relu: bool = True) -> str:
        scale, bias, mean = self.weight(channels, ones=True), self.weight(channels), self.weight(channels)
        out = self.node("BatchNormalization", x, scale, bias, mean, self.weight(channels, ones=True))
        return self.node("Relu", out) if relu else out

    def conv(self, x: str, source: int, target: int, size: int, *, stride: int = 1, dilation: int = 1) -> str:
        pad = (size - 1) // 2 * dilation
        return self.node(
            "Conv", x, self.weight(target, source, size),
            kernel_shape=[size], strides=[stride], dilations=[dilation], pads=[pad, pad],
        )  # fmt: skip

    def conv2(self, x: str, source: int, size: int, stride: int) -> str:
        pad = size // 2
        return self.node(
            "Conv", x, self.weight(FRONT, source, size, size),
            kernel_shape=[size, size], strides=[stride, 1], pads=[pad] * 4,
        )  # fmt: skip

    def residual(self, x: str, stride: int) -> str:
        out = self.normed(self.conv2(x, FRONT, 3, stride), FRONT)
        out = self.normed(self.conv2(out, FRONT, 3, 1), FRONT, relu=False)
        if stride != 1:
            x = self.normed(self.conv2(x, FRONT, 1, stride), FRONT, relu=False)
        return self.node("Relu", self.node("Add", out, x))

    def dense(self, x: str, channels: int, dilation: int) -> str:
        """One layer: its 32 channels join those that came in, masked by what the whole take is like."""
        narrow = self.normed(self.conv(self.normed(x, channels), channels, BOTTLENECK, 1), BOTTLENECK)
        out = self.conv(narrow, BOTTLENECK, GROWTH, 3, dilation=dilation)
        context = self.node("Add", self.node("ReduceMean", narrow, axes=[2], keepdims=1), narrow)
        mask = self.node("Relu", self.conv(context, BOTTLENECK, BOTTLENECK // 2, 1))
        mask = self.node("Sigmoid", self.conv(mask, BOTTLENECK // 2, GROWTH, 1))
        return self.node("Concat", x, self.node("Mul", out, mask), axis=1)


def campplus_onnx(seed: int = 0) -> tuple[bytes, int]:
    """The file's bytes, input [1, T, 80] and output [1, 192], and how many weights it has."""
    b = _Builder(np.random.default_rng(seed))
    x = b.node("Unsqueeze", b.node("Transpose", "input", perm=[0, 2, 1]), axes=[1])
    x = b.normed(b.conv2(x, 1, 3, 1), FRONT)
    for stride in (2, 1, 2, 1):
        x = b.residual(x, stride)
    x = b.normed(b.conv2(x, FRONT, 3, 2), FRONT)
    b.weights.append(_tensor("flat", np.array([1, FRONT * 10, -1], np.int64)))
    x = b.normed(b.conv(b.node("Reshape", x, "flat"), FRONT * 10, FIRST, 5, stride=2), FIRST)
    channels = FIRST
    for layers, dilation in BLOCKS:
        for _ in range(layers):
            x = b.dense(x, channels, dilation)
            channels += GROWTH
        x = b.conv(b.normed(x, channels), channels, channels // 2, 1)
        channels //= 2
    x = b.normed(x, channels)
    mean = b.node("ReduceMean", x, axes=[2], keepdims=1)
    off = b.node("Sub", x, mean)
    spread = b.node("Sqrt", b.node("ReduceMean", b.node("Mul", off, off), axes=[2], keepdims=1))
    x = b.conv(b.node("Concat", mean, spread, axis=1), 2 * channels, 192, 1)
    b.nodes.append(_node("Squeeze", [x], ["output"], axes=[2]))
    inputs, outputs = [_value("input", 1, (1, "T", 80))], [_value("output", 1, (1, 192))]
    return _model(b.nodes, b.weights, inputs, outputs), b.parameters
