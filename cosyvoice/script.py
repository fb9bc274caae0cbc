"""An utterance as the speech language model reads it: where text, instruction and reference go in each generation.

The facts are those of the public reference (its `frontend_*` functions); the five ways to ask for speech differ here
and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosyvoice.added_tokens import END_OF_PROMPT
from cosyvoice.engine import Utterance
from cosyvoice.lm_request import LmRequest

if TYPE_CHECKING:
    from cosyvoice.model_folder import Generation
    from cosyvoice.tokenizer import TextTokenizer
    from cosyvoice.voice import VoicePrompt

_SYSTEM = "You are a helpful assistant."
"""CosyVoice 3 was trained with this in front of every prompt and speaks babble without it."""


def lm_request(
    utterance: Utterance, prompt: VoicePrompt, tokenizer: TextTokenizer, generation: Generation
) -> LmRequest:
    """What the language model is given for one utterance.

    - zero_shot: reference text and reference speech lead, the text goes on from there.
    - cross_lingual, speaker: the text alone; the voice comes from the flow.
    - instruct: the instruction leads, closed by the end-of-prompt mark; the voice comes from the flow.
    """
    if generation == 2:
        before = f"{utterance.instruction}{END_OF_PROMPT}" if utterance.mode == "instruct" else ""
    else:
        told = f" {utterance.instruction}" if utterance.mode == "instruct" else ""
        before = f"{_SYSTEM}{told}{END_OF_PROMPT}"
    prompt_ids = tokenizer.encode(before) if before else ()
    speech_ids: tuple[int, ...] = ()
    if utterance.mode == "zero_shot":
        prompt_ids += tokenizer.encode(utterance.voice.text or "")
        speech_ids = prompt.speech_ids
    elif utterance.mode == "speaker" and prompt.text_ids:
        prompt_ids += prompt.text_ids
        speech_ids = prompt.speech_ids
    return LmRequest(
        id=utterance.id,
        text_ids=tokenizer.encode(utterance.text),
        prompt_text_ids=prompt_ids,
        prompt_speech_ids=speech_ids,
        seed=utterance.seed,
    )
