"""The options that fill `Settings`: one table for the flags of every command and for the keys of the config file.

A flag wins over the config file, the config file over the default; the default stands in `jobs/settings.py` alone.
"""

from __future__ import annotations

import difflib
import inspect
import os
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.device_choice import read_wishes
from jobs.errors import UserError
from jobs.language_codes import language_code
from jobs.model_store import model_for
from jobs.settings import Settings

CONFIG_NAME = "cosyvoice-batch.toml"


@dataclass(frozen=True, slots=True)
class _Option:
    help: str
    panel: str
    short: str | None = None
    flag: str | None = None
    """The flag's name where it differs from the field's."""
    default: str | None = None
    """The default in words, where None stands for something."""
    metavar: str | None = None


_OPTIONS: Mapping[str, _Option] = {
    "out": _Option("Run folder: outputs, journal and report.", "Files", "-o", default="MANIFEST-out", metavar="FOLDER"),
    "lexicon": _Option(
        "Pronunciations: a TSV or CSV of written form, reading, language.", "Text", default="none", metavar="FILE"
    ),
    "language": _Option("Language of rows that name none, as an ISO code.", "Text", "-l", default="by script"),
    "date_order": _Option("How 12/05/2024 is read: `mdy` (December) or `dmy` (May).", "Text"),
    "empty": _Option("Rows with nothing to speak: `error`, `skip` (no file) or `silence` (a silent file).", "Text"),
    "segmenter_model": _Option(
        "Folder of the pkuseg model.", "Text", default="where `models pull pkuseg` puts it", metavar="FOLDER"
    ),
    "encoding": _Option("Encoding of the manifest.", "Files", default="detected"),
    "engine": _Option("Engine: `auto`, or a name from `models list`.", "Engine", "-e"),
    "model": _Option(
        "CosyVoice model: a folder, or a name that `models pull` knows.",
        "Engine",
        "-m",
        default="COSYVOICE_BATCH_MODEL, else one that was pulled",
        metavar="FOLDER|NAME",
    ),
    "devices": _Option(
        "Devices to use: `auto`, `cpu`, `cuda`, `cuda:0,2`, `npu:*`, `mlu:0` …; `devices` lists them.", "Engine"
    ),
    "min_free_memory": _Option(
        "GiB that must be free on an accelerator.", "Engine", default="what the engine needs", metavar="GIB"
    ),
    "cpu_fallback": _Option(
        "Let the CPU go on when no accelerator is left.", "Engine", flag="--cpu-fallback/--no-cpu-fallback"
    ),
    "precision": _Option("Number format: `auto`, `fp32`, `bf16`, `fp16` or `int8`.", "Engine"),
    "workers": _Option("Worker processes on the CPU.", "Engine", default="CPU cores / threads"),
    "workers_per_device": _Option("Workers on each accelerator.", "Engine", default="by free memory, at most 4"),
    "recycle_memory": _Option(
        "GiB of memory after which a worker is replaced.", "Engine", default="when it has doubled", metavar="GIB"
    ),
    "threads": _Option("CPU threads per worker.", "Engine"),
    "metrics_file": _Option(
        "Figures for Prometheus (a .prom file for node_exporter), renewed every 10 seconds.",
        "Files",
        default="none",
        metavar="FILE",
    ),
    "heartbeat_s": _Option(
        "Seconds without progress after which a worker counts as hung.", "Engine", flag="--heartbeat"
    ),
    "voice": _Option("Voice of rows that name none.", "Sound", default="a stock voice of the language"),
    "profile": _Option("Output profile of rows that name none, see `profiles list`.", "Sound", "-p"),
    "seed": _Option("Start of the random stream of rows that name none; another seed gives another take.", "Sound"),
    "profiles_folder": _Option("Folder with profiles of your own.", "Sound", default="none", metavar="FOLDER"),
    "voices_folder": _Option("Another folder of voices.", "Sound", default="own voices only", metavar="FOLDER"),
    "takes": _Option("Attempts at a segment, each with its own seed, before its item fails.", "Failures"),
    "bad_takes": _Option("What to do with a take that is still bad: `fail` the item or `keep` it flagged.", "Failures"),
    "verify": _Option("Listen to every take: `none`, or `asr` (speech recognition, needs --verify-model).", "Quality"),
    "verify_model": _Option(
        "Whisper model for --verify asr: a CTranslate2 folder.", "Quality", default="none", metavar="FOLDER"
    ),
    "verify_threshold": _Option(
        "Share of wrong words above which a take was not understood.", "Quality", default="the profile's"
    ),
    "verify_policy": _Option(
        "A segment of which no take is understood: `flag` keeps the best one, `fail` fails its item.", "Quality"
    ),
    "listeners": _Option(
        "Most processes that listen to takes.", "Quality", default="one for every four cores, 16 at most"
    ),
    "timbre_threshold": _Option(
        "Likeness of a take's voice to its reference, below which it is made again; 0: not compared.", "Quality"
    ),
    "max_failures": _Option("Stop after so many failed items.", "Failures", default="never"),
    "keep_going": _Option("Make the good rows of a manifest that has bad ones.", "Failures"),
    "strict": _Option("End with exit code 4 where something lesser would be used instead.", "Failures"),
    "fresh": _Option("Make every item again.", "Selection"),
    "only": _Option("Make only items whose id matches this pattern, such as 'menu-*'.", "Selection", default="all"),
    "limit": _Option("Make at most so many items.", "Selection", default="all"),
    "prune": _Option("Delete files of earlier runs that no row asks for any more.", "Selection"),
    "wait_s": _Option("Seconds to wait for another run on the same folder.", "Files", flag="--wait"),
}

