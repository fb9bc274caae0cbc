"""What the journal keeps of an item that came to its end, for the reports and for later steps."""

from __future__ import annotations

from jobs.checks import level_steps, timbre_steps
from jobs.checks import told as told_of
from jobs.journal import values_of
from jobs.records import Measured
from jobs.schedule import OpenItem
from jobs.speech_rate import units


def result_of(opened: OpenItem, measured: Measured | None) -> dict[str, object]:
    """What the journal keeps of an item for the reports, as JSON."""
    segments = opened.prepared.segments
    return {
        "spoken": " ".join(segment.spoken.strip() for segment in segments),
        "segments": [
            {"written": s.written, "spoken": s.spoken, "language": s.language, "gap": [s.gap.boundary, s.gap.ms]}
            for s in segments
        ],
        "voice": opened.role.voice.name if opened.role else "",
        "mode": opened.role.mode if opened.role else "",
        "measured": values_of(measured) if measured else None,
        "takes": [
            {
                "segment": number,
                "attempt": take.attempt,
                "seed": take.seed,
                "faults": list(take.faults),
                "seconds": round(take.samples / take.sample_rate_hz, 3),
                "kept": opened.kept.get(number) is take,
                "level_db": take.level_db,
                "heard": take.heard,
                "error_rate": take.error_rate,
                "likeness": take.likeness,
            }
            for number, takes in sorted(opened.takes.items())
            for take in takes
        ],
        "heard": _heard(opened),
        "error_rate": _error_rate(opened),
        "errors": [[number, text] for number, texts in sorted(opened.errors.items()) for text in texts],
        "retries": opened.retries,
        "resumed_takes": opened.resumed,
        "device": ", ".join(sorted(opened.devices)),
        "seconds": round(opened.seconds, 3),
        "warnings": _warnings(opened),
        "lexicon_hits": list(opened.prepared.lexicon_hits),
    }


def _heard(opened: OpenItem) -> str | None:
    """What was heard of the takes that are kept (of a failed item: of the latest ones); None: nobody listened."""
    takes = [opened.kept.get(number) or takes[-1] for number, takes in sorted(opened.takes.items())]
    if all(take.heard is None for take in takes):
        return None
    return " ".join(take.heard or "" for take in takes).strip()


def _error_rate(opened: OpenItem) -> float | None:
    """The error rate over all kept takes, each by the length of its text."""
    heard = [
        (take.error_rate, len(units(opened.prepared.segments[number].spoken)))
        for number, take in opened.kept.items()
        if take.error_rate is not None
    ]
    length = sum(many for _, many in heard)
    return round(sum(rate * many for rate, many in heard) / length, 4) if length else None


def _warnings(opened: OpenItem) -> list[str]:
    """What a person should know of an item: of its text, its voice, and the takes that were kept."""
    told = [*opened.prepared.warnings, *(opened.role.warnings if opened.role else ())]
    for number, take in sorted(opened.kept.items()):
        told += [f"segment {number + 1}: {remark}" for remark in take.remarks]
        told += [f"segment {number + 1} {words}" for words in told_of(take)]
    kept = [take for _, take in sorted(opened.kept.items())]
    told += [*level_steps(kept), *timbre_steps(kept)]
    return list(dict.fromkeys(told))
