"""How options are declared: once, as data, with their help and default; and those that most commands share.

Options of a run stand in `cli/settings_table.py`; a command with many of its own declares them as fields of a frozen
dataclass, `name: Annotated[type, Option("…")] = default`, and receives an instance.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from jobs.errors import UserError
from jobs.settings import Settings


@dataclass(frozen=True, slots=True)
class Option:
    """What `--help` says of an option, and how it is written."""

    help: str
    panel: str | None = None
    short: str | None = None
    flag: str | None = None
    """The flag where it is not the field's name with dashes."""
    default: str | None = None
    """The default in words, where the value does not say it."""
    metavar: str | None = None
    kind: type | None = None
    """The type that is read, where it is not the field's."""
    between: tuple[float, float] | None = None

    def written(self, name: str) -> str:
        return self.flag or "--" + name.strip("_").replace("_", "-")


ManifestArgument = Annotated[str, typer.Argument(help="JSONL, CSV or TSV file, also .gz; `-` reads standard input.")]
ConfigOption = Annotated[
    Path | None,
    typer.Option(help="Config file with these options as keys. (default: cosyvoice-batch.toml beside MANIFEST)"),
]
ShowOption = Annotated[int, typer.Option("--show", help="Most rows of a table or list; 0: all.", min=0)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout. (default: no)")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Warnings and failures only. (default: no)")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="A line for every item. (default: no)")]

FOLDER_WAIT = Option("Seconds to wait for a run on the same folder.", flag="--wait", between=(0, math.inf))
OWN_PROFILES = Option("Folder with profiles of your own.", metavar="FOLDER")
PARTIAL = Option("Go on without items that failed or were not made yet.")

Command = Callable[..., None]


def with_settings(*tables: Mapping[str, Option]) -> Callable[[Command], Command]:
    """Give a command the options of these settings: it receives `flags`, a mapping of those that were given."""
    hints, defaults = typing.get_type_hints(Settings), Settings()
    parameters = [
        # Bounds are `cli/config.py`'s to check: they hold for the config file too.
        _parameter(name, hints[name], replace(option, between=None), None, getattr(defaults, name))
        for table in tables
        for name, option in table.items()
    ]

    def decorate(command: Command) -> Command:
        return _expanded(
            command, "flags", parameters, lambda values: {name: v for name, v in values.items() if v is not None}
        )

    return decorate


def with_options(kind: type[Any]) -> Callable[[Command], Command]:
    """Give a command the options that are the fields of a dataclass: it receives an instance as `asked`."""
    hints = typing.get_type_hints(kind, include_extras=True)
    parameters = []
    for field in fields(kind):
        hint, option = typing.get_args(hints[field.name])
        parameters.append(_parameter(field.name, hint, option, field.default, field.default))

    def gather(values: dict[str, Any]) -> Any:
        for name, value in values.items():
            hint, option = typing.get_args(hints[name])
            if choices := choices_of(hint):
                require_choice(option.written(name), value, choices)
        return kind(**values)

    return lambda command: _expanded(command, "asked", parameters, gather)


def _expanded(
    command: Command, place: str, parameters: list[inspect.Parameter], gather: Callable[[dict[str, Any]], Any]
) -> Command:
    """The command as typer sees it: `parameters` where it has the one called `place`."""

    @wraps(command)
    def called(**values: Any) -> None:
        taken = {parameter.name: values.pop(parameter.name) for parameter in parameters}
        command(**values, **{place: gather(taken)})

    shown: list[inspect.Parameter] = []
    for own in inspect.signature(command, eval_str=True).parameters.values():
        shown += parameters if own.name == place else [own.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return called


def _parameter(name: str, hint: Any, option: Option, default: object, stands_for: object) -> inspect.Parameter:
    """The option in typer's words. `default` is what comes where it is not given, `stands_for` what that means."""
    kind = option.kind or plain_type(hint)
    low, high = option.between or (None, None)
    info = typer.Option(
        *([option.written(name), option.short] if option.short else [option.written(name)]),
        help=f"{option.help} (default: {option.default or spelled(stands_for)})",
        show_default=False,
        rich_help_panel=option.panel,
        metavar=option.metavar or ("PATH" if kind is Path else None),
        parser=_path if kind is Path else None,
        min=low,
        max=None if high == math.inf else high,
    )
    annotation: Any = Annotated[kind | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _path(written: str) -> Path:
    """A path; an empty one, from a variable that a script forgot to set, must not mean the current folder."""
    if not written:
        raise typer.BadParameter("the path is empty")
    return Path(written)


def plain_type(hint: Any) -> Any:
    """The type that a value is read as: `int` for `int | None`, `str` for a choice of words."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    return str if typing.get_origin(hint) is Literal else hint


def choices_of(hint: Any) -> tuple[str, ...]:
    """The words of a `Literal`; none for any other type."""
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else ()


def require_choice(flag: str, value: str, choices: tuple[str, ...]) -> None:
    """Raises UserError for a value that is none of the words."""
    from jobs.fields import suggestion

    if value not in choices:
        raise UserError(f"{flag}: {value!r} is not one of {', '.join(choices)}; {suggestion(value, choices)}")


def spelled(value: object) -> str:
    """A default as `--help` shows it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
