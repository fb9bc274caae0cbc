"""Everything a run needs before its first row: engine, profiles, voices, lexicon, text front end, planner.

What had to be replaced by something lesser is a warning here; nothing is replaced in silence.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cosyvoice.catalog import ENGINES, KOKORO, EngineFacts
from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import find_files
from jobs.casting import Casting, model_revision
from jobs.errors import EnvironmentFault, UserError
from jobs.finish import FINISH_VERSION
from jobs.lexicon import Lexicon
from jobs.naming import NameRule
from jobs.plan import Planner
from jobs.row_check import RowRules
from jobs.settings import Settings
from jobs.text import VERSION as TEXT_VERSION
from jobs.text import FrontEnd
from jobs.version import library_version
from jobs.voice_store import voice_folders
from jobs.words import default_model_folder, open_word_breaker
from presets.catalog import PresetError, profiles, voices

if TYPE_CHECKING:
    from presets.catalog import Profile, VoicePreset

_LIBRARIES = ("numpy", "soundfile", "soxr", "wetext", "spacy-pkuseg", "rjieba", "onnxruntime", "misaki", "hibari-tts")


@dataclass(frozen=True, slots=True)
class Gear:
    """A run's equipment."""

    engine: EngineFacts
    revision: str
    profiles: Mapping[str, Profile]
    voices: Mapping[str, VoicePreset]
    front_end: FrontEnd
    lexicon: Lexicon | None
    casting: Casting
    planner: Planner
    rules: RowRules
    text_front_end: Mapping[str, str]
    libraries: Mapping[str, str]
    warnings: tuple[str, ...]


def gather(settings: Settings, folder: Path) -> Gear:
    """Find and check all of it. Raises UserError or EnvironmentFault with the next step."""
    engine, warnings = choose_engine(settings)
    shapes, cast = load_presets(settings)
    _require_known(settings, shapes, cast)
    lexicon = Lexicon.read(settings.lexicon) if settings.lexicon is not None else None
    words = open_word_breaker(settings.segmenter_model or default_model_folder())
    if words.degraded is not None:
        warnings.append(words.degraded)
    front_end = FrontEnd(lexicon, words)
    revision = model_revision(engine, settings.model)
    casting = Casting(engine, cast, settings.voice)
    planner = Planner(
        settings=settings,
        engine=engine,
        revision=revision,
        casting=casting,
        profiles=shapes,
        front_end=front_end,
        finish_version=FINISH_VERSION,
        folder=folder,
    )
    return Gear(
        engine=engine,
        revision=revision,
        profiles=shapes,
        voices=cast,
        front_end=front_end,
        lexicon=lexicon,
        casting=casting,
        planner=planner,
        rules=_row_rules(settings, shapes, cast),
        text_front_end={
            "version": TEXT_VERSION,
            "normalizer": f"wetext {library_version('wetext')} and own rules",
            "segmenter": words.name,
            "lexicon": str(settings.lexicon) if settings.lexicon else "none",
        },
        libraries={name: library_version(name) for name in _LIBRARIES},
        warnings=tuple(warnings),
    )


def _require_known(settings: Settings, shapes: Mapping[str, Profile], cast: Mapping[str, VoicePreset]) -> None:
    if settings.profile not in shapes:
        raise UserError(f"--profile: no profile is called {settings.profile!r}{_near(settings.profile, shapes)}")
    if settings.voice is not None and settings.voice not in cast:
        raise UserError(f"--voice: no voice is called {settings.voice!r}{_near(settings.voice, cast)}")


def _row_rules(settings: Settings, shapes: Mapping[str, Profile], cast: Mapping[str, VoicePreset]) -> RowRules:
    """What a row may name, and what holds for one that names nothing."""
    return RowRules(
        profile=settings.profile,
        suffix_of={name: profile.suffix for name, profile in shapes.items()},
        naming_of={name: profile.naming for name, profile in shapes.items()},
        voices=frozenset(cast),
        language=settings.language,
        seed=settings.seed,
        empty=settings.empty,
        name_rule_of={
            name: NameRule(p.name_pattern, p.name_rule, p.name_max_chars, p.folder)
            for name, p in shapes.items()
            if p.name_pattern or p.name_max_chars or p.folder
        },
    )


def choose_engine(settings: Settings) -> tuple[EngineFacts, list[str]]:
    """The engine that this run uses, with a warning where it was chosen for want of a better one."""
    if ":" in settings.engine:
        return _plugin(settings.engine), []
    if settings.engine == "auto" and settings.model is None:
        return KOKORO, [
            "no CosyVoice model is configured: the embedded voice (Kokoro) speaks, it cannot clone a voice or follow "
            "an instruction; give --model FOLDER for CosyVoice"
        ]
    if settings.engine != "auto" and settings.engine not in ENGINES:
        raise UserError(f"--engine: no engine is called {settings.engine!r}{_near(settings.engine, ENGINES)}")
    if settings.engine != "auto" and not ENGINES[settings.engine].needs_model:
        return ENGINES[settings.engine], []
    if settings.model is None:
        raise EnvironmentFault(f"the engine {settings.engine!r} needs a model folder; give --model FOLDER")
    try:
        found = ENGINES[f"cosyvoice{find_files(settings.model).generation}"]
    except ModelMissing as error:
        raise EnvironmentFault(str(error)) from error
    if settings.engine not in ("auto", found.name):
        raise EnvironmentFault(f"{settings.model} is a model of {found.name}; use --engine {found.name} or auto")
    return found, []


def _plugin(reference: str) -> EngineFacts:
    """An engine of the user's own: `module:NAME` of its EngineFacts."""
    module, _, name = reference.partition(":")
    try:
        facts = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UserError(f"--engine: {reference!r} cannot be imported: {error}") from error
    if not isinstance(facts, EngineFacts):
        raise UserError(f"--engine: {reference!r} is not an EngineFacts")
    return facts


def load_presets(settings: Settings) -> tuple[dict[str, Profile], dict[str, VoicePreset]]:
    """Profiles and voices: the shipped ones and those of the user's folders."""
    try:
        return (
            profiles([settings.profiles_folder] if settings.profiles_folder else []),
            voices(voice_folders(settings.voices_folder)),
        )
    except PresetError as error:
        raise UserError(str(error)) from error


def _near(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(known))}"
