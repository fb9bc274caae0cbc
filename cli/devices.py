"""`devices`: what this machine can compute on."""

from __future__ import annotations

from dataclasses import asdict

from cli.output import result, table
from cli.run import JsonOption


def devices(as_json: JsonOption = False) -> None:
    """List the devices of this machine that a run can use."""
    from jobs.devices import cpu

    found = [cpu()]
    if as_json:
        result([asdict(device) for device in found])
        return
    table(
        ("device", "what", "cores", "memory"),
        [
            (d.name, d.title, str(d.cores), f"{d.memory_bytes / 2**30:.1f} GiB" if d.memory_bytes else "unknown")
            for d in found
        ],
    )
