"""Which number format each part of the engine uses on which device, as data."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import torch

from cosyvoice.engine import EngineError
from cosyvoice.int8_layer import int8_fault
from cosyvoice.packed import packing_fault

log = logging.getLogger(__name__)

NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
_DTYPES = {name: dtype for dtype, name in NAMES.items()}
REQUESTS = ("auto", *_DTYPES, "int8")


@dataclass(frozen=True, slots=True)
class Precision:
    """The number formats on one device. Sampling and the output head are always fp32."""

    lm: torch.dtype
    flow: torch.dtype
    vocoder: torch.dtype = torch.float32
    packed: bool = False
    """Linear weights in oneDNN's layout (CPU only)."""
    flow_int8: bool = False
    """The flow's largest layers multiply in 8 bits and return their results in `flow` (CPU only)."""
    kv_bucket: int = 256
    """Attention reads the cache up to a multiple of so many columns."""
    prefill_tokens: int = 4096
    """Prompts are prefilled together up to so many tokens; 0: one at a time."""
    fallback: str | None = None
    """What was wanted and does not work here, for log and report."""

    @property
    def name(self) -> str:
        """How it is written in reports, such as `bf16/fp32/fp32`: language model, flow, vocoder."""
        flow = "int8" if self.flow_int8 else NAMES[self.flow]
        return f"{NAMES[self.lm]}/{flow}/{NAMES[self.vocoder]}"


@dataclass(frozen=True, slots=True)
class _Policy:
    with_bf16: Precision
    without_bf16: Precision


_HALF = Precision(torch.float16, torch.float16)
_POLICIES: dict[str, _Policy] = {
    "cuda": _Policy(Precision(torch.bfloat16, torch.bfloat16), _HALF),
    # Ascend: conv1d knows fp16 and fp32, conv_transpose1d fp32 only; 310P has no bf16.
    "npu": _Policy(Precision(torch.bfloat16, torch.float32), Precision(torch.float16, torch.float32)),
    # Cambricon: MLU370 has fp16 but no bf16.
    "mlu": _Policy(Precision(torch.bfloat16, torch.float32), Precision(torch.float16, torch.float32)),
    "xpu": _Policy(Precision(torch.bfloat16, torch.float32), Precision(torch.float16, torch.float32)),
    "mps": _Policy(Precision(torch.float32, torch.float32), Precision(torch.float32, torch.float32)),
    # fp16 is 10 times slower than fp32 on the CPU, so it is never picked here.
    "cpu": _Policy(
        Precision(torch.bfloat16, torch.bfloat16, kv_bucket=64, prefill_tokens=0),
        Precision(torch.float32, torch.float32, kv_bucket=512, prefill_tokens=0),
    ),
}
# In fp32 the CPU's attention works through 512 columns at a time and rounds a shorter last part differently; whole
# parts keep an utterance's numbers the same in every batch. In bf16 multiples of 64 were enough.
_CPU_KV_BUCKETS = {torch.float32: 512, torch.bfloat16: 64, torch.float16: 64}


def policy(device_type: str, *, has_bf16: bool) -> Precision:
    """Return the number formats for a kind of device; an unknown kind gets fp32."""
    known = _POLICIES.get(device_type)
    if known is None:
        return Precision(torch.float32, torch.float32)
    return known.with_bf16 if has_bf16 else known.without_bf16


def choose_precision(device: torch.device, requested: str = "auto") -> Precision:
    """Pick the number formats for a device. `requested` is one of REQUESTS; `fp32`, `bf16` and `fp16` set LM and flow
    alike, `int8` the flow alone: it is the wall on a CPU, and the language model's packed bf16 is as fast there.

    Raises EngineError if the name is unknown or the device cannot compute in that format.
    """
    if requested not in REQUESTS:
        raise EngineError(f"Unknown precision {requested!r}: use one of {', '.join(REQUESTS)}.")
    has_bf16 = _has_bf16(device)
    if requested == "bf16" and not has_bf16:
        raise EngineError(f"{device} does not compute in bf16: use --precision auto, fp16 or fp32.")
    precision = policy(device.type, has_bf16=has_bf16)
    if requested == "int8":
        fault = int8_fault() if device.type == "cpu" else "8-bit layers are there for the CPU only"
        if fault is not None:
            raise EngineError(f"{device} does not compute in int8: {fault}; use --precision auto, bf16 or fp32.")
        precision = replace(precision, flow_int8=True)
    elif requested != "auto":
        dtype = _DTYPES[requested]
        precision = replace(precision, lm=dtype, flow=dtype)
    return _with_cpu_packing(precision) if device.type == "cpu" else precision


def _with_cpu_packing(precision: Precision) -> Precision:
    precision = replace(precision, kv_bucket=_CPU_KV_BUCKETS[precision.lm])
    if precision.lm == torch.float16:
        return precision
    faults = {dtype: packing_fault(dtype) for dtype in (torch.float32, precision.lm)}
    fallback = next((fault for fault in faults.values() if fault), None)
    if fallback:
        log.warning("%s; plain weights are used, which is slower", fallback)
    return replace(precision, packed=fallback is None, fallback=fallback)


def _has_bf16(device: torch.device) -> bool:
    if device.type == "cpu":
        return _cpu_has_fast_bf16()
    supported = getattr(getattr(torch, device.type, None), "is_bf16_supported", None)
    return bool(supported()) if supported is not None else False


def _cpu_has_fast_bf16() -> bool:
    """Say whether this CPU has bf16 instructions; oneDNN also accepts CPUs that emulate them slowly."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    tests = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    if any(test is not None and test() for test in tests):
        return True
    capabilities = getattr(torch.cpu, "get_capabilities", None)
    return bool(capabilities is not None and capabilities().get("bf16", False))
