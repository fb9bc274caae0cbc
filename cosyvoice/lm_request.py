"""What goes into the speech language model and what comes out of it, and how long an utterance may be."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cosyvoice.config import LmConfig

NOT_FINITE = "scores that are not finite"
"""The fault of an utterance whose scores were no numbers: other weights or another number format may help."""


@dataclass(frozen=True, slots=True)
class LmRequest:
    """One utterance: ids of its text, of the reference text, and of the speech in the reference."""

    id: str
    text_ids: tuple[int, ...]
    prompt_text_ids: tuple[int, ...] = ()
    prompt_speech_ids: tuple[int, ...] = ()
    seed: int = 0
    """Starts the utterance's random stream, 0 to 2**63 - 1."""
    counted_ids: int | None = None
    """How many text ids are spoken and so set the length limits; None: all of `text_ids`."""

    @property
    def positions(self) -> int:
        """Length of the prompt: start, reference text, text, task id, reference speech."""
        return 2 + len(self.prompt_text_ids) + len(self.text_ids) + len(self.prompt_speech_ids)


@dataclass(frozen=True, slots=True)
class LmResult:
    id: str
    tokens: tuple[int, ...]
    """Speech ids without the stop id."""
    ended: bool
    """A stop id was drawn. False: it ran into the maximum length, or `fault` says why there is no more."""
    steps: int
    fault: str | None = None


def length_limits(text_ids: int, config: LmConfig) -> tuple[int, int]:
    """Return the least and the largest number of speech ids for so many text ids."""
    return int(text_ids * config.min_token_text_ratio), int(text_ids * config.max_token_text_ratio)


def greedy(config: LmConfig) -> LmConfig:
    """Return settings under which the most probable id is always taken, for checks."""
    return replace(config, sampling=replace(config.sampling, top_k=1, repeat_share=float("inf")))
