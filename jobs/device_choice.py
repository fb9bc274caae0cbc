"""Which of the devices that are there a run uses: the words after --devices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.device_trouble import Trouble
from jobs.devices import KINDS, Device
from jobs.errors import EnvironmentFault

_WORD = re.compile(r"(?P<kind>[a-z]+)(?::(?P<index>\*|\d+))?|(?P<number>\d+)|(?P<uuid>(?:GPU|MIG)-[0-9A-Za-z/-]+)")
ALIASES = {"gpu": "cuda", "rocm": "cuda", "hip": "cuda", "ascend": "npu", "cambricon": "mlu"}
SYNTAX = "auto, cpu, cuda, cuda:0,2, npu:*, mlu:0, or the UUID of a GPU or MIG slice"


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing asked for: every device of a kind, one by number, or one by UUID."""

    kind: str = ""
    index: int | None = None
    uuid: str = ""

    def meets(self, device: Device) -> bool:
        """Whether this device is meant."""
        if self.uuid:
            return device.uuid.startswith(self.uuid)
        return device.kind == self.kind and (self.index is None or device.name == f"{self.kind}:{self.index}")

    def __str__(self) -> str:
        return self.uuid or (self.kind if self.index is None else f"{self.kind}:{self.index}")


def read_wishes(text: str) -> tuple[Wish, ...]:
    """The words after --devices; empty means `auto`. Raises ValueError that says what is wrong with them."""
    words = [word.strip() for word in text.split(",")]
    if words == ["auto"]:
        return ()
    wishes: list[Wish] = []
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None:
            raise ValueError(f"{word!r} is not a device; write {SYNTAX}")
        if match["uuid"]:
            wishes.append(Wish(uuid=match["uuid"]))
        elif match["number"]:
            if not wishes or not wishes[-1].kind or wishes[-1].index is None:
                raise ValueError(f"{word!r} follows no device such as cuda:0; write {SYNTAX}")
            wishes.append(Wish(wishes[-1].kind, int(match["number"])))
        else:
            wishes.append(_by_kind(match["kind"], match["index"]))
    return tuple(dict.fromkeys(wishes))


def _by_kind(word: str, index: str | None) -> Wish:
    kind = ALIASES.get(word, word)
    if kind == "auto":
        raise ValueError("'auto' stands alone")
    if kind not in ("cpu", *KINDS):
        raise ValueError(f"{word!r} is not a kind of device; there are cpu, {', '.join(KINDS)}")
    if kind == "cpu" and index not in (None, "*", "0"):
        raise ValueError(f"'cpu:{index}': there is one CPU; use --workers for the number of its workers")
    return Wish(kind, int(index) if index and index != "*" and kind != "cpu" else None)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a run uses, and what it should know."""

    devices: tuple[Device, ...]
    """Accelerators in their order, the CPU last if it was asked for; empty: nothing usable is left."""
    warnings: tuple[str, ...] = ()


def choose(
    text: str, devices: Sequence[Device], troubles: Sequence[Trouble] = (), *, min_free_bytes: int | None = None
) -> Choice:
    """Find the wished devices among those that there are.

    Devices that cannot be used, or have less than `min_free_bytes`, are left out with a warning. Raises
    EnvironmentFault where a device is named that is not there.
    """
    wishes = read_wishes(text)
    kinds = {wish.kind for wish in wishes} or set(KINDS)
    warnings = [str(trouble) for trouble in troubles if trouble.kind in kinds or not trouble.kind]
    wanted: list[Device] = []
    for wish in wishes or tuple(Wish(kind) for kind in KINDS):
        met = [device for device in devices if wish.meets(device)]
        wanted += [device for device in met if device not in wanted]
        if wishes and not met:
            absent = f"--devices: there is no {wish}; this machine has {', '.join(device.name for device in devices)}"
            if not any(trouble.kind in ("", wish.kind) for trouble in troubles):
                raise EnvironmentFault(absent)
            warnings.append(absent)  # a broken driver hides it: the run may do without, and says so
    usable: list[Device] = []
    for device, why in _judged(wanted, min_free_bytes):
        if why:
            warnings.append(f"{device.name} ({device.title}) is left out: {why}")
        else:
            usable.append(device)
    return Choice(tuple(sorted(usable, key=lambda d: d.kind == "cpu")), tuple(dict.fromkeys(warnings)))


def _judged(devices: Sequence[Device], min_free_bytes: int | None) -> Iterator[tuple[Device, str]]:
    for device in devices:
        short = min_free_bytes is not None and device.free_bytes is not None and device.free_bytes < min_free_bytes
        if device.fault:
            yield device, device.fault
        elif short and device.kind != "cpu":
            yield device, f"{_gib(device.free_bytes)} of memory are free, {_gib(min_free_bytes)} are needed"
        else:
            yield device, ""


def _gib(count: int | None) -> str:
    return f"{(count or 0) / 2**30:.1f} GiB"
