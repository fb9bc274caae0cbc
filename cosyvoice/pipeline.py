"""The CosyVoice engines: text ids → speech ids → mel → waveform, many utterances at once on one device.

The language model runs as long as it has work and room; what it has ended waits until a flow batch is full or nothing
else is in flight, so on one device the stages take turns and none starves.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from cosyvoice.config import ModelConfig
from cosyvoice.engine import DeviceFault, EngineError, Speech, Utterance, Voice
from cosyvoice.guards import GAP_LEVEL, sample_flags, token_flags
from cosyvoice.lm_request import NOT_FINITE, LmRequest, LmResult
from cosyvoice.placement import held_bytes, is_device_lost, is_out_of_memory
from cosyvoice.precision import Precision
from cosyvoice.rescue import Rescue
from cosyvoice.sampling import SILENT_IDS, drop_long_silences
from cosyvoice.script import lm_request
from cosyvoice.sounding import Sound, Sounding, Spoken
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.staging import Trial
from cosyvoice.tokenizer import TextTokenizer
from cosyvoice.voice import BadReference, VoicePrompt, VoiceReader

log = logging.getLogger(__name__)

EMPTY = np.zeros(0, dtype=np.float32)
REHEARSAL = "你好。"
"""Spoken once when an engine is loaded. Short: on a CPU every second of it costs two."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much a device is given to hold at once."""

    slots: int
    """Utterances in the language model."""
    lm_tokens: int
    """Positions of its cache."""
    flow_frames: int
    """Padded mel frames of one flow batch, reference included."""


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds spent in each stage since the engine was loaded, and what came out: `--profile-engine` prints it."""

    reference_s: float
    lm_s: float
    flow_s: float
    vocoder_s: float
    speech_ids: int
    audio_s: float


@dataclass(frozen=True, slots=True)
class _Cast:
    """An utterance with its voice as the networks need it."""

    utterance: Utterance
    prompt: VoicePrompt
    request: LmRequest


class Pipeline:
    """One loaded model on one device; satisfies `Engine`."""

    def __init__(
        self,
        *,
        config: ModelConfig,
        tokenizer: TextTokenizer,
        lm: SpeechLm,
        sounding: Sounding,
        voices: VoiceReader,
        rescue: Rescue,
        precision: Precision,
        room: Room,
        device: torch.device,
        trials: Sequence[Trial] = (),
    ) -> None:
        """`trials`: how each stage came through its self-test, where it had one."""
        self._config, self.tokenizer = config, tokenizer
        self._lm, self.sounding, self._voices = lm, sounding, voices
        self._precision, self.device = precision, device
        self._rescue = rescue
        self._casts: dict[str, _Cast] = {}
        self._refused: list[Speech] = []
        self._again: deque[LmRequest] = deque()
        self._one_by_one = False
        self._trials = trials
        self._rehearsed = ""
        self.moved: dict[str, str] = {}
        """Stages that do not run where they should, with the reason -> what that costs."""
        self.placement = ""
        """What was checked of where it computes."""
        self._reference_s = self._lm_s = self._audio_s = 0.0
        self._speech_ids = 0
        self.appetite = room.slots + room.slots // 2
        self._notes: list[str] = [] if precision.fallback is None else [precision.fallback]

    @property
    def device_memory_bytes(self) -> int | None:
        """What the engine holds on an accelerator; None for the CPU."""
        return held_bytes(self.device)

    @property
    def times(self) -> StageTimes:
        """Where the time went since the engine was loaded."""
        return StageTimes(
            reference_s=self._reference_s,
            lm_s=self._lm_s,
            flow_s=self.sounding.flow_s,
            vocoder_s=self.sounding.vocoder_s,
            speech_ids=self._speech_ids,
            audio_s=self._audio_s,
        )

    @property
    def sample_rate_hz(self) -> int:
        return self._config.sample_rate_hz

    @property
    def description(self) -> dict[str, str]:
        told = {
            "model": f"CosyVoice {self._config.generation}",
            "device": self.placement or str(self.device),
            "precision": f"{self._precision.name} (language model/flow/vocoder)",
            "torch": torch.__version__,
            "threads": str(torch.get_num_threads()),
        }
        rescues = [f"{count} utterances needed the {step}" for step, count in self._rescue.counts.items()]
        moved = [f"{what}; {cost}" for what, cost in self.moved.items()]
        notes = "; ".join([*moved, *self._notes, *self.sounding.notes, *rescues])
        told |= {"self test": self._self_test()} if self._rehearsed else {}
        return told | ({"notes": notes} if notes else {})

    def _self_test(self) -> str:
        compared = [f"{trial.stage} {trial.error:.1%}" for trial in self._trials if trial.error is not None]
        return self._rehearsed + (f"; off the CPU's numbers: {', '.join(compared)}" if compared else "")

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        """See `Engine.speak`."""
        try:
            yield from self._speak(iter(utterances))
        except RuntimeError as error:
            if is_device_lost(error):
                raise DeviceFault(f"{self.device} is lost: {error}") from error
            raise

    def _speak(self, source: Iterator[Utterance | None]) -> Iterator[Speech]:
        ready: list[Spoken] = []
        results = self._lm.generate(self._requests(source))
        while True:
            start = perf_counter()
            try:
                result = next(results, _END)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                self._make_do(error)
                results = self._lm.generate(self._requests(source))
                result = None
            self._lm_s += perf_counter() - start
            if isinstance(result, LmResult):
                ready += self._judge(result)
            yield from self._take_refused()
            if ready and (
                result is _END or self._lm.live == 0 or self.sounding.frames(ready) >= self.sounding.most_frames
            ):
                yield from map(self._speech, self.sounding.sound(ready))
                ready = []
            if result is _END:
                return

    def _make_do(self, error: RuntimeError) -> None:
        """The language model is short of memory: hold fewer utterances from now on, and begin those in hand again."""
        in_hand = list(self._casts.values())
        if self._lm.shrink():
            self._note(f"out of memory: the language model holds at most {self._lm.slots} utterances")
        elif len(in_hand) == 1:
            del self._casts[in_hand[0].utterance.id]
            self._refuse(in_hand[0].utterance.id, f"out of memory for this utterance alone: {error}")
            return
        elif not self._one_by_one:
            self._one_by_one = True
            self._note("out of memory: the language model takes one utterance at a time")
        else:
            raise DeviceFault(f"out of memory in the language model: {error}") from error
        self._again.extend(cast.request for cast in in_hand)

    def _note(self, note: str) -> None:
        self._notes.append(note)
        log.warning("%s", note)

    def rehearse(self) -> None:
        """Speak a fixed sentence before the work: it warms the engine up and catches a model that makes no speech.

        It also shows what a stage costs that runs elsewhere than it should. Raises EngineError when nothing usable
        comes out. What looks odd but may be right (a sentence that did not end
        by itself) is noted in the description.
        """
        nobody = VoicePrompt((), torch.zeros(0, self._config.mel.mels), torch.ones(self._config.flow.speaker_width))
        utterance = Utterance("rehearsal", REHEARSAL, Voice("rehearsal", "rehearsal"), mode="cross_lingual", seed=1)
        request = lm_request(utterance, nobody, self.tokenizer, self._config.generation)
        self._casts[utterance.id] = _Cast(utterance, nobody, request)
        start = perf_counter()
        result = next(entry for entry in self._lm.generate(iter([request])) if entry is not None)
        self._lm_s += perf_counter() - start
        speeches = [self._speech(sound) for sound in self.sounding.sound(self._judge(result))]
        refused = [speech.error for speech in (*self._take_refused(), *speeches) if speech.error]
        samples = speeches[0].samples if speeches else EMPTY
        if refused or not np.isfinite(samples).all() or float(np.abs(samples).max(initial=0.0)) < GAP_LEVEL:
            found = refused[0] if refused else "silence or numbers that are not finite"
            raise EngineError(
                f"the model says {REHEARSAL!r} as {found}: the folder is damaged or the number format unfit; "
                "run `cosyvoice-batch models verify`, or try --precision fp32"
            )
        length_s = samples.size / self.sample_rate_hz
        ended = "" if result.ended else ", which did not end by itself: listen to the first items"
        self._rehearsed = f"{REHEARSAL!r} gave {length_s:.1f} s{ended}"
        self._tell_moved(length_s)

    def _tell_moved(self, length_s: float) -> None:
        """Which stages run elsewhere than they should, why, and how long each took for the rehearsal."""
        seconds = dict(zip(("language model", "flow", "vocoder"), self._stage_seconds(), strict=True))
        for trial in self._trials:
            if trial.moved:
                cost = f"it took {seconds[trial.stage]:.1f} s for {length_s:.1f} s of speech when it was tried"
                self.moved[trial.moved] = cost
                log.warning("%s; %s", trial.moved, cost)

    def _stage_seconds(self) -> tuple[float, float, float]:
        return self._lm_s, self.sounding.flow_s, self.sounding.vocoder_s

    # -- from utterance to speech ids ------------------------------------------------------------------------------

    def _requests(self, utterances: Iterator[Utterance | None]) -> Iterator[LmRequest | None]:
        while True:
            while self._again:
                yield self._again.popleft()
            if self._one_by_one and self._casts:
                yield None
                continue
            try:
                utterance = next(utterances)
            except StopIteration:
                return
            if utterance is None:
                yield None
                continue
            start = perf_counter()
            try:
                prompt = self._prompt(utterance)
            except BadReference as error:
                self._refuse(utterance.id, str(error))
                yield None
                continue
            finally:
                self._reference_s += perf_counter() - start
            request = lm_request(utterance, prompt, self.tokenizer, self._config.generation)
            self._casts[utterance.id] = _Cast(utterance, prompt, request)
            yield request

    def _prompt(self, utterance: Utterance) -> VoicePrompt:
        voice = utterance.voice
        if voice.audio is not None:
            return self._voices.read(Path(voice.audio))
        if voice.speaker is not None:
            return self._voices.stored(voice.speaker)
        raise BadReference(f"the voice {voice.name!r} has neither reference audio nor a stored speaker")

    def _refuse(self, utterance_id: str, reason: str) -> None:
        self._refused.append(Speech(utterance_id, EMPTY, self.sample_rate_hz, error=reason))

    def _take_refused(self) -> list[Speech]:
        taken, self._refused = self._refused, []
        return taken

    def _judge(self, result: LmResult) -> list[Spoken]:
        """Speech ids of one utterance, flagged; none if there is nothing to hear."""
        cast = self._casts.pop(result.id)
        if result.fault == NOT_FINITE:
            result = self._rescue.ids(cast.request) or result
        if result.fault is not None:
            self._refuse(result.id, f"the language model gave up: {result.fault}")
            return []
        self._speech_ids += len(result.tokens)
        flags = token_flags(result.tokens, cast.prompt.speech_ids, SILENT_IDS)
        ids = result.tokens
        if self._config.generation == 3:
            ids = tuple(drop_long_silences(ids))
        if not ids:
            self._refuse(result.id, "the language model ended before it had spoken")
            return []
        return [Spoken(cast.utterance, cast.prompt, ids, flags if result.ended else (*flags, "runaway"))]

    def _speech(self, sound: Sound) -> Speech:
        utterance = sound.spoken.utterance
        if sound.samples is None:
            return Speech(utterance.id, EMPTY, self.sample_rate_hz, error=sound.error)
        self._audio_s += sound.samples.size / self.sample_rate_hz
        flags = (*sound.spoken.flags, *sample_flags(sound.samples, self.sample_rate_hz))
        return Speech(utterance.id, sound.samples, self.sample_rate_hz, flags=flags)


_END = object()
