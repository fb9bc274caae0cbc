"""Puts a CosyVoice engine together from a model folder, on a device, and proves it before it is handed out."""

from __future__ import annotations

from pathlib import Path

import torch

from cosyvoice.config import ModelConfig
from cosyvoice.engine import EngineError
from cosyvoice.flow import Flow
from cosyvoice.model_folder import ModelFiles, find_files
from cosyvoice.pipeline import Pipeline, Room
from cosyvoice.placement import Placement, open_device
from cosyvoice.precision import Precision, choose_precision
from cosyvoice.read_config import read_config
from cosyvoice.rescue import Rescue
from cosyvoice.sounding import Sounding
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.tokenizer import TextTokenizer
from cosyvoice.vocoder import Vocoder
from cosyvoice.voice import VoiceReader
from cosyvoice.weights import read_checkpoint

ROOM = {"cpu": Room(32, 32_768, 2_000), "accelerator": Room(128, 196_608, 32_000)}


def load(*, model_folder: str | None, device: str, precision: str, threads: int) -> Pipeline:
    """Load a model folder on a device. Raises ModelMissing or EngineError with what to do."""
    if model_folder is None:
        raise EngineError("a CosyVoice engine needs a model folder: give --model FOLDER")
    files = find_files(Path(model_folder))
    place = open_device(device)
    placement = Placement(place)
    room = ROOM["cpu" if place.type == "cpu" else "accelerator"]
    engine = assemble(files, read_config(files), place, choose_precision(place, precision), room, threads)
    engine.placement = placement.prove(engine.sounding.weights())
    engine.rehearse()
    return engine


def assemble(
    files: ModelFiles, config: ModelConfig, place: torch.device, formats: Precision, room: Room, threads: int
) -> Pipeline:
    """Put the networks of a model folder together. The checkpoints are memory-mapped; no tensor is held twice."""
    torch.set_num_threads(threads)
    rescue = Rescue(files, config, place, formats)
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
        sounding=Sounding(
            flow=Flow.build(config.flow, read_checkpoint(files.flow), place, formats.flow),
            vocoder=Vocoder.build(config.vocoder, read_checkpoint(files.hift), place),
            rescue=rescue,
            frames_per_id=config.flow.frames_per_token,
            most_frames=room.flow_frames,
        ),
        voices=VoiceReader(files, config, cache_folder=voice_cache(files), threads=threads),
        rescue=rescue,
        precision=formats,
        room=room,
        device=place,
    )


def voice_cache(files: ModelFiles) -> Path:
    """Where features of reference audio are kept for all runs and workers of this user."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("cosyvoice-batch")) / "voices" / f"cosyvoice{files.generation}"
