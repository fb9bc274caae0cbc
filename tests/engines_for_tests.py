"""Engines that misbehave on purpose, loaded by the real worker as `--engine engines_for_tests:NAME`.

They are engines like any other (tones instead of speech); only their faults are made up.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from cosyvoice.catalog import KOKORO, TONE, EngineFacts
from cosyvoice.engine import DeviceFault, Engine, Speech, Utterance
from cosyvoice.kokoro import load as load_kokoro
from cosyvoice.tone import load as load_tone


def _facts(name: str) -> EngineFacts:
    return replace(TONE, name="tone", title=f"test engine: {name}", factory=f"engines_for_tests:load_{name}")


FIRST_TAKE_SILENT = _facts("first_take_silent")
ALWAYS_SILENT = _facts("always_silent")
BABBLES = _facts("babbles")
RAISES = _facts("raises")
DIES = _facts("dies")
DIES_ONCE = _facts("dies_once")
HANGS_ONCE = _facts("hangs_once")
SLOW = _facts("slow")
UNLOADABLE = _facts("unloadable")
SWAPS_VOICE = replace(_facts("swaps_voice"), needs_model=True, embeds_speakers=True)
BABBLING_KOKORO = replace(KOKORO, factory="engines_for_tests:load_babbling_kokoro", seeded=True)


class _Around:
    """A tone engine with something done to each utterance or speech."""

    appetite = 2

    def __init__(self, inner: Engine) -> None:
        self._inner = inner
        self.sample_rate_hz = inner.sample_rate_hz
        self.description = {**inner.description, "model": type(self).__name__}

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        for utterance in utterances:
            if utterance is not None:
                self.before(utterance)
                yield self.after(utterance, next(iter(self._inner.speak(iter([utterance])))))

    def before(self, utterance: Utterance) -> None:
        pass

    def after(self, utterance: Utterance, speech: Speech) -> Speech:
        return speech


def _first(utterance: Utterance) -> bool:
    """Whether this is the first attempt at its segment (the schedule's key ends with the attempt)."""
    return utterance.id.endswith("\n0")


class _FirstTakeSilent(_Around):
    def after(self, utterance: Utterance, speech: Speech) -> Speech:
        return replace(speech, samples=np.zeros_like(speech.samples)) if _first(utterance) else speech


class _AlwaysSilent(_Around):
    def after(self, utterance: Utterance, speech: Speech) -> Speech:
        return replace(speech, samples=np.zeros_like(speech.samples))


class _Babbles(_Around):
    """Each attempt is shorter than the one before, none is as short as the text."""

    def after(self, utterance: Utterance, speech: Speech) -> Speech:
        times = {"0": 30, "1": 20, "2": 10}[utterance.id[-1]]
        return replace(speech, samples=np.tile(speech.samples, times))


class _Raises(_Around):
    def after(self, utterance: Utterance, speech: Speech) -> Speech:
        if "boom" in utterance.text:
            return replace(speech, samples=speech.samples[:0], error="RuntimeError: the text says boom")
        return speech


class _Dies(_Around):
    def before(self, utterance: Utterance) -> None:
        if "deadly" in utterance.text:
            os.kill(os.getpid(), signal.SIGKILL)


class _DiesOnce(_Around):
    """Dies at its third utterance, once in the life of the run folder's marker file."""

    def __init__(self, inner: Engine) -> None:
        super().__init__(inner)
        self._left = 3

    def before(self, utterance: Utterance) -> None:
        self._left -= 1
        marker = Path(os.environ["TEST_MARKER"])
        if self._left == 0 and not marker.exists():
            marker.touch()
            raise DeviceFault("device lost: simulated error 507015")


class _HangsOnce(_Around):
    def before(self, utterance: Utterance) -> None:
        marker = Path(os.environ["TEST_MARKER"])
        if not marker.exists():
            marker.touch()
            time.sleep(3600)


class _Slow(_Around):
    def before(self, utterance: Utterance) -> None:
        time.sleep(float(os.environ.get("TEST_SECONDS", "0.05")))


class _BabblingKokoro(_Around):
    """Says other words: at the first take of a text with "swap" in it, at every take of one with "wrong"."""

    def __init__(self, inner: Engine) -> None:
        super().__init__(inner)
        self.description = dict(inner.description)

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        for utterance in utterances:
            if utterance is not None:
                other = "wrong" in utterance.text or ("swap" in utterance.text and _first(utterance))
                said = "Seven green bottles were standing by the garden wall." if other else utterance.text
                yield next(iter(self._inner.speak(iter([replace(utterance, text=said)]))))


class _SwapsVoice(_Around):
    """Replays clips: another voice at the first take of a text with "swap" in it, at every take of one with "wrong"."""

    def after(self, utterance: Utterance, speech: Speech) -> Speech:
        other = "wrong" in utterance.text or ("swap" in utterance.text and _first(utterance))
        clip = Path(os.environ["TEST_CLIPS"]) / ("am_michael.f32" if other else "af_heart.f32")
        return replace(speech, samples=np.fromfile(clip, "<f4"))


def load_swaps_voice(**options: object) -> Engine:
    return _SwapsVoice(load_tone(**options))  # type: ignore[arg-type]


def load_babbling_kokoro(**options: object) -> Engine:
    return _BabblingKokoro(load_kokoro(**options))  # type: ignore[arg-type]


def load_first_take_silent(**options: object) -> Engine:
    return _FirstTakeSilent(load_tone(**options))  # type: ignore[arg-type]


def load_always_silent(**options: object) -> Engine:
    return _AlwaysSilent(load_tone(**options))  # type: ignore[arg-type]


def load_babbles(**options: object) -> Engine:
    return _Babbles(load_tone(**options))  # type: ignore[arg-type]


def load_raises(**options: object) -> Engine:
    return _Raises(load_tone(**options))  # type: ignore[arg-type]


def load_dies(**options: object) -> Engine:
    return _Dies(load_tone(**options))  # type: ignore[arg-type]


def load_dies_once(**options: object) -> Engine:
    return _DiesOnce(load_tone(**options))  # type: ignore[arg-type]


def load_hangs_once(**options: object) -> Engine:
    return _HangsOnce(load_tone(**options))  # type: ignore[arg-type]


def load_slow(**options: object) -> Engine:
    return _Slow(load_tone(**options))  # type: ignore[arg-type]


def load_unloadable(**options: object) -> Engine:
    raise RuntimeError("this engine never loads")
