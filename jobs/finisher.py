"""One process that finishes items: joins takes, sets the level, encodes. It has no engine and touches no journal.

Messages in: ("finish", FinishJob) and ("end",). Messages out: ("finished", item id, temporary, Measured),
("failed", item id, reason), ("disk", (errno, text, path)).
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.acceptance import Refused
from jobs.errors import EnvironmentFault

if TYPE_CHECKING:
    from jobs.finish import Part
    from jobs.records import Measured
    from presets.catalog import Profile

ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": str(8 << 20), "MALLOC_TRIM_THRESHOLD_": str(32 << 20)}
"""What a finisher is started with: glibc keeps a short item's arrays for the next item (mallopt(3)). Given back and
asked for again page by page, they were a third of an item's cost. Elsewhere these variables mean nothing."""


@dataclass(frozen=True, slots=True)
class FinishJob:
    """One item whose takes are all there."""

    item_id: str
    parts: tuple[Part, ...]
    """Empty: the item is silence of `lead_ms`."""
    lead_ms: int
    pause_ms: int | None
    profile: str
    tags: Mapping[str, str]
    temporary: str


def work(profiles: Mapping[str, Profile], connection: Connection) -> None:
    """The life of a finisher. It is given all profiles once: with every job they would be most of the message."""
    while True:
        message = connection.recv()
        if message[0] == "end":
            return
        job: FinishJob = message[1]
        try:
            connection.send(("finished", job.item_id, job.temporary, _finish(job, profiles[job.profile])))
        except OSError as error:
            connection.send(("disk", (error.errno, error.strerror or str(error), job.temporary)))
        except EnvironmentFault as error:
            connection.send(("environment", str(error)))
        except Refused as error:
            connection.send(("failed", job.item_id, str(error)))
        except Exception:  # one file must not end the others: its item fails with the whole story
            connection.send(("failed", job.item_id, f"finishing failed: {traceback.format_exc(limit=5)}"))


def _finish(job: FinishJob, profile: Profile) -> Measured:
    from jobs.finish import finish, silence

    temporary = Path(job.temporary)
    temporary.parent.mkdir(parents=True, exist_ok=True)
    if not job.parts:
        return silence(job.lead_ms, profile, job.tags, temporary)
    return finish(job.parts, job.lead_ms, job.pause_ms, profile, job.tags, temporary)
