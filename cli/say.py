"""`say TEXT`: one item down the same road, for a quick test of a voice, a profile or a pronunciation."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from cli.config import gather_settings
from cli.options import JsonOption, QuietOption, VerboseOption, with_settings
from cli.output import complain, display, result, text
from cli.run import command_line, reader
from cli.settings_table import JUDGING, SPEAKING
from cli.stop import Stop
from jobs.errors import UserError
from jobs.settings import Settings


@with_settings(SPEAKING, JUDGING)
def say(
    words: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; `-` reads standard input.")],
    flags: Mapping[str, Any],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file. (default: say + the profile's suffix)")
    ] = None,
    ref_audio: Annotated[Path | None, typer.Option(help="Reference audio to clone. (default: none)")] = None,
    ref_text: Annotated[str | None, typer.Option(help="What is said in the reference audio. (default: none)")] = None,
    instruction: Annotated[
        str | None, typer.Option("--instruction", "-i", help="How to say it. (default: none)")
    ] = None,
    speed: Annotated[float, typer.Option(help="Speaking rate, 0.5 to 2.0 times.", min=0.5, max=2.0)] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of the random stream.", min=0)] = 0,
    say_as: Annotated[
        str | None, typer.Option(help="Read the text as digits, phone, money, date … (default: text)")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="Config file with these options as keys. (default: cosyvoice-batch.toml in this folder)"),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Say TEXT into one file and show how it was read."""
    from jobs.manifest import Tally, open_source
    from jobs.run import Order
    from jobs.run import run as run_order

    settings = gather_settings({**flags, "workers": 1}, config, Path.cwd())
    target = _target(output, settings)
    row = {
        "id": "say",
        "empty": "skip",  # told below, in words that fit a single text
        "text": sys.stdin.read() if words == "-" else words,
        "ref_audio": str(ref_audio.resolve()) if ref_audio else None,
        "ref_text": ref_text,
        "instruction": instruction,
        "speed": speed,
        "seed": seed,
        "say_as": say_as,
    }
    with TemporaryDirectory(prefix="cosyvoice-batch-") as scratch, Stop() as stop:
        with open_source(str(_manifest(Path(scratch), row)), base=Path.cwd()) as source:
            source = replace(source, path="say")
            order = Order("say", Path(scratch) / "out", settings, reader(source, Tally()), command_line())
            finding = run_order(order, display(quiet or not verbose, verbose), stop.check)
        folder = Path(scratch) / "out"
        if finding.exit_code:
            complain(f"error: {finding.message or _failure(folder) or 'nothing was said'}")
            raise typer.Exit(finding.exit_code)
        item = _only_item(folder)
        if item["state"] == "skipped":
            raise UserError(
                "TEXT: there is nothing to speak, neither a letter nor a digit; give it words, such as "
                "say 'Good morning.', or `-` and a text on standard input"
            )
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


def _manifest(scratch: Path, row: Mapping[str, object]) -> Path:
    """A manifest of one row: nothing that `run` does has a second road here."""
    path = scratch / "say.jsonl"
    values = {name: value for name, value in row.items() if value is not None}
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def _items(folder: Path) -> Iterator[dict[str, Any]]:
    yield from json.loads((folder / "report.json").read_text(encoding="utf-8"))["items"]


def _only_item(folder: Path) -> dict[str, Any]:
    return next(_items(folder))


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
