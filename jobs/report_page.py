"""report.html: one self-contained page that opens from the disk, runs no script but its own and asks no network."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.report_rows import json_line

if TYPE_CHECKING:
    from jobs.report_items import Survey

Json = dict[str, Any]
_WAVE_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_LETTER_OF_PEAK = [_WAVE_LETTERS[peak * 63 // 100] for peak in range(101)]
_HERE = Path(__file__).parent
_SCRIPTS = ("report_diff.js", "report_player.js", "report_cells.js", "report_review.js", "report.js")


def page_frame(run: Json, survey: Survey) -> tuple[str, str]:
    """The page of one run before and after its items, which stand between them with a comma between two.

    All values are the plain ones that report.json holds, and every text in them is treated as hostile.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(clock=clock, decimal=decimal, memory=memory, moment=moment, percent=percent)
    style = _source("report.css")
    script = "\n".join(_source(name) for name in _SCRIPTS)
    place = f"items {secrets.token_hex(16)}"  # no text of the run can hold it
    page = environment.get_template("report.html").render(
        run=run,
        verdict=verdict(run),
        failures=survey.failures,
        by_voice=survey.by_voice,
        total=survey.total,
        held=survey.held,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        items=Markup(place),
    )
    head, _, end = page.partition(place)
    return head, end


def page_item(item: Json) -> str:
    """One item, the values of report.json, as the page's data element holds it."""
    return script_json(_for_page(item))


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element: no character of it can end the element or the line."""
    text = json_line(value)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def verdict(run: Json) -> Json:
    """The run in one line: `tone` (good, warn or bad), `headline` and `detail`."""
    counts: dict[str, int] = run["counts"]
    made = counts.get("done", 0) + counts.get("unchanged", 0)
    failed, pending = counts.get("failed", 0), counts.get("pending", 0)
    wanted = made + failed + pending
    if run["interrupted"]:
        return {
            "tone": "warn",
            "headline": f"Interrupted: {made:,} of {wanted:,} items are ready",
            "detail": "Start the same command again: it goes on where this run stopped.",
        }
    if failed:
        return {
            "tone": "bad",
            "headline": f"{failed:,} of {wanted:,} items failed",
            "detail": f"{made:,} are ready. The failures and their reasons come first below.",
        }
    if pending:
        return {
            "tone": "warn",
            "headline": f"{made:,} of {wanted:,} items are ready",
            "detail": f"{pending:,} are still to be made: start the same command again.",
        }
    if not wanted:
        return {"tone": "warn", "headline": "Nothing was made", "detail": "No item of the manifest was to be built."}
    one = wanted == 1
    return {
        "tone": "good",
        "headline": "The item is ready" if one else f"All {wanted:,} items are ready",
        "detail": "Nothing had changed since the last run." if not counts.get("done") else "",
    }


def clock(seconds: float | None) -> str:
    """Seconds as `1:02:03`, `4:05`, or `3.2 s` under a minute."""
    if seconds is None:
        return "–"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def decimal(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def memory(device: Json) -> str:
    """The most that one worker of a device held: of the host, then of the device's own memory."""
    peaks = [(device["host_peak_bytes"], ""), (device["device_peak_bytes"], " on the device")]
    return ", ".join(f"{held / 2**30:.2f} GiB{where}" for held, where in peaks if held) or "–"


def moment(iso: str) -> str:
    """`2026-03-01T02:00:00.5+08:00` as a person reads it: `2026-03-01 02:00:00 +08:00`."""
    return re.sub(r"T(\d\d:\d\d:\d\d)(\.\d+)?", r" \1 ", iso).strip()


def _for_page(item: Json) -> Json:
    """The item as the page wants it: empty values left out, and seeds as text (a script's numbers end at 2**53)."""
    slim = {key: value for key, value in item.items() if value not in (None, "", [], {})}
    slim["seed"] = str(item["seed"])
    if item["spoken"] == item["written"]:
        slim.pop("spoken", None)
        slim["same"] = True
    if item["takes"]:
        slim["takes"] = [{**take, "seed": str(take["seed"])} for take in item["takes"]]
    if item["measured"]:
        slim["measured"] = {**item["measured"], "waveform": _wave(item["measured"]["waveform"])}
    return slim


def _wave(peaks: list[int]) -> str:
    """The thumbnail with one character a slice, 0..100 in 64 steps."""
    return "".join([_LETTER_OF_PEAK[peak] for peak in peaks])


def _policy(style: str, script: str) -> str:
    """Content-Security-Policy: our own script and style by their hashes, audio beside the page, nothing else.

    `file:` stands beside 'self' because a page opened from the disk has an opaque origin that 'self' need not match.
    """
    return (
        f"default-src 'none'; media-src 'self' file:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _source(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
