"""`devices`: what this machine can compute on, and why something cannot be used."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from cli.options import JsonOption
from cli.output import result, table, text

if TYPE_CHECKING:
    from jobs.devices import Device


def devices(as_json: JsonOption = False) -> None:
    """List the devices that a run can use, and what keeps others from being used.

    Looks in child processes, as a run does: a broken driver is told, it breaks nothing here.
    """
    from jobs.probe import find

    found = find()
    if as_json:
        listed = [asdict(device) | {"kind": device.kind, "versions": dict(device.versions)} for device in found.devices]
        result({"devices": listed, "troubles": [asdict(trouble) for trouble in found.troubles]})
        return
    table(
        ("device", "what", "memory free / all", "formats", "precision", "with"),
        [
            (d.name, d.title, _memory(d), " ".join(d.number_formats), d.precision, _versions(d))
            for d in found.devices
            if not d.fault
        ],
    )
    for device in found.devices:
        if device.fault:
            text(f"cannot be used: {device.name} ({device.title}): {device.fault}")
    for trouble in found.troubles:
        text(f"trouble with {trouble}")


def _memory(device: Device) -> str:
    cores = f"{device.cores} cores, " if device.cores else ""
    free, whole = (f"{n / 2**30:.1f}" if n is not None else "?" for n in (device.free_bytes, device.memory_bytes))
    return f"{cores}{free} / {whole} GiB"


def _versions(device: Device) -> str:
    return ", ".join(f"{name} {version}" for name, version in device.versions)
