"""Which engines exist and what each can do, as data that can be read without loading any of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from cosyvoice.added_tokens import PHONEMES
from cosyvoice.engine import Engine, EngineError


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What the planner must know about an engine before it is loaded."""

    name: str
    title: str
    sample_rate_hz: int
    clones: bool
    """Speaks in the voice of a reference audio."""
    instructs: bool
    """Follows an instruction."""
    languages: frozenset[str] | None
    """Languages it speaks, as ISO 639-1 codes; None: it does not say."""
    tags: frozenset[str]
    """Control tags it understands inside the text, as they are written: `[laughter]`, `<strong>`, `</strong>`."""
    max_cjk_chars: int
    """Longest segment it speaks well, in CJK characters."""
    max_words: int
    """The same for languages that put spaces between words."""
    needs_model: bool
    """Needs a model folder given by the user."""
    factory: str
    """`module:function` that loads it: (model_folder, device, precision, threads) -> Engine; one that accelerates also
    takes cpu_fallback."""
    accelerates: bool = False
    """Computes on accelerators too; without it the run looks for none."""
    memory_bytes: int = 0
    """Free memory that one instance wants on its device, weights and full batches; 0: it does not say."""
    seeded: bool = True
    """Draws random numbers: another seed gives another take."""
    embeds_speakers: bool = False
    """Its model folder holds a speaker encoder, by which takes can be held against their voice."""
    katakana: bool = False
    """Reads Japanese from katakana only; kanji come out wrong."""
    revision: str = ""
    """What the model is, where no folder says it; a new revision rebuilds everything."""


KOKORO = EngineFacts(
    name="kokoro",
    title="embedded voice (Kokoro-82M, int8)",
    sample_rate_hz=24_000,
    clones=False,
    instructs=False,
    languages=frozenset({"zh", "en"}),
    tags=frozenset(),
    max_cjk_chars=60,
    max_words=25,
    needs_model=False,
    factory="cosyvoice.kokoro:load",
    # The weights, and the way from text to phonemes: another way is another sound.
    revision="kokoro-82m-v1.0-int8 phonemes-1",
    seeded=False,
)

TONE = EngineFacts(
    name="tone",
    title="tones instead of speech, to try a pipeline without a model",
    sample_rate_hz=24_000,
    clones=True,
    instructs=True,
    languages=None,
    tags=frozenset(),
    max_cjk_chars=60,
    max_words=30,
    needs_model=False,
    factory="cosyvoice.tone:load",
)

# Tokens that both generations know and that change how the text around them is spoken (added_tokens.py has the list
# with their ids). What stands in `<|…|>` steers the model itself and is refused in a text.
_CONTROLS = frozenset(
    {"[breath]", "[quick_breath]", "[sigh]", "[laughter]", "<laughter>", "</laughter>", "[cough]", "[noise]"}
    | {"[clucking]", "[hissing]", "[lipsmack]", "[vocalized-noise]", "[accent]", "[mn]", "<strong>", "</strong>"}
)

# Weights of the three networks (2 GB in bf16 and fp32), cache of the language model (2.4 GB at pipeline.ROOM), one flow
# batch. An estimate from the shapes; not measured on a card yet.
_PIPELINE_BYTES = 6 * 2**30

COSYVOICE2 = EngineFacts(
    name="cosyvoice2",
    title="CosyVoice 2 (0.5B)",
    sample_rate_hz=24_000,
    clones=True,
    instructs=True,
    languages=frozenset({"zh", "en", "ja", "ko", "yue"}),
    tags=_CONTROLS,
    # The reference cuts at 60 to 80 text tokens; every Han character is one.
    max_cjk_chars=70,
    max_words=45,
    needs_model=True,
    factory="cosyvoice.assembly:load",
    accelerates=True,
    embeds_speakers=True,
    memory_bytes=_PIPELINE_BYTES,
)

COSYVOICE3 = EngineFacts(
    name="cosyvoice3",
    title="CosyVoice 3 (Fun-CosyVoice3-0.5B)",
    sample_rate_hz=24_000,
    clones=True,
    instructs=True,
    languages=frozenset({"zh", "en", "ja", "ko", "yue", "de", "es", "fr", "it", "ru"}),
    tags=_CONTROLS | PHONEMES,
    katakana=True,
    max_cjk_chars=70,
    max_words=45,
    needs_model=True,
    factory="cosyvoice.assembly:load",
    accelerates=True,
    embeds_speakers=True,
    memory_bytes=_PIPELINE_BYTES,
)

ENGINES: dict[str, EngineFacts] = {facts.name: facts for facts in (KOKORO, COSYVOICE2, COSYVOICE3, TONE)}


def load(
    facts: EngineFacts,
    *,
    model_folder: str | None,
    device: str,
    precision: str,
    threads: int,
    cpu_fallback: bool = True,
) -> Engine:
    """Load one engine on one device. `cpu_fallback`: the CPU may take over what the device computes wrongly.

    Raises EngineError (or a child) with what to do when that is not possible.
    """
    module_name, _, function_name = facts.factory.partition(":")
    try:
        factory: Callable[..., Engine] = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise EngineError(f"engine {facts.name!r} cannot be imported from {facts.factory}: {error}") from error
    own = {"cpu_fallback": cpu_fallback} if facts.accelerates else {}
    return factory(model_folder=model_folder, device=device, precision=precision, threads=threads, **own)
