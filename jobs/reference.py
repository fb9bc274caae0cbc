"""The reference linter: what is wrong with a voice, told once, before the night is spent on it.

Thresholds were set on the reference project's own recordings and on spoiled copies of them, as the tests have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jobs.instructions import Generation, examine_instruction
from jobs.reference_signal import Measures, Unreadable, measure
from jobs.reference_text import examine_text
from jobs.remarks import Remark, Severity, in_order

__all__ = [
    "Generation",
    "Remark",
    "examine",
    "examine_audio",
    "examine_consent",
    "examine_instruction",
    "examine_text",
    "judge",
]

LONGEST_S = 30.0
"""The model's limit."""
_GOOD_S = 3.0
_SPEECH_NEEDED_S, _SPEECH_WANTED_S, _SPEECH_ENOUGH_S = 1.0, 2.5, 15.0
LOWEST_RATE_HZ, ENGINE_RATE_HZ = 16_000, 24_000
_SILENT_DB, _FAINT_DB = -55.0, -40.0
_CLIPPED_SHARE = 2e-4
_CLEAN_DB = 20.0
_LEAD_S, _INNER_SILENCE_S = 0.5, 1.2
_OFFSET = 0.01
_CANCELS_DB = 6.0
_NO_TREBLE_DB = -45.0
_UNBROKEN_S, _PAUSED_SHARE = 6.0, 0.02
_TRIM = "cut it to 3 to 10 s at a pause, or let `voices add NAME --audio FILE --trim-reference` do it"


def examine(
    audio: Path, text: str | None, instruction: str | None, language: str | None, generation: Generation | None = None
) -> tuple[Remark, ...]:
    """Everything there is to say about a voice, the gravest first; () for a good one.

    `generation` is that of the CosyVoice model, None where any may be used. Takes about 10 ms for each 10 s of audio.
    """
    remarks, speech_s = examine_audio(audio)
    found = list(remarks)
    if text is not None:
        found += examine_text(text, language, speech_s, generation)
    if instruction is not None:
        found += examine_instruction(instruction, generation)
    return in_order(found)


def examine_audio(audio: Path) -> tuple[tuple[Remark, ...], float | None]:
    """(remarks on a recording, seconds spoken in it; None where it cannot be read or nothing is spoken)."""
    try:
        measures = measure(audio)
    except Unreadable as error:
        return (Remark("refuse", "audio", "unreadable", f"the recording {error}"),), None
    noisy = measures.speech_db - measures.floor_db < _CLEAN_DB
    # Noise hides soft sounds: then only the first and the last sound are sure.
    return judge(measures), measures.seconds - measures.lead_s - measures.tail_s if noisy else measures.speech_s


def examine_consent(consent: str | None) -> tuple[Remark, ...]:
    """A remark where nobody has noted who agreed to the use of a voice."""
    if consent is not None and consent.strip():
        return ()
    message = (
        "nobody is named who agreed to the use of this voice; note it with --consent, such as "
        "'Anna Li, by e-mail, 3 May 2026', and it stands in every report"
    )
    return (Remark("warn", "consent", "consent_missing", message),)


def judge(m: Measures) -> tuple[Remark, ...]:
    """Remarks on what was measured."""
    if m.peak_db < _SILENT_DB or m.speech_db < _SILENT_DB or m.speech_s == 0.0:
        loss = " (its channels cancel each other)" if m.mix_loss_db > _CANCELS_DB else ""
        return (_refuse("silent", f"is silent: its peak is {m.peak_db:.0f} dB of full scale{loss}; record it again"),)
    return in_order([*_lengths(m), *_format(m), *_spoiled(m), *_silences(m)])


def _remark(severity: Severity, code: str, found: str) -> Remark:
    return Remark(severity, "audio", code, f"the recording {found}")


def _refuse(code: str, found: str) -> Remark:
    return _remark("refuse", code, found)


def _warn(code: str, found: str) -> Remark:
    return _remark("warn", code, found)


def _info(code: str, found: str) -> Remark:
    return _remark("info", code, found)


