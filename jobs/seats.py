"""Which workers a run starts: devices times instances, each with its threads and the environment that hides all
devices but its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cosyvoice.catalog import EngineFacts
from jobs.device_choice import Wish, choose, read_wishes
from jobs.devices import VISIBILITY, Device, cores, cpu
from jobs.errors import EnvironmentFault, UserError
from jobs.probe import NO_AUTOLOAD, Found, find
from jobs.settings import Settings
from jobs.worker import WorkerSpec

MOST_ON_ONE_DEVICE = 4
"""Instances that are put on a card unasked: beyond that they only wait for each other."""
MEMORY_SHARE = 0.9
"""Part of a device's free memory that is planned with."""
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Seating:
    """The workers of a run."""

    seats: tuple[WorkerSpec, ...]
    reserve: tuple[WorkerSpec, ...] = ()
    """CPU workers that take over when every accelerator is out of work; empty with --no-cpu-fallback."""
    warnings: tuple[str, ...] = ()


def require_fit(settings: Settings, engine: EngineFacts) -> None:
    """Raises UserError for a device that the engine cannot use; looks for none."""
    foreign = _foreign(read_wishes(settings.devices))
    if foreign and not engine.accelerates:
        raise UserError(f"--devices: {engine.title} runs on the CPU only, not on {foreign[0]}")


def _foreign(wishes: Sequence[Wish]) -> list[Wish]:
    return [wish for wish in wishes if wish.kind != "cpu"]


def plan_seats(settings: Settings, engine: EngineFacts, look: Callable[[], Found] = find) -> Seating:
    """Decide on the workers. Looks for accelerators only if the engine can use them and --devices leaves room for it.

    `look` tells what there is. Raises EnvironmentFault where the wished devices are not there and the CPU may not step
    in.
    """
    require_fit(settings, engine)
    wishes = read_wishes(settings.devices)
    if not engine.accelerates or (wishes and not _foreign(wishes)):
        return Seating(_cpu_seats(settings, engine, cpu()))
    found = look()
    wished = settings.min_free_memory
    needed = round(wished * GIB) if wished is not None else engine.memory_bytes or None
    choice = choose(settings.devices, found.devices, found.troubles, min_free_bytes=needed)
    accelerators = [device for device in choice.devices if device.kind != "cpu"]
    if not accelerators:
        return _on_cpu_instead(settings, engine, found.devices[0], choice.warnings, asked=bool(wishes))
    seats = _accelerator_seats(settings, engine, accelerators)
    if len(choice.devices) > len(accelerators):  # the CPU was named beside them
        beside = _cpu_seats(settings, engine, choice.devices[-1], busy=len(seats))
        return Seating((*seats, *beside), (), choice.warnings)
    reserve = _cpu_seats(settings, engine, found.devices[0]) if settings.cpu_fallback else ()
    return Seating(seats, reserve, choice.warnings)


def _on_cpu_instead(
    settings: Settings, engine: EngineFacts, device: Device, warnings: tuple[str, ...], *, asked: bool
) -> Seating:
    """No accelerator can be used. That is worth a word where one was asked for or is there and broken."""
    if not settings.cpu_fallback:
        raise EnvironmentFault("--no-cpu-fallback: " + ("; ".join(warnings) or "this machine has no accelerator"))
    if asked or warnings:
        warnings = (*warnings, "no accelerator can be used: the CPU does the work, which is slower")
    return Seating(_cpu_seats(settings, engine, device), (), warnings)


def _accelerator_seats(settings: Settings, engine: EngineFacts, devices: Sequence[Device]) -> tuple[WorkerSpec, ...]:
    """Device by device in turns, so that the first utterances go to different cards."""
    counts = {device.name: _instances(settings, engine, device, len(devices)) for device in devices}
    return tuple(
        WorkerSpec(
            name=f"{device.name}" + (f" #{turn + 1}" if counts[device.name] > 1 else ""),
            engine=engine,
            model_folder=str(settings.model) if settings.model else None,
            device=device.name,
            precision=settings.precision,
            threads=settings.threads,
            cpu_fallback=settings.cpu_fallback,
            own_device=f"{device.kind}:0" if device.backend in VISIBILITY else device.name,
            environment=_environment(device, settings.threads),
        )
        for turn in range(max(counts.values()))
        for device in devices
        if turn < counts[device.name]
    )


def _instances(settings: Settings, engine: EngineFacts, device: Device, devices: int) -> int:
    if settings.workers_per_device is not None:
        return settings.workers_per_device
    if not engine.memory_bytes or device.free_bytes is None:
        return 1
    fitting = int(device.free_bytes * MEMORY_SHARE) // engine.memory_bytes
    return max(1, min(fitting, MOST_ON_ONE_DEVICE, cores() // devices))


def _environment(device: Device, threads: int) -> tuple[tuple[str, str], ...]:
    """What a worker's process sees: its own device, its share of the CPU."""
    values = {"OMP_NUM_THREADS": str(threads)}
    if device.backend in VISIBILITY:
        values[VISIBILITY[device.backend]] = device.visible_as
    if device.kind == "cpu" or not device.autoload:
        values |= NO_AUTOLOAD
    return tuple(values.items())


def _cpu_seats(settings: Settings, engine: EngineFacts, device: Device, busy: int = 0) -> tuple[WorkerSpec, ...]:
    """Workers x threads stay within the cores, and instances within the free memory, unless --workers says more.

    `busy` cores feed accelerators.
    """
    count = settings.workers or max(1, (cores() - busy) // settings.threads)
    if settings.workers is None and engine.memory_bytes and device.free_bytes is not None:
        count = max(1, min(count, int(device.free_bytes * MEMORY_SHARE) // engine.memory_bytes))
    one = WorkerSpec(
        name="",
        engine=engine,
        model_folder=str(settings.model) if settings.model else None,
        device="cpu",
        precision=settings.precision,
        threads=settings.threads,
        own_device="cpu",
        environment=_environment(device, settings.threads),
    )
    return tuple(replace(one, name=f"worker {number + 1} (cpu)") for number in range(count))
