"""The vocoder: the reference's numbers, exact edges in batches, its names and sizes, its noise."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import torch

from benchmarks.flow import full_size_vocoder
from benchmarks.parity_vocoder import check, load_vocoder
from cosyvoice.vocoder import Vocoder
from cosyvoice.vocoder_fourier import Fourier
from cosyvoice.vocoder_net import HiftNet
from cosyvoice.vocoder_source import MAX_SAMPLES, FixedNoise
from cosyvoice.weights import fold_weight_norm

DATA = Path(__file__).parent / "data" / "parity"
HOP = 480


@pytest.fixture(scope="module", params=[2, 3], ids=["v2", "v3"])
def vocoder(request: pytest.FixtureRequest) -> Vocoder:
    return load_vocoder(DATA, request.param)


def mels(*lengths: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(80, length, generator=generator) for length in lengths]


def test_equals_the_reference() -> None:
    rows = check(DATA)
    assert len([row for row in rows if row[0].endswith("decode")]) == 2
    assert len([row for row in rows if row[0].endswith("source")]) == 2
    assert [row for row in rows if not row[1] <= row[2]] == []


@pytest.mark.parametrize("generation", [2, 3])
def test_names_and_shapes_are_those_of_the_official_checkpoint(generation: int) -> None:
    with gzip.open(DATA / f"cosyvoice{generation}_hift_keys.tsv.gz", "rt") as lines:
        shapes = dict(line.rstrip("\n").split("\t") for line in lines)
    official = fold_weight_norm(
        {name: torch.empty([int(size) for size in shape.split("x")], device="meta") for name, shape in shapes.items()}
    )
    with torch.device("meta"):
        net = HiftNet(full_size_vocoder(generation))
    ours = {name: tensor.shape for name, tensor in net.state_dict().items()}
    assert ours == {name: tensor.shape for name, tensor in official.items()}


def test_an_utterance_in_a_padded_batch_equals_itself_alone(vocoder: Vocoder) -> None:
    inputs, seeds = mels(1, 37, 20, 2, 61), [1, 2, 3, 4, 5]
    alone, together = vocoder.waveform(inputs, seeds), vocoder.waveform_padded(inputs, seeds)
    # The pitch is a product of some hundred terms; its last bits move the phase of version 2's longer sines.
    tolerance = 1e-3 if vocoder.config.generation == 2 else 1e-5
    for mel, first, second in zip(inputs, alone, together, strict=True):
        assert first.shape == (HOP * mel.shape[1],)
        assert (first - second).abs().max() < tolerance


def test_a_padded_decode_equals_itself_alone_given_the_source(vocoder: Vocoder) -> None:
    inputs = mels(9, 4, 1)
    source = torch.randn(3, 9 * HOP, generator=torch.Generator().manual_seed(6))
    padded = torch.stack([torch.nn.functional.pad(mel, (0, 9 - mel.shape[1])) for mel in inputs])
    with torch.inference_mode():
        together = vocoder.decode(padded, source, [9, 4, 1])
        for row, mel in enumerate(inputs):
            count = mel.shape[1] * HOP
            alone = vocoder.decode(mel[None], source[row : row + 1, :count], [mel.shape[1]])
            assert (together[row, :count] - alone[0]).abs().max() < 1e-5


def test_the_seed_alone_decides_the_noise() -> None:
    vocoder, inputs = load_vocoder(DATA, 2), mels(6, 6)
    before = torch.get_rng_state()
    first, other = vocoder.waveform(inputs[:1] * 2, [1, 2])
    (again,) = vocoder.waveform(inputs[:1], [1])
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_merged_noise_is_as_loud_as_nine_noises() -> None:
    source = load_vocoder(DATA, 2).net.m_source
    ours = source.normal_noise(200_000, seed=3)
    theirs = source.merge(torch.randn(200_000, 9, generator=torch.Generator().manual_seed(4)))
    assert abs(float(ours.mean())) < 0.01 * float(theirs.std())
    assert float(ours.std()) == pytest.approx(float(theirs.std()), rel=0.01)


def test_the_fixed_noise_does_not_depend_on_how_it_was_asked_for() -> None:
    source = load_vocoder(DATA, 3).net.m_source
    whole = FixedNoise(source).first(50_000)
    piecewise = FixedNoise(source)
    for samples in (7, 34_321, 100, 50_000):
        assert torch.equal(piecewise.first(samples), whole[:samples])
    with pytest.raises(ValueError, match="the fixed noise has 7200000"):
        piecewise.first(MAX_SAMPLES + 1)


def test_an_hour_of_phase_stays_sharp() -> None:
    source = load_vocoder(DATA, 2).net.m_source
    f0 = torch.full((1, 50 * 60 * 60), 201.3)  # In fp32 the sum would reach 4 M cycles, in steps of a half.
    phase, _ = source._phases(f0)
    turns = (f0[0, 0].double() * torch.arange(1, 10).double() / 24_000) % 1
    wanted = (turns * HOP * f0.shape[1]) % 1
    difference = (phase[0, -1].double() - wanted + 0.5) % 1 - 0.5
    assert difference.abs().max() < 1e-4


def test_fourier_equals_torch() -> None:
    fourier, window = Fourier(16, 4), torch.hann_window(16)
    signal = torch.randn(2, 480, generator=torch.Generator().manual_seed(7))
    wanted = torch.stft(signal, 16, 4, window=window, return_complex=True)
    found = fourier.analyse(signal, [480, 480])
    torch.testing.assert_close(found, torch.cat([wanted.real, wanted.imag], dim=1), rtol=0, atol=1e-5)
    spectrum = 0.5 * torch.randn(2, 18, 121, generator=torch.Generator().manual_seed(8))
    angle = torch.sin(spectrum[:, 9:])
    parts = torch.polar(spectrum[:, :9].exp(), angle)
    torch.testing.assert_close(
        fourier.synthesise(spectrum, None), torch.istft(parts, 16, 4, window=window), rtol=0, atol=1e-5
    )


def test_refuses_a_mel_without_frames(vocoder: Vocoder) -> None:
    with pytest.raises(ValueError, match="without frames"):
        vocoder.waveform([torch.zeros(80, 0)], [0])
