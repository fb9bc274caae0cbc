"""Text to ids: the byte-pair encoding of the model's own CosyVoice-BlankEN folder plus the generation's added tokens.

The folder's merges are not those of plain Qwen2 (merges of several Han characters are left out), so its own files are
always read. Pattern and normalisation are those of the Qwen2 tokenizer.
"""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers import models as bpe_models

from cosyvoice.added_tokens import ADDED_TOKENS, END_OF_PROMPT
from cosyvoice.engine import ModelMissing
from cosyvoice.model_folder import Generation

_QWEN2_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class TextTokenizer:
    """Reads a CosyVoice-BlankEN folder. Raises ModelMissing that names the file at fault."""

    def __init__(self, folder: Path, generation: Generation) -> None:
        self.generation = generation
        self._tokenizer = _byte_pair_encoding(folder)
        own = _own_added_tokens(folder / "tokenizer_config.json", first_id=self._tokenizer.get_vocab_size())
        tokens = [AddedToken(text, special=True, normalized=False) for text in (*own, *ADDED_TOKENS[generation])]
        self._tokenizer.add_special_tokens(tokens)
        self.end_of_prompt_id = self._id(END_OF_PROMPT)
        self.added_ids = {text: self._id(text) for text in (*own, *ADDED_TOKENS[generation])}

    @property
    def size(self) -> int:
        """Number of ids; the text embedding must have at least as many rows."""
        return self._tokenizer.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids [T] of `text`; an added token such as `[laughter]` is one id, and nothing is put around."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _id(self, text: str) -> int:
        found = self._tokenizer.token_to_id(text)
        assert found is not None, f"{text} was just added"
        return found


def _byte_pair_encoding(folder: Path) -> Tokenizer:
    for name in ("vocab.json", "merges.txt"):
        if not (folder / name).is_file():
            raise ModelMissing(f"{folder / name} is missing: download the model folder again.")
    try:
        model = bpe_models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    except Exception as error:  # the library raises nothing narrower
        raise ModelMissing(f"vocab.json and merges.txt in {folder} do not fit each other: {error}") from error
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_QWEN2_PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def _own_added_tokens(path: Path, first_id: int) -> list[str]:
    """Return the tokens that the folder itself adds, in id order, which must follow the vocabulary without a gap."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8")).get("added_tokens_decoder", {})
        by_id = {int(token_id): str(entry["content"]) for token_id, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelMissing(f"{path} cannot be read ({error}): download it again.") from error
    if sorted(by_id) != list(range(first_id, first_id + len(by_id))):
        raise ModelMissing(f"{path}: the added tokens must have the ids from {first_id} on, found {sorted(by_id)}.")
    return [by_id[token_id] for token_id in sorted(by_id)]
