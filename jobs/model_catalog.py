"""What the published CosyVoice models are: where they lie, which of their files the engine reads, sizes and hashes.

The numbers are those of the Hugging Face revisions named here. Public manifests of several independent projects agree
on them; the hash and size of each big file also reproduce the Git id of its LFS pointer in that revision, and the four
text files were rebuilt byte by byte from the public vocabulary of Qwen2. The two repositories of a model hold the same
files, so one hash serves for both hubs; ModelScope offers no fixed revision to name, there the hashes are the pin.

Left out: `CosyVoice-BlankEN/model.safetensors` (its weights are in llm.pt), the TensorRT and vLLM exports, the batch
export of the speech tokenizer, and `llm.rl.pt` of CosyVoice 3, which comes when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from jobs.errors import UserError

Hub = Literal["modelscope", "huggingface"]
HUB_TITLES: dict[Hub, str] = {"modelscope": "ModelScope", "huggingface": "Hugging Face"}


@dataclass(frozen=True, slots=True)
class PublishedFile:
    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PublishedModel:
    name: str
    title: str
    repositories: Mapping[Hub, str]
    revisions: Mapping[Hub, str]
    """What is pulled when nobody names a revision."""
    files: tuple[PublishedFile, ...]
    """What the engine reads, small files first."""
    extras: tuple[PublishedFile, ...] = ()
    """What the repository offers beside it and a person may ask for."""

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    def with_extras(self, names: tuple[str, ...]) -> tuple[PublishedFile, ...]:
        """The files to bring. Raises UserError for an extra that the model does not have."""
        known = {file.path: file for file in self.extras}
        unknown = [name for name in names if name not in known]
        if unknown:
            there = ", ".join(known) or "none"
            raise UserError(f"{self.name} has no extra file {unknown[0]!r}; it has: {there}")
        return (*self.files, *(known[name] for name in dict.fromkeys(names)))


# The same four in both generations: sizes and Git ids stand in the parity notes as well.
_TEXT_FILES = (
    PublishedFile(
        "CosyVoice-BlankEN/config.json", 659, "168aa1bd401abc3bc262ba15ba4e499627a8b4e006e9d050b47c22de20660185"
    ),
    PublishedFile(
        "CosyVoice-BlankEN/tokenizer_config.json",
        1_287,
        "482bd979881423375ca5414e4e0d94cd7c5349dbb17fffd46b4d36d71e62a1bc",
    ),
    PublishedFile(
        "CosyVoice-BlankEN/merges.txt", 1_402_109, "ac8ff86a72bee70828fbc1119bc4398c6f3a9a6e490d7b0dbe917be025478bd0"
    ),
    PublishedFile(
        "CosyVoice-BlankEN/vocab.json", 2_776_833, "ca10d7e9fb3ed18575dd1e277a2579c16d108e32f27439684afa0e10b1440910"
    ),
)
_SPEAKER_ENCODER = PublishedFile(
    "campplus.onnx", 28_303_423, "a6ac6a63997761ae2997373e2ee1c47040854b4b759ea41ec48e4e42df0f4d73"
)

COSYVOICE2 = PublishedModel(
    name="cosyvoice2",
    title="CosyVoice2-0.5B",
    repositories={"modelscope": "iic/CosyVoice2-0.5B", "huggingface": "FunAudioLLM/CosyVoice2-0.5B"},
    revisions={"modelscope": "master", "huggingface": "eec1ae6c79877dbd9379285cf8789c9e0879293d"},
    files=(
        PublishedFile("cosyvoice2.yaml", 7_330, "0af2c0d010c477187c39f3e8fd5f1ae2e4e6f90ad03ba37c10ed6c6a87b05959"),
        *_TEXT_FILES,
        _SPEAKER_ENCODER,
        PublishedFile("hift.pt", 83_390_254, "3386cc880324d4e98e05987b99107f49e40ed925b8ecc87c1f4939432d429879"),
        PublishedFile("flow.pt", 450_575_567, "ff4c2f867674411e0a08cee702996df13fa67c1cd864c06108da88d16d088541"),
        PublishedFile(
            "speech_tokenizer_v2.onnx", 496_082_973, "d43342aa12163a80bf07bffb94c9de2e120a8df2f9917cd2f642e7f4219c6f71"
        ),
        PublishedFile("llm.pt", 2_023_316_821, "b144ef55b51ce8cfb79a73c90dbba0bdaba4e451c0ebcfab20f769264f84a608"),
    ),
)
COSYVOICE3 = PublishedModel(
    name="cosyvoice3",
    title="Fun-CosyVoice3-0.5B-2512",
    repositories={
        "modelscope": "FunAudioLLM/Fun-CosyVoice3-0.5B-2512",
        "huggingface": "FunAudioLLM/Fun-CosyVoice3-0.5B-2512",
    },
    revisions={"modelscope": "master", "huggingface": "29e01c4e8d000f4bcd70751be16fa94bf3d85a18"},
    files=(
        PublishedFile("cosyvoice3.yaml", 6_934, "f5a6b2c6f05139d0f18861a1fe506f751e787026b77c05f7e8fef9f8a4405965"),
        *_TEXT_FILES,
        _SPEAKER_ENCODER,
        PublishedFile("hift.pt", 83_202_622, "b279d7641eb97ae55b3b540cfba4f953c26492a2df758328a89a4d007ab87a65"),
        PublishedFile(
            "speech_tokenizer_v3.onnx", 969_451_503, "23236a74175dbdda47afc66dbadd5bcb41303c467a57c261cb8539ad9db9208d"
        ),
        PublishedFile("flow.pt", 1_329_116_148, "a6fab32a7825e5b0bc855ddd948f8db9370b0a786fbc249caa4595e95b608e4b"),
        PublishedFile("llm.pt", 2_024_669_519, "69f43bd545131c30e98947fb360ea8b4dc9916d8e83dded7757c7ea4f5a24970"),
    ),
    extras=(
        PublishedFile("llm.rl.pt", 2_024_682_701, "74d34b01a80c7154670ae75ac372d1b1712c78bceae9f467eb9f1f6f61ec764f"),
    ),
)
MODELS: dict[str, PublishedModel] = {model.name: model for model in (COSYVOICE2, COSYVOICE3)}
