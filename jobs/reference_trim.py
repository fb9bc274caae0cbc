"""Cuts a recording that is too long for the model down to some ten seconds, at a pause."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jobs.reference_signal import Measures, Unreadable, load, measures_of

_WANTED_S = 10.0
_GOOD_S = (5.0, 12.0)
_ALLOWED_S = (3.0, 29.0)
_LEAD_S, _TAIL_S = 0.1, 0.25
"""Silence that is left before the first sound and after the last."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The part of a recording that is kept."""

    start_s: float
    end_s: float
    at_pause: bool
    """False: there was no pause, the cut goes through the speech."""


def find_cut(m: Measures) -> Cut:
    """Where to cut: after the longest pause that leaves 5 to 12 s, else at the pause nearest to 10 s."""
    start_s = max(0.0, m.lead_s - _LEAD_S)
    ends = [
        (pause.end_s - pause.start_s, min(pause.start_s + _TAIL_S, pause.end_s))
        for pause in m.pauses
        if _ALLOWED_S[0] <= pause.start_s - start_s <= _ALLOWED_S[1]
    ]
    good = [(length_s, end_s) for length_s, end_s in ends if _GOOD_S[0] <= end_s - start_s <= _GOOD_S[1]]
    if good:
        return Cut(start_s, max(good)[1], True)
    if ends:
        return Cut(start_s, min((end_s for _, end_s in ends), key=lambda end_s: abs(end_s - start_s - _WANTED_S)), True)
    return Cut(start_s, min(start_s + _WANTED_S, m.seconds), False)


def trim(audio: Path, target: Path) -> Cut:
    """Write the kept part of `audio` to `target`, as mono WAV of 24 bits at the rate of the recording.

    Raises Unreadable.
    """
    import soundfile

    samples, rate_hz, facts = load(audio)
    cut = find_cut(measures_of(samples, rate_hz, facts))
    kept = samples[round(cut.start_s * rate_hz) : round(cut.end_s * rate_hz)]
    if not len(kept):
        raise Unreadable("holds no sound; record it again")
    soundfile.write(target, kept, rate_hz, format="WAV", subtype="PCM_24")
    return cut
