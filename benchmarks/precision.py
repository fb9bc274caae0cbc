"""What number formats cost in accuracy: a CosyVoice model in bf16, fp16 … on a device against fp32 on the CPU.

    python benchmarks/precision.py --checkpoint FOLDER [--device npu:0] [--precisions fp32,bf16,fp16,int8]
        [--reference WAV --reference-text TEXT] [--ids 150] [--threads 2]
    python benchmarks/precision.py --generation 3 --size tiny

The second form makes a random checkpoint. FIGURES ON RANDOM WEIGHTS SAY LITTLE ABOUT QUALITY: their scores are nearly
flat, so the best id changes at the least rounding, and what they speak is noise. They show that a device computes what
the CPU computes, and how far rounding spreads; for a table to publish use the official weights and a real recording.

Every format gets the same speech ids, drawn in fp32, so that differences do not add up from stage to stage:

- ids: how often the language model, fed these ids, finds the same next id most probable as in fp32; KL, the divergence
  of its next-id distribution from fp32's in nats, mean and 99th percentile.
- mel: mean absolute difference of the flow's mel, in dB.
- LSD: log-spectral distance (Gray and Markel 1976) of the waveforms in three bands, in dB: per frame the root mean
  square of the difference of the log power spectra over the band's bins, averaged over frames that are not silence.
- STOI (pystoi) and wide-band PESQ (pesq) against fp32's waveform, where these packages are installed; 1.0 and 4.64 are
  their best. The vocoder is fp32 everywhere.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.engine import reference_audio
from benchmarks.make_checkpoint import make_checkpoint
from cosyvoice.config import ModelConfig
from cosyvoice.engine import EngineError, Utterance, Voice
from cosyvoice.features import resample
from cosyvoice.flow import Flow, FlowRequest
from cosyvoice.lm_request import LmRequest
from cosyvoice.model_folder import ModelFiles, find_files
from cosyvoice.precision import Precision, choose_precision
from cosyvoice.read_config import read_config
from cosyvoice.script import lm_request
from cosyvoice.speech_lm import SpeechLm
from cosyvoice.tokenizer import TextTokenizer
from cosyvoice.vocoder import Vocoder
from cosyvoice.voice import VoicePrompt, VoiceReader
from cosyvoice.weights import read_checkpoint

Floats = NDArray[np.float32]

TEXTS = (
    "The quick brown fox jumps over the lazy dog, and nobody in the village is surprised.",
    "Your order will be ready on Thursday, the fourteenth of March, after three in the afternoon.",
    "今天的天气很好，我们下午去公园散步，晚上再一起吃饭。",
    "您的验证码是三七九二，请在五分钟之内输入，不要告诉别人。",
)
BANDS_HZ = ((0, 2_000), (2_000, 5_000), (5_000, 10_000))
N_FFT, HOP = 1024, 256
FLOOR_DB = -60.0
"""Power under the loudest bin of an utterance that is left out of account: what lies below is not heard."""
DB_PER_NEPER = 20.0 / np.log(10.0)


@dataclass(frozen=True, slots=True)
class Case:
    """One text as all formats get it."""

    request: LmRequest
    ids: tuple[int, ...]
    flow: FlowRequest


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one format made of one case."""

    scores: Tensor
    """[S, V] fp32 on the CPU."""
    mel: Tensor
    """[80, M]"""
    wave: Floats

    @property
    def finite(self) -> bool:
        numbers = (self.scores, self.mel, torch.from_numpy(self.wave))
        return not any(bool(torch.isnan(part).any()) for part in numbers) and bool(torch.isfinite(self.mel).all())


def cases(files: ModelFiles, config: ModelConfig, voice: Voice, ids: int) -> list[Case]:
    """The texts with speech ids drawn in fp32 on the CPU, at most `ids` of them."""
    cpu = torch.device("cpu")
    tokenizer = TextTokenizer(files.text_folder, config.generation)
    reader = VoiceReader(files, config, cache_folder=None)
    prompt = reader.read(Path(voice.audio or ""))
    reader.close()
    utterances = [Utterance(str(n), text, voice, mode="zero_shot", seed=n) for n, text in enumerate(TEXTS)]
    requests = [lm_request(utterance, prompt, tokenizer, config.generation) for utterance in utterances]
    lm = SpeechLm(config.lm, read_checkpoint(files.llm), precision=choose_precision(cpu, "fp32"), device=cpu)
    drawn = {result.id: result.tokens[:ids] for result in lm.generate(requests) if result is not None}
    return [Case(request, drawn[request.id], _flow_request(drawn[request.id], prompt)) for request in requests]


