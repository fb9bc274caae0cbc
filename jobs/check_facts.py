"""What a run checks its takes by, in words for the report: which limits are in force and where each comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cosyvoice.catalog import EngineFacts
from jobs.listener import LEAST_SPEECH_S
from jobs.settings import Settings

if TYPE_CHECKING:
    from presets.catalog import Profile


def thresholds(settings: Settings, profiles: Mapping[str, Profile]) -> dict[str, float]:
    """Greatest error rate of a take by profile; the option goes before the profiles."""
    chosen = settings.verify_threshold
    return {name: profile.verify_threshold if chosen is None else chosen for name, profile in profiles.items()}


def compares_voices(settings: Settings, engine: EngineFacts) -> bool:
    """Whether takes are held against their voice's reference."""
    return engine.embeds_speakers and settings.timbre_threshold > 0


def check_facts(
    settings: Settings, engine: EngineFacts, profiles: Mapping[str, Profile], used: Iterable[str]
) -> dict[str, str]:
    """Check to its state, limits and their source. `used` are the names of the profiles that rows of the run have."""
    return {
        "takes": f"at most {settings.takes} of a segment" if engine.seeded else "one of a segment: nothing is drawn",
        "listening": _listening(settings, profiles, used),
        "timbre": _timbre(settings, engine),
    }


def _listening(settings: Settings, profiles: Mapping[str, Profile], used: Iterable[str]) -> str:
    if settings.verify == "none":
        return "off: give --verify asr"
    if settings.verify_threshold is not None:
        limit = f"{settings.verify_threshold:g} (--verify-threshold)"
    else:
        of_profile = {name: profiles[name].verify_threshold for name in sorted(set(used)) if name in profiles}
        limit = ", ".join(f"{share:g} (profile {name})" for name, share in of_profile.items()) or "none needed"
    model = Path(settings.verify_model or "").name
    return f"{model}, error rate at most {limit}, then {settings.verify_policy}"


def _timbre(settings: Settings, engine: EngineFacts) -> str:
    if not engine.embeds_speakers:
        return f"not available: {engine.title} has no speaker encoder"
    if not compares_voices(settings, engine):
        return "off: --timbre-threshold is 0"
    limit = f"{settings.timbre_threshold:g} (--timbre-threshold)"
    return f"likeness to the voice's reference at least {limit}, where a take speaks {LEAST_SPEECH_S:g} s or more"
