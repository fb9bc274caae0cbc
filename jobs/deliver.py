"""A finished run in other formats: the same takes under several profiles, into one folder, without new synthesis.

Each file is decoded once; the silence at its ends goes, the profile's own comes, and level, band, rate and format are
the profile's, as the finisher makes them. The folder gets a report, so that it can be published.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jobs.errors import UserError
from jobs.files import explain, make_folder, replacing
from jobs.lock import hold
from jobs.naming import NameRule, collision_key, name_from_out
from jobs.publish import finished_items

if TYPE_CHECKING:
    from jobs.finish import Part
    from presets.profile import Profile

MASTER_RATE_HZ = 16_000
"""A master of a lower rate has lost what a higher one would carry."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """One file to make."""

    item: dict[str, Any]
    profile: Profile
    out: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """What came of a delivery."""

    dest: Path
    files: int
    failures: tuple[str, ...]
    """`path: reason` of each file that could not be made."""


def deliver(
    folder: Path, dest: Path, profiles: Sequence[Profile], told: Callable[[str], None] = logger.info
) -> Delivered:
    """Make every item of the finished run in `folder` under each profile, below `dest`; `told` hears of each file.

    Raises NotPublishable (the run had failures), UserError (names that a system does not take or that meet, a `dest`
    that is no folder of this command), Locked, EnvironmentFault.
    """
    _refuse_foreign(folder, dest)
    with hold(folder, 0):
        orders = plan(finished_items(folder), profiles)
        make_folder(dest, "DEST")
        with hold(dest, 0), tempfile.TemporaryDirectory(dir=dest, prefix=".masters-") as masters:
            rows, failures = [], []
            for source in dict.fromkeys(order.item["out"] for order in orders):
                wanted = [order for order in orders if order.item["out"] == source]
                part = _master(folder / source, Path(masters))
                for order in wanted:
                    row = _made(order, part, dest)
                    rows.append(row)
                    if row["state"] == "failed":
                        failures.append(f"{order.out}: {row['reason']}")
                    told(f"{row['state']}: {order.out}")
                Path(part.path).unlink()
            run = json.loads((folder / "report.json").read_text(encoding="utf-8"))["run"]
            run |= {"exit_code": 3 if failures else 0, "delivered_from": str(folder.resolve())}
            run["counts"] = {"done": len(rows) - len(failures), "failed": len(failures)}
            report = {"run": run, "items": rows}
            with replacing(dest / "report.json", "DEST") as stream:
                stream.write(json.dumps(report, ensure_ascii=False, indent=1).encode())
    return Delivered(dest, len(rows) - len(failures), tuple(failures))


def plan(items: Sequence[dict[str, Any]], profiles: Sequence[Profile]) -> list[Order]:
    """Every file to make, in order. Raises UserError with all names that cannot be."""
    orders: list[Order] = []
    faults: list[str] = []
    taken: dict[str, str] = {}
    for item in items:
        rate_hz = (item["measured"] or {}).get("sample_rate_hz", 0)
        stem = item["out"][: -len(Path(item["out"]).suffix) or None]
        for profile in profiles:
            rule = NameRule(profile.name_pattern, profile.name_rule, profile.name_max_chars, profile.folder)
            if rate_hz < min(MASTER_RATE_HZ, profile.sample_rate_hz):
                faults.append(f"{item['out']} has {rate_hz} Hz, too few for {profile.name}; run with wav24k or wav48k")
                continue
            try:
                out = name_from_out(stem, profile.suffix, rule).path
            except ValueError as error:
                faults.append(f"{item['id']} under {profile.name}: {error}")
                continue
            key = collision_key(out)
            if key in taken:
                faults.append(f"{out} would be made by {profile.name} and by {taken[key]}; deliver to two folders")
            taken[key] = profile.name
            orders.append(Order(item, profile, out))
    if faults:
        raise UserError("\n".join(faults[:100]))
    return orders


def _refuse_foreign(folder: Path, dest: Path) -> None:
    run, place = folder.resolve(), dest.resolve()
    if run == place or run in place.parents or place in run.parents:
        raise UserError(f"{dest}: lies in or around the run folder; choose a place of its own")
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    try:
        known = "delivered_from" in json.loads((place / "report.json").read_text(encoding="utf-8"))["run"]
    except (OSError, ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise UserError(f"{dest}: is not empty and was not made by this command; choose another folder")


def _master(path: Path, masters: Path) -> Part:
    """The first channel of a finished file as the finisher takes it."""
    from jobs.audio_file import open_audio
    from jobs.finish import Part
    from jobs.records import Gap

    audio, samples = open_audio(path), 0
    raw = masters / "master.f32"
    try:
        with raw.open("wb") as stream:
            for block in audio.blocks():
                stream.write(np.ascontiguousarray(block[:, 0], "<f4").tobytes())
                samples += len(block)
    except OSError as error:
        raise explain(error, raw, "DEST") from error
    return Part(str(raw), audio.facts.sample_rate_hz, samples, Gap("end"))


def _made(order: Order, part: Part, dest: Path) -> dict[str, Any]:
    """One file, and its row of the report."""
    from jobs.finish import finish
    from jobs.report_rows import plain

    target = dest / order.out
    make_folder(target.parent, "DEST")
    temporary = target.with_name(f".{target.name}.part")
    row = {"id": f"{order.item['id']} ({order.profile.name})", "out": order.out, "profile": order.profile.name}
    title = order.item.get("title")
    try:
        measured = finish([part], 0, None, order.profile, {"title": title} if title else {}, temporary)
        temporary.replace(target)
    except OSError as error:
        raise explain(error, target, "DEST") from error
    except (RuntimeError, ValueError) as error:
        target.unlink(missing_ok=True)
        return {**row, "state": "failed", "reason": str(error), "measured": None}
    return {**row, "state": "done", "reason": "delivered", "measured": plain(measured)}
