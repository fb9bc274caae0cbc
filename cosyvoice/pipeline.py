"""The CosyVoice engines: text ids → speech ids → mel → waveform, many utterances at once on one device.

The language model runs as long as it has work and room; what it has ended waits until a flow batch is full or nothing
else is in flight, so on one device the stages take turns and none starves.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from cosyvoice.batches import buckets
from cosyvoice.config import ModelConfig
from cosyvoice.engine import DeviceFault, EngineError, Speech, Utterance, Voice
from cosyvoice.flow import Flow, FlowRequest, change_speed
from cosyvoice.guards import GAP_LEVEL, sample_flags, token_flags
from cosyvoice.lm_request import NOT_FINITE, LmRequest, LmResult
from cosyvoice.model_folder import ModelFiles, find_files
from cosyvoice.placement import Placement, held_bytes, is_device_lost, is_out_of_memory, open_device
from cosyvoice.precision import Precision, choose_precision
from cosyvoice.read_config import read_config
from cosyvoice.rescue import Rescue
from cosyvoice.sampling import SILENT_IDS, drop_long_silences
from cosyvoice.script import lm_request
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.tokenizer import TextTokenizer
from cosyvoice.vocoder import Vocoder
from cosyvoice.voice import BadReference, VoicePrompt, VoiceReader
from cosyvoice.weights import read_checkpoint

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


ROOM = {"cpu": Room(32, 32_768, 2_000), "accelerator": Room(128, 196_608, 32_000)}


@dataclass(slots=True)
class StageTimes:
    """Seconds spent in each stage since the engine was loaded, and what came out: `--profile-engine` prints it."""

    reference_s: float = 0.0
    lm_s: float = 0.0
    flow_s: float = 0.0
    vocoder_s: float = 0.0
    speech_ids: int = 0
    audio_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Cast:
    """An utterance with its voice as the networks need it."""

    utterance: Utterance
    prompt: VoicePrompt
    request: LmRequest


@dataclass(slots=True)
class _Ready:
    """An utterance whose speech ids are there."""

    cast: _Cast
    ids: tuple[int, ...]
    flags: tuple[str, ...] = field(default=())


class Pipeline:
    """One loaded model on one device; satisfies `Engine`."""

    def __init__(
        self,
        *,
        config: ModelConfig,
        tokenizer: TextTokenizer,
        lm: SpeechLm,
        flow: Flow,
        vocoder: Vocoder,
        voices: VoiceReader,
        rescue: Rescue,
        precision: Precision,
        room: Room,
        device: torch.device,
    ) -> None:
        self._config, self.tokenizer = config, tokenizer
        self._lm, self._flow, self._vocoder, self._voices = lm, flow, vocoder, voices
        self._precision, self._room, self.device = precision, room, device
        self._rescue = rescue
        self._casts: dict[str, _Cast] = {}
        self._refused: list[Speech] = []
        self._again: deque[LmRequest] = deque()
        self._one_by_one = False
        self._flow_frames = room.flow_frames
        self._self_test = ""
        self.placement = ""
        """What was checked of where it computes."""
        self.times = StageTimes()
        self.appetite = room.slots + room.slots // 2
        self._notes: list[str] = [] if precision.fallback is None else [precision.fallback]

    @property
    def device_memory_bytes(self) -> int | None:
        """What the engine holds on an accelerator; None for the CPU."""
        return held_bytes(self.device)

    def weights(self) -> Iterator[Tensor]:
        """Tensors that must lie on the device; the language model's text embedding stays on the host on purpose."""
        for module in (self._flow.front, self._flow.estimator, self._vocoder.net):
            yield from module.parameters()

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
        notes = "; ".join([*self._notes, *rescues])
        told |= {"self test": self._self_test} if self._self_test else {}
        return told | ({"notes": notes} if notes else {})

    def speak(self, utterances: Iterable[Utterance | None]) -> Iterator[Speech]:
        """See `Engine.speak`."""
        try:
            yield from self._speak(iter(utterances))
        except RuntimeError as error:
            if is_device_lost(error):
                raise DeviceFault(f"{self.device} is lost: {error}") from error
            raise

    def _speak(self, source: Iterator[Utterance | None]) -> Iterator[Speech]:
        ready: list[_Ready] = []
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
            self.times.lm_s += perf_counter() - start
            if isinstance(result, LmResult):
                ready += self._judge(result)
            yield from self._take_refused()
            if ready and (result is _END or self._lm.live == 0 or self._frames(ready) >= self._flow_frames):
                yield from self._sound(ready)
                yield from self._take_refused()
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

        Raises EngineError when nothing usable comes out. What looks odd but may be right (a sentence that did not end
        by itself) is noted in the description.
        """
        nobody = VoicePrompt((), torch.zeros(0, self._config.mel.mels), torch.ones(self._config.flow.speaker_width))
        utterance = Utterance("rehearsal", REHEARSAL, Voice("rehearsal", "rehearsal"), mode="cross_lingual", seed=1)
        request = lm_request(utterance, nobody, self.tokenizer, self._config.generation)
        self._casts[utterance.id] = _Cast(utterance, nobody, request)
        result = next(entry for entry in self._lm.generate(iter([request])) if entry is not None)
        speeches = [speech for entry in self._judge(result) for speech in self._sound([entry])]
        refused = [speech.error for speech in self._take_refused()]
        samples = speeches[0].samples if speeches else EMPTY
        if refused or not np.isfinite(samples).all() or float(np.abs(samples).max(initial=0.0)) < GAP_LEVEL:
            found = refused[0] if refused else "silence or numbers that are not finite"
            raise EngineError(
                f"the model says {REHEARSAL!r} as {found}: the folder is damaged or the number format unfit; "
                "run `cosyvoice-batch models verify`, or try --precision fp32"
            )
        length_s = samples.size / self.sample_rate_hz
        ended = "" if result.ended else ", which did not end by itself: listen to the first items"
        self._self_test = f"{REHEARSAL!r} gave {length_s:.1f} s{ended}"
        self.times = StageTimes()

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
                self.times.reference_s += perf_counter() - start
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

    def _judge(self, result: LmResult) -> list[_Ready]:
        """Speech ids of one utterance, flagged; none if there is nothing to hear."""
        cast = self._casts.pop(result.id)
        if result.fault == NOT_FINITE:
            result = self._rescue.ids(cast.request) or result
        if result.fault is not None:
            self._refuse(result.id, f"the language model gave up: {result.fault}")
            return []
        self.times.speech_ids += len(result.tokens)
        flags = token_flags(result.tokens, cast.prompt.speech_ids, SILENT_IDS)
        ids = result.tokens
        if self._config.generation == 3:
            ids = tuple(drop_long_silences(ids))
        if not ids:
            self._refuse(result.id, "the language model ended before it had spoken")
            return []
        return [_Ready(cast, ids, flags if result.ended else (*flags, "runaway"))]

    # -- from speech ids to samples --------------------------------------------------------------------------------

    def _frames(self, ready: list[_Ready]) -> int:
        per_id = self._config.flow.frames_per_token
        return sum(per_id * (len(entry.ids) + len(entry.cast.prompt.speech_ids)) for entry in ready)

    def _sound(self, ready: list[_Ready]) -> Iterator[Speech]:
        """Flow and vocoder for all of them, in batches that fit; a batch too large for the memory is halved."""
        queue = list(ready)
        while queue:
            lengths = [self._frames([entry]) for entry in queue]
            group = buckets(lengths, self._flow_frames)[0]
            batch = [queue[index] for index in group]
            try:
                speeches = self._sound_batch(batch)
            except torch.OutOfMemoryError as error:
                if len(batch) == 1:
                    raise DeviceFault(
                        f"out of memory for one utterance of {lengths[group[0]]} frames: {error}"
                    ) from error
                self._flow_frames = max(1, self._flow_frames // 2)
                self._notes.append(f"out of memory: flow batches are limited to {self._flow_frames} frames")
                log.warning("%s", self._notes[-1])
                continue
            yield from speeches
            queue = [entry for index, entry in enumerate(queue) if index not in set(group)]

    def _sound_batch(self, batch: list[_Ready]) -> list[Speech]:
        start = perf_counter()
        mels = [self._finite(mel, entry) for mel, entry in zip(self._mels(batch), batch, strict=True)]
        mels = [change_speed(mel, entry.cast.utterance.speed) for mel, entry in zip(mels, batch, strict=True)]
        between = perf_counter()
        seeds = [entry.cast.utterance.seed for entry in batch]
        waves = [wave.cpu() for wave in self._vocoder.waveform(mels, seeds)]
        self.times.flow_s += between - start
        self.times.vocoder_s += perf_counter() - between
        return [self._speech(entry, wave) for entry, wave in zip(batch, waves, strict=True)]

    def _mels(self, batch: list[_Ready]) -> list[Tensor]:
        return self._flow.mel([self._flow_request(entry) for entry in batch])

    def _finite(self, mel: Tensor, entry: _Ready) -> Tensor:
        """The mel, or one from a safer flow; what stays not finite is found by the take's checks."""
        if bool(torch.isfinite(mel).all()):
            return mel
        rescued = self._rescue.mel(self._flow_request(entry))
        return mel if rescued is None else rescued

    def _flow_request(self, entry: _Ready) -> FlowRequest:
        prompt = entry.cast.prompt
        return FlowRequest(
            tokens=torch.tensor(entry.ids, dtype=torch.int64),
            prompt_tokens=torch.tensor(prompt.speech_ids, dtype=torch.int64),
            prompt_mel=prompt.mel,
            embedding=prompt.embedding,
        )

    def _speech(self, entry: _Ready, wave: Tensor) -> Speech:
        samples = wave.numpy().astype(np.float32, copy=False)
        self.times.audio_s += samples.size / self.sample_rate_hz
        flags = (*entry.flags, *sample_flags(samples, self.sample_rate_hz))
        return Speech(entry.cast.utterance.id, samples, self.sample_rate_hz, flags=flags)


