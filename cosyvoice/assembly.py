"""Puts a CosyVoice engine together from a model folder, on a device, and proves it before it is handed out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from cosyvoice.config import ModelConfig
from cosyvoice.engine import EngineError
from cosyvoice.flow import Flow
from cosyvoice.model_folder import ModelFiles, find_files
from cosyvoice.pipeline import Pipeline, Room
from cosyvoice.placement import Placement, open_device
from cosyvoice.precision import Precision
from cosyvoice.read_config import read_config
from cosyvoice.rescue import Now, Rescue
from cosyvoice.sounding import Sounding
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.stages import flow_stage, lm_stage, vocoder_stage
from cosyvoice.staging import Seat, Staging, untested
from cosyvoice.tokenizer import TextTokenizer
from cosyvoice.vocoder import Vocoder
from cosyvoice.voice import VoiceReader

ROOM = {"cpu": Room(32, 32_768, 2_000), "accelerator": Room(128, 196_608, 32_000)}


def load(*, model_folder: str | None, device: str, precision: str, threads: int, cpu_fallback: bool = True) -> Pipeline:
    """Load a model folder on a device; a stage that fails its self-test there is moved, see `staging.py`.

    Raises ModelMissing or EngineError with what to do, DeviceFault where the device fails in every stage, or in one and
    `cpu_fallback` is false.
    """
    if model_folder is None:
        raise EngineError("a CosyVoice engine needs a model folder: give --model FOLDER")
    files = find_files(Path(model_folder))
    config = read_config(files)
    place = open_device(device)
    placement = Placement(place)
    placement.require_computing()
    torch.set_num_threads(threads)
    lm, flow, vocoder = _seats(files, config, Staging(place, precision, cpu_fallback=cpu_fallback))
    engine = _joined(files, config, place, (lm, flow, vocoder), _room(lm.device, flow.device), threads)
    engine.placement = placement.prove(engine.sounding.weights(place))
    engine.rehearse()
    return engine


def assemble(
    files: ModelFiles, config: ModelConfig, place: torch.device, formats: Precision, room: Room, threads: int
) -> Pipeline:
    """Put the networks of a model folder together on one device without testing them: for measurements."""
    torch.set_num_threads(threads)
    lm, flow, vocoder = lm_stage(files, config, lambda _: room), flow_stage(files, config), vocoder_stage(files, config)
    seats = untested(lm, place, formats), untested(flow, place, formats), untested(vocoder, place, formats)
    return _joined(files, config, place, seats, room, threads)


def _seats(
    files: ModelFiles, config: ModelConfig, staging: Staging
) -> tuple[Seat[SpeechLm], Seat[Flow], Seat[Vocoder]]:
    """All three are tried on the device before one is moved: if all fail, the device is to blame and nothing is."""
    lm = lm_stage(files, config, lambda device: _room(device, device))
    flow, vocoder = flow_stage(files, config), vocoder_stage(files, config)
    tried = staging.on_device(lm), staging.on_device(flow), staging.on_device(vocoder)
    return staging.settled(lm, tried[0]), staging.settled(flow, tried[1]), staging.settled(vocoder, tried[2])


def _room(lm_device: torch.device, flow_device: torch.device) -> Room:
    lm, flow = (ROOM["cpu" if device.type == "cpu" else "accelerator"] for device in (lm_device, flow_device))
    return replace(lm, flow_frames=flow.flow_frames)


def _joined(
    files: ModelFiles,
    config: ModelConfig,
    place: torch.device,
    seats: tuple[Seat[SpeechLm], Seat[Flow], Seat[Vocoder]],
    room: Room,
    threads: int,
) -> Pipeline:
    lm, flow, vocoder = seats
    fallback = lm.precision.fallback or flow.precision.fallback
    formats = replace(flow.precision, lm=lm.precision.lm, vocoder=vocoder.precision.vocoder, fallback=fallback)
    rescue = Rescue(files, config, Now(lm.device, formats.lm), Now(flow.device, formats.flow))
    return Pipeline(
        config=config,
        tokenizer=TextTokenizer(files.text_folder, config.generation),
        lm=lm.network,
        sounding=Sounding(
            flow=flow.network,
            vocoder=vocoder.network,
            rescue=rescue,
            frames_per_id=config.flow.frames_per_token,
            most_frames=room.flow_frames,
        ),
        voices=VoiceReader(files, config, cache_folder=voice_cache(files), threads=threads),
        rescue=rescue,
        precision=formats,
        room=room,
        device=place,
        trials=tuple(seat.trial for seat in seats),
    )


def voice_cache(files: ModelFiles) -> Path:
    """Where features of reference audio are kept for all runs and workers of this user."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("cosyvoice-batch")) / "voices" / f"cosyvoice{files.generation}"
