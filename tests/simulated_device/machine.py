"""Describes a machine with simulated accelerators and puts it into the environment of the processes under test.

    env = Machine("npu", [Card(), Card(total=2 * MIB)], faults=[Fault(1, "lost", after=20)]).environment()

Faults: `oom` (an allocation fails; the byte budget of a card does so by itself), `nan` (an operator's result), `wrong`
(an operator's result is 1.5 times what it should be), `refused` (it raises NotImplementedError), `lost` (this operator
and all later ones raise torch.AcceleratorError), `async` (the next synchronisation raises), `slow`, `hang`, `crash`
(SIGSEGV).
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from simulated_device.build import library

HERE = Path(__file__).resolve().parent
STAND_INS = HERE / "stand_ins"
ROOT = HERE.parent.parent
MIB = 2**20
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Card:
    """One simulated device."""

    total: int = 8 * GIB
    """Bytes."""
    used: int = 0
    """Bytes that other programs hold."""
    title: str = "Simulated 910B3"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong on one device, in every process that sees it."""

    device: int
    kind: Literal["oom", "nan", "wrong", "refused", "lost", "async", "slow", "hang", "crash"]
    op: str = ""
    """Part of the operator's name; empty: any operator (for `oom`, always)."""
    after: int = 0
    """How many times the operator runs well before."""
    times: int = -1
    """How often it strikes; -1: for ever."""
    milliseconds: int = 50
    """How long a `slow` operator takes longer."""
    type: str = ""
    """Number format of the operator's first tensor, such as `bfloat16`; empty: any."""
    once: str = ""
    """A file that is made when it strikes: it strikes once on the whole machine, not once in every process."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A computer with simulated devices of one kind."""

    kind: Literal["npu", "mlu"]
    cards: Sequence[Card]
    faults: Sequence[Fault] = ()
    refuse_ops: Sequence[str] = ()
    """Operators that are not implemented: `aten::sin`."""
    refuse_types: Sequence[str] = ()
    """Number formats that the device lacks: `float64`, `bfloat16`."""
    tally: Path | None = None
    """Folder in which each device counts the operators that all processes ran on it."""
    extra: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """What a process must see; the extension is built if it is not yet."""
        described = {
            "kind": self.kind,
            "cards": [asdict(card) for card in self.cards],
            "faults": [asdict(fault) for fault in self.faults],
            "refuse_ops": list(self.refuse_ops),
            "refuse_types": list(self.refuse_types),
            "tally": str(self.tally) if self.tally else "",
        }
        return {
            "PYTHONPATH": python_path(STAND_INS / self.kind, STAND_INS / "shared"),
            "SIMULATED_LIBRARY": str(library()),
            "SIMULATED_MACHINE": json.dumps(described),
            **self.extra,
        }

    def operators_run(self, device: int) -> int:
        """Operators that all processes have run on a device so far; needs `tally`."""
        assert self.tally is not None
        path = self.tally / f"device-{device}"
        return int(struct.unpack("<Q", path.read_bytes())[0]) if path.exists() else 0


def python_path(*folders: Path) -> str:
    """Our folders and the tests' with stand-ins in front."""
    return os.pathsep.join(str(folder) for folder in (*folders, ROOT, ROOT / "tests"))