_END = object()


def load(*, model_folder: str | None, device: str, precision: str, threads: int) -> Pipeline:
    """Load a model folder on a device. Raises ModelMissing or EngineError with what to do."""
    if model_folder is None:
        raise EngineError("a CosyVoice engine needs a model folder: give --model FOLDER")
    files = find_files(Path(model_folder))
    place = open_device(device)
    placement = Placement(place)
    room = ROOM["cpu" if place.type == "cpu" else "accelerator"]
    engine = assemble(files, read_config(files), place, choose_precision(place, precision), room, threads)
    engine.placement = placement.prove(engine.weights())
    engine.rehearse()
    return engine


def assemble(
    files: ModelFiles, config: ModelConfig, place: torch.device, formats: Precision, room: Room, threads: int
) -> Pipeline:
    """Put the networks of a model folder together. The checkpoints are memory-mapped; no tensor is held twice."""
    torch.set_num_threads(threads)
    return Pipeline(
        config=config,
        tokenizer=TextTokenizer(files.text_folder, config.generation),
        lm=SpeechLm(
            config.lm,
            read_checkpoint(files.llm),
            precision=formats,
            device=place,
            slots=room.slots,
            token_budget=room.lm_tokens,
            name="llm.pt",
        ),
        flow=Flow.build(config.flow, read_checkpoint(files.flow), place, formats.flow),
        vocoder=Vocoder.build(config.vocoder, read_checkpoint(files.hift), place),
        voices=VoiceReader(files, config, cache_folder=voice_cache(files), threads=threads),
        rescue=Rescue(files, config, place, formats),
        precision=formats,
        room=room,
        device=place,
    )


def voice_cache(files: ModelFiles) -> Path:
    """Where features of reference audio are kept for all runs and workers of this user."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("cosyvoice-batch")) / "voices" / f"cosyvoice{files.generation}"
