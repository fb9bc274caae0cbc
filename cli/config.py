"""Flags over config file over defaults: the settings of a run, checked."""

from __future__ import annotations

import difflib
import os
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from cli.options import choices_of, plain_type
from cli.settings_table import ALL
from jobs.device_choice import read_wishes
from jobs.errors import UserError
from jobs.language_codes import language_code
from jobs.model_store import model_for
from jobs.settings import Settings

CONFIG_NAME = "cosyvoice-batch.toml"
_HINTS = typing.get_type_hints(Settings)


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
    kind = plain_type(_HINTS[name])
    if kind is Path and isinstance(value, str):
        return folder / Path(value).expanduser(), ""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value), ""
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value, ""
    return None, f"expected {kind.__name__}, found {value!r}"


def _check(settings: Settings, config: Path | None) -> None:
    wrong = []
    for name, option in ALL.items():
        value, flag, choices = getattr(settings, name), option.written(name), choices_of(_HINTS[name])
        if value == "":
            wrong.append(f"{flag}: is empty; give a value or leave it out")
        elif choices and value not in choices:
            wrong.append(f"{flag}: {value!r} is not one of {', '.join(choices)}")
        elif option.between and value is not None and not option.between[0] <= value <= option.between[1]:
            low, high = option.between
            wrong.append(f"{flag}: {value} is not between {low:,.10g} and {high:,.10g}")
    try:
        read_wishes(settings.devices)
    except ValueError as error:
        wrong.append(f"--devices: {error}")
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