_HINTS = typing.get_type_hints(Settings)
_CHOICES = {
    "bad_takes": ("fail", "keep"),
    "verify": ("none", "asr"),
    "verify_policy": ("flag", "fail"),
    "empty": ("error", "skip", "silence"),
    "date_order": ("mdy", "dmy"),
    "precision": ("auto", "fp32", "bf16", "fp16", "int8"),
}
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "workers": (1, 1024),
    "workers_per_device": (1, 64),
    "min_free_memory": (0, 4096),
    "recycle_memory": (0.1, 4096),
    "threads": (1, 1024),
    "takes": (1, 100),
    "verify_threshold": (0, 1),
    "listeners": (1, 1024),
    "timbre_threshold": (0, 1),
    "seed": (0, 2**63 - 1),
    "max_failures": (1, 1_000_000_000),
    "limit": (1, 1_000_000_000),
    "wait_s": (0, 1e7),
    "heartbeat_s": (5, 1e6),
}


def with_settings(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these settings: it receives `flags`, a mapping of those that were given."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "flags"]

        @wraps(command)
        def called(**values: Any) -> None:
            flags = {name: values.pop(name) for name in names}
            command(**values, flags={name: value for name, value in flags.items() if value is not None})

        parameters = [*own, *(_parameter(name) for name in names)]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorate


def _parameter(name: str) -> inspect.Parameter:
    option = _OPTIONS[name]
    kind = _kind(name)
    flag = option.flag or "--" + name.replace("_", "-")
    declared = [flag, option.short] if option.short else [flag]
    default = option.default if option.default is not None else _spelled(getattr(Settings(), name))
    info = typer.Option(
        *declared,
        help=f"{option.help} (default: {default})",
        rich_help_panel=option.panel,
        metavar=option.metavar,
        parser=_path if kind is Path else None,
    )
    annotation: Any = Annotated[kind | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _path(written: str) -> Path:
    """A path; an empty one, from a variable that a script forgot to set, must not mean the current folder."""
    if not written:
        raise typer.BadParameter("the path is empty")
    return Path(written)


def _kind(name: str) -> Any:
    """The plain type of a setting: `int` for `int | None`, `str` for a choice of words."""
    if name == "model":
        return str  # a folder, or the name of a model that was pulled
    hint = _HINTS[name]
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    return str if typing.get_origin(hint) is typing.Literal else hint


def _spelled(value: object) -> str:
    """A default as `--help` shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def gather_settings(flags: Mapping[str, Any], config: Path | None, beside: Path | None) -> Settings:
    """Flags over config file over defaults.

    `config` is a file that was named; `beside` a folder where one may lie. Raises UserError for anything unknown.
    """
    path = config
    if path is None and beside is not None and (beside / CONFIG_NAME).is_file():
        path = beside / CONFIG_NAME
    from_file = _read_config(path, named=config is not None) if path is not None else {}
    chosen = {**from_file, **flags}
    settings = replace(Settings(), **{**chosen, "model": None})
    _check(settings, path)
    if settings.language is not None:
        settings = replace(settings, language=language_code(settings.language))
    return replace(settings, model=model_for(settings.engine, chosen.get("model"), os.environ))


def _read_config(path: Path, *, named: bool) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid TOML: {error}") from error
    known = {field.name for field in fields(Settings)}
    read: dict[str, Any] = {}
    wrong: list[str] = []
    for key, value in values.items():
        name = {"heartbeat": "heartbeat_s", "wait": "wait_s"}.get(key, key.replace("-", "_"))
        if name not in known:
            near = difflib.get_close_matches(key, [n.replace("_", "-") for n in known], n=1)
            wrong.append(f"{path}: {key}: no such option" + (f"; did you mean {near[0]!r}?" if near else ""))
        elif name == "engine" and ":" in str(value) and not named:
            wrong.append(f"{path}: engine: an engine of your own runs code, so it is taken from --engine only")
        else:
            read[name], fault = _converted(name, value, path.parent)
            wrong += [f"{path}: {key}: {fault}"] if fault else []
    if wrong:
        raise UserError("\n".join(wrong))
    return read


def _converted(name: str, value: Any, folder: Path) -> tuple[Any, str]:
    """A config value as the setting's type; paths count from the config file. Second: what is wrong with it."""
    if name == "model" and isinstance(value, str):
        return str(folder / value) if (folder / value).is_dir() else value, ""
    kind = _kind(name)
    if kind is Path and isinstance(value, str):
        return folder / Path(value).expanduser(), ""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value), ""
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value, ""
    return None, f"expected {kind.__name__}, found {value!r}"


def _check(settings: Settings, config: Path | None) -> None:
    wrong = []
    for name, choices in _CHOICES.items():
        value = getattr(settings, name)
        if value not in choices:
            wrong.append(f"{_flag(name)}: {value!r} is not one of {', '.join(choices)}")
    for name, (low, high) in _BOUNDS.items():
        value = getattr(settings, name)
        if value is not None and not low <= value <= high:
            wrong.append(f"{_flag(name)}: {value} is not between {low:,.10g} and {high:,.10g}")
    try:
        read_wishes(settings.devices)
    except ValueError as error:
        wrong.append(f"--devices: {error}")
    for name in _OPTIONS:
        if getattr(settings, name) == "":
            wrong.append(f"{_flag(name)}: is empty; give a value or leave it out")
    if settings.language:
        try:
            language_code(settings.language)
        except ValueError as error:
            wrong.append(f"--language: {error}")
    if settings.out is not None and settings.out.exists() and not settings.out.is_dir():
        wrong.append(f"--out: {settings.out} is a file; name a folder")
    if settings.segmenter_model is not None and not settings.segmenter_model.is_dir():
        wrong.append(f"--segmenter-model: there is no folder {settings.segmenter_model}; correct the path")
    if wrong:
        raise UserError("\n".join(wrong) + (f" (see also {config})" if config else ""))


def _flag(name: str) -> str:
    return _OPTIONS[name].flag or "--" + name.replace("_", "-")
