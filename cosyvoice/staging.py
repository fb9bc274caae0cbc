"""Puts each stage of a model where it computes rightly: on the device, there in fp32, or on the CPU.

The numbers of `self_test.py` decide. What was moved is told with its reason; a device on which no stage is right is
broken and raises, as it does where the CPU may not step in.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

from cosyvoice.engine import DeviceFault
from cosyvoice.placement import is_device_lost, is_out_of_memory
from cosyvoice.precision import NAMES, Precision, choose_precision
from cosyvoice.self_test import Numbers, fault_of

log = logging.getLogger(__name__)

_CPU = torch.device("cpu")
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Stage(Generic[N]):
    """One network of the model and how it is tested."""

    name: str
    build: Callable[[torch.device, Precision], N]
    format: Callable[[Precision], torch.dtype]
    """What the network computes in under such a policy."""
    numbers: Callable[[N, Numbers], dict[str, Tensor]]
    """What it makes of the fixed input."""
    expected: Callable[[], Numbers]
    """What the CPU makes of it in fp32."""
    tolerances: dict[torch.dtype, float]


@dataclass(frozen=True, slots=True)
class Trial:
    """How the test of one stage ended."""

    stage: str
    error: float | None = None
    """How far off the CPU's numbers the stage is where it runs, as a share; None where it was not tested."""
    moved: str = ""
    """Where it runs instead of where it was wanted, and why; empty if it runs there."""


@dataclass(frozen=True, slots=True)
class Seat(Generic[N]):
    """A loaded stage and where it is."""

    network: N
    device: torch.device
    precision: Precision
    trial: Trial


def untested(stage: Stage[N], device: torch.device, precision: Precision) -> Seat[N]:
    """A stage where it is wanted, taken as it comes."""
    return Seat(stage.build(device, precision), device, precision, Trial(stage.name))


class Staging:
    """Finds the seats of one engine's stages: `on_device` for each, then `settled` for each."""

    def __init__(self, device: torch.device, requested: str, *, cpu_fallback: bool) -> None:
        """`requested` is what was asked for with --precision. Raises EngineError if the device has no such format."""
        self._device, self._requested, self._cpu_fallback = device, requested, cpu_fallback
        self._wanted = choose_precision(device, requested)
        self._tried = 0
        self._refused: dict[str, str] = {}

    def on_device(self, stage: Stage[N]) -> Seat[N] | None:
        """The stage on the device, tested there; None if it computes wrongly in every format.

        On the CPU nothing is tested: it would be held against itself. Raises DeviceFault if the device is lost, has no
        room, or fails and the CPU may not step in.
        """
        if self._device.type == "cpu":
            return untested(stage, self._device, self._wanted)
        self._tried += 1
        steps = [self._wanted]
        if stage.format(self._wanted) != torch.float32:
            steps.append(choose_precision(self._device, "fp32"))
        faults: list[str] = []
        for precision in steps:
            seat, fault = self._attempt(stage, precision, faults)
            if seat is not None:
                return seat
            gc.collect()  # before the next is built: a device may not hold both
            name = NAMES[stage.format(precision)]
            faults.append(f"in {name} it {fault}")
            log.warning("self-test on %s: the %s in %s %s", self._device, stage.name, name, fault)
        reason = self._refused[stage.name] = ", ".join(faults)
        if not self._cpu_fallback:
            raise DeviceFault(
                f"the {stage.name} fails its self-test on the device and the CPU may not take it over "
                f"(--no-cpu-fallback): {reason}"
            )
        return None

    def settled(self, stage: Stage[N], seat: Seat[N] | None) -> Seat[N]:
        """The seat, or one on the CPU. Raises DeviceFault if every stage was refused: then the device is broken."""
        if seat is not None:
            return seat
        if len(self._refused) == self._tried:
            told = "; ".join(f"{name}: {reason}" for name, reason in self._refused.items())
            raise DeviceFault(
                f"every stage fails its self-test on the device, which is broken or whose driver is: {told}"
            )
        precision = choose_precision(_CPU, "fp32" if self._requested == "fp32" else "auto")
        moved = f"the {stage.name} runs on the CPU: on the device {self._refused[stage.name]}"
        return Seat(stage.build(_CPU, precision), _CPU, precision, Trial(stage.name, moved=moved))

    def _attempt(self, stage: Stage[N], precision: Precision, before: list[str]) -> tuple[Seat[N] | None, str]:
        """Build the stage on the device and test it; what is wrong with it, if anything is."""
        expected = stage.expected()
        try:
            network = stage.build(self._device, precision)
            found = stage.numbers(network, expected)
        except (RuntimeError, TypeError) as error:
            told = (str(error).strip() or type(error).__name__).splitlines()[0]
            if is_device_lost(error):
                raise DeviceFault(f"{self._device} is lost: {told}") from error
            if is_out_of_memory(error) and not before:
                raise DeviceFault(f"{self._device} has no room for the {stage.name}: {told}") from error
            return None, f"is refused: {told}"
        error_share, fault = fault_of(expected, found, stage.tolerances[stage.format(precision)])
        if fault:
            return None, fault
        name = NAMES[stage.format(precision)]
        moved = f"the {stage.name} runs in {name}: {', '.join(before)}" if before else ""
        return Seat(network, self._device, precision, Trial(stage.name, error_share, moved)), ""