def _flow_request(ids: Sequence[int], prompt: VoicePrompt) -> FlowRequest:
    return FlowRequest(
        tokens=torch.tensor(ids, dtype=torch.int64),
        prompt_tokens=torch.tensor(prompt.speech_ids, dtype=torch.int64),
        prompt_mel=prompt.mel,
        embedding=prompt.embedding,
    )


def outcomes(
    files: ModelFiles, config: ModelConfig, device: torch.device, formats: Precision, given: Sequence[Case]
) -> list[Outcome]:
    """All cases in one format; one network is in memory at a time."""
    lm = SpeechLm(config.lm, read_checkpoint(files.llm), precision=formats, device=device)
    scores = [lm.network.score(case.request, case.ids)[1].float().cpu() for case in given]
    del lm
    gc.collect()
    flow = Flow.build(config.flow, read_checkpoint(files.flow), device, formats.flow, int8=formats.flow_int8)
    mels = [flow.mel([case.flow])[0].cpu() for case in given]
    del flow
    gc.collect()
    vocoder = Vocoder.build(config.vocoder, read_checkpoint(files.hift), device)
    waves = [vocoder.waveform([mel], [number])[0].cpu().numpy() for number, mel in enumerate(mels)]
    return [Outcome(*parts) for parts in zip(scores, mels, waves, strict=True)]


# -- distances -------------------------------------------------------------------------------------------------------


def divergence(reference: Tensor, other: Tensor) -> Tensor:
    """KL(reference || other) in nats of two rows of scores each, [S, V] -> [S]."""
    log_p, log_q = torch.log_softmax(reference.double(), -1), torch.log_softmax(other.double(), -1)
    finite = log_p > -1e30  # scores of ids that cannot be drawn may be minus infinity in both
    return torch.where(finite, log_p.exp() * (log_p - log_q), 0.0).sum(-1)


def power_db(wave: Floats) -> NDArray[np.float64]:
    """Power spectrogram in dB [F, N_FFT / 2 + 1], cut off at FLOOR_DB under its maximum."""
    frames = np.lib.stride_tricks.sliding_window_view(wave.astype(np.float64), N_FFT)[::HOP] * np.hanning(N_FFT)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    decibel = 10.0 * np.log10(power + 1e-20)
    return np.maximum(decibel, decibel.max() + FLOOR_DB)


def log_spectral_distances(reference: Floats, other: Floats, sample_rate_hz: int) -> list[float]:
    """In dB, for each of BANDS_HZ."""
    length = min(reference.size, other.size)
    ours, theirs = power_db(reference[:length]), power_db(other[:length])
    heard = ours.max(axis=1) > ours.max() + FLOOR_DB / 2
    bins_hz = np.fft.rfftfreq(N_FFT, 1 / sample_rate_hz)
    found = []
    for low, high in BANDS_HZ:
        band = (bins_hz >= low) & (bins_hz < high)
        difference = ours[np.ix_(heard, band)] - theirs[np.ix_(heard, band)]
        found.append(float(np.sqrt((difference**2).mean(axis=1)).mean()))
    return found


def judged(reference: Floats, other: Floats, sample_rate_hz: int) -> Iterator[float | None]:
    """STOI and PESQ where their packages are there; None where they are not, or refuse the audio."""
    length = min(reference.size, other.size)
    at_16k = [resample(wave[:length], sample_rate_hz, 16_000) for wave in (reference, other)]
    for package, call in (
        ("pystoi", lambda module: module.stoi(*at_16k, 16_000)),
        ("pesq", lambda module: module.pesq(16_000, *at_16k, "wb")),
    ):
        try:
            yield float(call(importlib.import_module(package)))
        except ImportError:
            yield None
        except Exception as error:  # these packages raise errors of many kinds for audio without speech
            print(f"{package}: {error}", file=sys.stderr)
            yield None


