"""Which files a CosyVoice model folder must hold, where they are published, and whether a folder is complete."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cosyvoice.engine import ModelMissing

Generation = Literal[2, 3]

PUBLISHED: dict[Generation, tuple[str, str]] = {
    2: ("iic/CosyVoice2-0.5B on ModelScope", "FunAudioLLM/CosyVoice2-0.5B on Hugging Face"),
    3: ("FunAudioLLM/Fun-CosyVoice3-0.5B-2512 on ModelScope", "FunAudioLLM/Fun-CosyVoice3-0.5B-2512 on Hugging Face"),
}
TEXT_FOLDER = "CosyVoice-BlankEN"
_YAML: dict[Generation, str] = {2: "cosyvoice2.yaml", 3: "cosyvoice3.yaml"}
_CHECKPOINTS = ("llm", "flow", "hift")
_TEXT_FILES = ("config.json", "vocab.json", "merges.txt", "tokenizer_config.json")
_UNFINISHED = (".incomplete", ".part", ".partial", ".crdownload", ".aria2", ".tmp")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of one complete model folder."""

    folder: Path
    generation: Generation
    settings: Path
    llm: Path
    flow: Path
    hift: Path
    speech_tokenizer: Path
    speaker_encoder: Path
    text_folder: Path
    stored_speakers: Path | None


def find_generation(folder: Path) -> Generation:
    """Say which generation the folder holds, by its yaml file. Raises ModelMissing if it is none or unclear."""
    if not folder.is_dir():
        raise ModelMissing(f"The model folder {folder} does not exist. {_where(2)} {_where(3)}")
    found: list[Generation] = [generation for generation, name in _YAML.items() if (folder / name).is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        raise ModelMissing(f"{folder} holds both {_YAML[2]} and {_YAML[3]}: one folder, one model. Remove one of them.")
    if (folder / "cosyvoice.yaml").is_file():
        raise ModelMissing(f"{folder} is a CosyVoice 1 model, which this engine does not speak. {_where(3)}")
    raise ModelMissing(f"{folder} holds neither {_YAML[2]} nor {_YAML[3]}. {_where(2)} {_where(3)}")


def find_files(folder: Path) -> ModelFiles:
    """Find every file that the engine reads. Raises ModelMissing that lists what is absent, empty or unfinished."""
    generation = find_generation(folder)
    checkpoints = {stem: _checkpoint(folder, stem) for stem in _CHECKPOINTS}
    files = ModelFiles(
        folder=folder,
        generation=generation,
        settings=folder / _YAML[generation],
        **checkpoints,
        speech_tokenizer=folder / f"speech_tokenizer_v{generation}.onnx",
        speaker_encoder=folder / "campplus.onnx",
        text_folder=folder / TEXT_FOLDER,
        stored_speakers=folder / "spk2info.pt" if (folder / "spk2info.pt").is_file() else None,
    )
    text_files = [files.text_folder / name for name in _TEXT_FILES]
    needed = [*checkpoints.values(), files.speech_tokenizer, files.speaker_encoder, *text_files]
    faults = [f"{path.relative_to(folder)} ({fault})" for path in needed if (fault := _fault(path))]
    if faults:
        raise ModelMissing(f"{folder} is incomplete: {', '.join(faults)}. {_where(generation)}")
    return files


def _checkpoint(folder: Path, stem: str) -> Path:
    """Return the file to read: safetensors if somebody converted the folder and left no `.pt`."""
    pickle = folder / f"{stem}.pt"
    converted = folder / f"{stem}.safetensors"
    return converted if converted.is_file() and not pickle.is_file() else pickle


def _fault(path: Path) -> str | None:
    if not path.is_file():
        started = [path.with_name(path.name + suffix) for suffix in _UNFINISHED]
        return "download not finished" if any(file.exists() for file in started) else "missing"
    return "empty" if path.stat().st_size == 0 else None


def _where(generation: Generation) -> str:
    first, second = PUBLISHED[generation]
    return f"CosyVoice {generation} is published as {first} and {second}; `models pull` fetches it."