def _lengths(m: Measures) -> Iterator[Remark]:
    if m.seconds > LONGEST_S:
        yield _refuse("too_long", f"is {m.seconds:.1f} s long, the model takes {LONGEST_S:.0f} s at most; {_TRIM}")
    elif m.speech_s < _SPEECH_NEEDED_S:
        yield _refuse("too_short", f"holds only {m.speech_s:.1f} s of speech; record more, 3 to 10 s are good")
    elif m.seconds < _GOOD_S or m.speech_s < _SPEECH_WANTED_S:
        yield _warn(
            "short", f"of {m.seconds:.1f} s holds {m.speech_s:.1f} s of speech; 3 to 10 s make a steadier voice"
        )
    elif m.speech_s > _SPEECH_ENOUGH_S:
        yield _info("long", f"holds {m.speech_s:.0f} s of speech; 3 to 10 s are as good and make every item faster")


def _format(m: Measures) -> Iterator[Remark]:
    if m.rate_hz < LOWEST_RATE_HZ:
        yield _refuse(
            "low_rate",
            f"has {m.rate_hz} samples a second, at least {LOWEST_RATE_HZ} are needed; find the original, raising the "
            "rate does not bring back what is lost",
        )
    elif m.rate_hz != ENGINE_RATE_HZ:
        yield _info("resampled", f"has {m.rate_hz} samples a second and is resampled to {ENGINE_RATE_HZ}")
    if m.mix_loss_db > _CANCELS_DB:
        yield _warn(
            "channels_cancel",
            f"has {m.channels} channels that cancel each other: their mix is {m.mix_loss_db:.0f} dB quieter than the "
            "loudest of them; keep one channel",
        )
    elif m.channels > 1:
        yield _info("mixed_down", f"has {m.channels} channels, which are mixed to one")
    if m.rate_hz >= LOWEST_RATE_HZ and m.above_4k_db < _NO_TREBLE_DB:
        yield _warn(
            "telephone",
            f"has telephone quality: above 4 kHz it is {-m.above_4k_db:.0f} dB weaker than below, and so the voice "
            "will sound; find a wide-band recording",
        )


def _spoiled(m: Measures) -> Iterator[Remark]:
    ratio_db = m.speech_db - m.floor_db
    paused_s = sum(pause.end_s - pause.start_s for pause in m.pauses)
    if m.clipped_share > _CLIPPED_SHARE:
        yield _warn(
            "clipped",
            f"is clipped in {m.clipped_share:.2%} of its samples, the voice will sound harsh; record it with less gain",
        )
    if ratio_db < _CLEAN_DB:
        yield _warn(
            "noisy",
            f"is noisy: the speech lies only {ratio_db:.0f} dB above the noise (at {m.floor_db:.0f} dB of full scale), "
            f"{_CLEAN_DB:.0f} dB and more are good; the voice will hiss, record it in a quiet room",
        )
    elif paused_s < _PAUSED_SHARE * m.speech_s and m.speech_s >= _UNBROKEN_S:
        yield _warn(
            "no_pauses",
            f"holds {m.speech_s:.1f} s of speech and {paused_s:.1f} s of pauses in it, as if they had "
            "been cut out; the level of such a voice drifts and it hisses, take the untouched recording",
        )
    if m.speech_db < _FAINT_DB:
        yield _warn("faint", f"is faint: the speech is at {m.speech_db:.0f} dB of full scale; raise it to about -23 dB")
    if abs(m.offset) > _OFFSET:
        yield _warn("offset", f"has a DC offset of {m.offset:+.3f} of full scale; take it out with a high-pass filter")


def _silences(m: Measures) -> Iterator[Remark]:
    if m.lead_s > _LEAD_S:
        yield _warn(
            "leading_silence", f"begins with {m.lead_s:.1f} s of silence, and so may the output; cut it to 0.2 s"
        )
    hole = max(m.pauses, key=lambda pause: pause.end_s - pause.start_s, default=None)
    if hole is not None and hole.end_s - hole.start_s > _INNER_SILENCE_S:
        yield _warn(
            "inner_silence",
            f"is silent for {hole.end_s - hole.start_s:.1f} s from {hole.start_s:.1f} s on, and such holes come back "
            "in the output; shorten this one to 0.3 s",
        )
    if m.ending.missing_silence_s:
        from cosyvoice.reference_end import LISTENED_S

        yield _warn(
            "hot_end",
            f"stops on its last word: its last {1000 * LISTENED_S:.0f} ms come within "
            f"{max(0.0, m.ending.below_speech_db):.0f} dB of the speech, and such words leak into the output; "
            f"{1000 * m.ending.missing_silence_s:.0f} ms of silence are added for the model, but better end the "
            "recording with a sentence and its pause",
        )