def row(name: str, reference: Sequence[Outcome], found: Sequence[Outcome], sample_rate_hz: int) -> str:
    """One line of the table."""
    pairs = list(zip(reference, found, strict=True))
    if not all(outcome.finite for outcome in found):
        return f"{name:>22}   not finite: this format does not hold the values of this model on this device"
    same = torch.cat([(ours.scores.argmax(-1) == theirs.scores.argmax(-1)).float() for ours, theirs in pairs])
    kl = torch.cat([divergence(ours.scores, theirs.scores) for ours, theirs in pairs])
    mel_db = np.mean([float((ours.mel - theirs.mel).abs().mean()) * DB_PER_NEPER for ours, theirs in pairs])
    bands = np.mean([log_spectral_distances(ours.wave, theirs.wave, sample_rate_hz) for ours, theirs in pairs], axis=0)
    opinions = [list(judged(ours.wave, theirs.wave, sample_rate_hz)) for ours, theirs in pairs]
    quality = " ".join(f"{_mean(column):>6}" for column in zip(*opinions, strict=True))
    distances = " ".join(f"{band:>7.2f}" for band in bands)
    p99 = float(kl.quantile(0.99))
    return f"{name:>22} {same.mean():>7.1%} {kl.mean():>9.2e} {p99:>9.2e} {mel_db:>7.3f} {distances} {quality}"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.3f}" if known else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, help="model folder (default: a random one, made and removed)")
    parser.add_argument(
        "--generation", type=int, choices=(2, 3), default=3, help="of the random checkpoint (default: 3)"
    )
    parser.add_argument(
        "--size", choices=("tiny", "full"), default="tiny", help="of the random checkpoint (default: tiny)"
    )
    parser.add_argument("--device", default="cpu", help="where the formats are tried (default: cpu)")
    parser.add_argument("--precisions", default="fp32,bf16,fp16,int8", help="formats to try (default: %(default)s)")
    parser.add_argument("--reference", type=Path, help="recording of a voice (default: 3 s of a tone)")
    parser.add_argument("--reference-text", default="Words of the reference audio.", help="what is said in it")
    parser.add_argument("--ids", type=int, default=150, help="speech ids per text, 25 a second (default: 150)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: 2)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as scratch:
        random = options.checkpoint is None
        folder = options.checkpoint or make_checkpoint(Path(scratch) / "model", options.generation, options.size)
        audio = options.reference or reference_audio(Path(scratch))
        report(find_files(folder), audio, options, random=random)


def report(files: ModelFiles, audio: Path, options: argparse.Namespace, *, random: bool) -> None:
    config, cpu, device = read_config(files), torch.device("cpu"), torch.device(options.device)
    voice = Voice("reference", "reference", audio=str(audio), text=options.reference_text)
    given = cases(files, config, voice, options.ids)
    reference = outcomes(files, config, cpu, choose_precision(cpu, "fp32"), given)
    total = sum(len(case.ids) for case in given)
    print(f"CosyVoice {files.generation} on {options.device}, {total} speech ids of {len(given)} texts")
    print(f"torch {torch.__version__}, against fp32 on the CPU")
    if random:
        print("RANDOM WEIGHTS: the figures say little about quality")
    bands = " ".join(f"{f'{low // 1000}-{high // 1000}k':>7}" for low, high in BANDS_HZ)
    print(f"{'':>22} {'ids':>7} {'KL, nats':>9} {'KL':>9} {'mel':>7} {'LSD, dB':>23} {'':>6} {'':>6}")
    print(f"{'LM/flow/vocoder':>22} {'agree':>7} {'mean':>9} {'p99':>9} {'dB':>7} {bands} {'STOI':>6} {'PESQ':>6}")
    for wanted in options.precisions.split(","):
        try:
            formats = choose_precision(device, wanted)
        except EngineError as error:
            print(f"{wanted:>22}   {error}")
            continue
        found = outcomes(files, config, device, formats, given)
        print(row(formats.name, reference, found, config.sample_rate_hz), flush=True)


if __name__ == "__main__":
    main()
