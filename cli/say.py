"""`say TEXT`: one item down the same road, for a quick test of a voice, a profile or a pronunciation."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from cli.config import CONFIG_NAME, gather_settings
from cli.options import JsonOption, Option, QuietOption, VerboseOption, with_options, with_settings
from cli.output import complain, display, result, text
from cli.run import command_line, reader
from cli.settings_table import JUDGING, SPEAKING
from cli.stop import Stop
from jobs.errors import UserError
from jobs.settings import Settings


@dataclass(frozen=True, slots=True)
class SayOptions:
    """What may be asked of `say` beside the settings of a run: the fields of its one row, and its file."""

    output: Annotated[
        Path | None, Option("Output file.", short="-o", default="say + the profile's suffix", metavar="FILE")
    ] = None
    ref_audio: Annotated[Path | None, Option("Reference audio to clone.", metavar="FILE")] = None
    ref_text: Annotated[str | None, Option("What is said in the reference audio.")] = None
    instruction: Annotated[str | None, Option("How to say it.", short="-i")] = None
    speed: Annotated[float, Option("Speaking rate, 0.5 to 2.0 times.", between=(0.5, 2.0))] = 1.0
    seed: Annotated[int, Option("Seed of the random stream.", between=(0, math.inf))] = 0
    say_as: Annotated[str | None, Option("Read the text as digits, phone, money, date …", default="text")] = None
    config: Annotated[
        Path | None,
        Option("Config file with these options as keys.", default=f"{CONFIG_NAME} in this folder", metavar="FILE"),
    ] = None


@with_settings(SPEAKING, JUDGING)
@with_options(SayOptions)
def say(
    words: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; `-` reads standard input.")],
    asked: SayOptions,
    flags: Mapping[str, Any],
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Say TEXT into one file and show how it was read."""
    from jobs.manifest import Tally, open_source
    from jobs.run import Order
    from jobs.run import run as run_order

    settings = gather_settings({**flags, "workers": 1}, asked.config, Path.cwd())
    target = _target(asked.output, settings)
    with TemporaryDirectory(prefix="cosyvoice-batch-") as scratch, Stop() as stop:
        folder = Path(scratch) / "out"
        manifest = _manifest(Path(scratch), sys.stdin.read() if words == "-" else words, asked)
        with open_source(str(manifest), base=Path.cwd()) as source:
            source = replace(source, path="say")
            order = Order("say", folder, settings, reader(source, Tally()), command_line())
            finding = run_order(order, display(quiet or not verbose, verbose), stop.check)
        if finding.exit_code:
            complain(f"error: {finding.message or _failure(folder) or 'nothing was said'}")
            raise typer.Exit(finding.exit_code)
        item = _only_item(folder)
        _deliver(folder / item["out"], target)
    if as_json:
        result({**item, "out": str(target), "run": finding.summary})
    elif not quiet:
        measured = item["measured"]
        text(f"{target}: {measured['duration_s']:.2f} s, {_level(measured)}")
        complain(f"spoken as: {item['spoken']}")


def _target(output: Path | None, settings: Settings) -> Path:
    """Where the file goes; whatever is wrong with it is told before anything is spoken."""
    from jobs.gear import load_presets

    profile = load_presets(settings)[0].get(settings.profile)
    suffix = profile.suffix if profile is not None else ""  # an unknown profile is told by the run
    target = output or Path(f"say{suffix}")
    if not target.parent.is_dir():
        raise UserError(f"--output: the folder {target.parent} does not exist; create it first")
    if target.is_dir():
        raise UserError(f"--output: {target} is a folder; name a file in it")
    if suffix and target.suffix.lower() != suffix:
        raise UserError(
            f"--output: the profile {settings.profile!r} makes {suffix} files, and {target.name!r} is named otherwise; "
            f"name it {target.stem}{suffix}, or choose another --profile"
        )
    return target


def _manifest(scratch: Path, text: str, asked: SayOptions) -> Path:
    """A manifest of one row: nothing that `run` does has a second road here."""
    path = scratch / "say.jsonl"
    row = {
        "id": "say",
        "empty": "skip",  # told by `_only_item`, in words that fit a single text
        "text": text,
        "ref_audio": str(asked.ref_audio.resolve()) if asked.ref_audio else None,
        "ref_text": asked.ref_text,
        "instruction": asked.instruction,
        "speed": asked.speed,
        "seed": asked.seed,
        "say_as": asked.say_as,
    }
    path.write_text(json.dumps({name: value for name, value in row.items() if value is not None}), encoding="utf-8")
    return path


def _items(folder: Path) -> Iterator[dict[str, Any]]:
    yield from json.loads((folder / "report.json").read_text(encoding="utf-8"))["items"]


def _only_item(folder: Path) -> dict[str, Any]:
    item = next(_items(folder))
    if item["state"] == "skipped":
        raise UserError(
            "TEXT: there is nothing to speak, neither a letter nor a digit; give it words, such as "
            "say 'Good morning.', or `-` and a text on standard input"
        )
    return item


def _failure(folder: Path) -> str:
    return next((str(item["reason"]) for item in _items(folder) if item["state"] == "failed"), "")


def _deliver(made: Path, target: Path) -> None:
    """Bring the file to where it was asked for; it appears there whole."""
    from jobs.files import replacing

    with replacing(target) as stream, made.open("rb") as source:
        while block := source.read(1 << 20):
            stream.write(block)


def _level(measured: Mapping[str, Any]) -> str:
    if measured["loudness_lufs"] is None:
        return "silence"
    return f"{measured['loudness_lufs']:.1f} LUFS, true peak {measured['true_peak_dbtp']:.1f} dBTP"
