"""Our text ids against the reference's, with the full official vocabulary.

    python benchmarks/parity_tokens.py TEXTS.json FOLDER

TEXTS.json holds items with `input`, `ids_v2`, `ids_v3`. FOLDER is a CosyVoice-BlankEN folder. If it does not exist, it
is rebuilt from the rank file of the `dashscope` package (which must be installed, or its wheel given as `--wheel`): the
entries in GPT-2's spelling, merges by rank, without the merges whose product is several Han characters. The rebuilt
merges are held against the hash of the official file.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
import zipfile
from importlib import resources
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cosyvoice.tokenizer import TextTokenizer

_OFFICIAL_MERGES_SHA256 = "ac8ff86a72bee70828fbc1119bc4398c6f3a9a6e490d7b0dbe917be025478bd0"
_OWN_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def check(texts: Path, folder: Path) -> list[tuple[str, float, float]]:
    """(what, number of texts with other ids, 0) for both generations."""
    items = json.loads(texts.read_text(encoding="utf-8"))["items"]
    rows = []
    for generation in (2, 3):
        tokenizer = TextTokenizer(folder, 2 if generation == 2 else 3)
        wrong = [item["id"] for item in items if list(tokenizer.encode(item["input"])) != item[f"ids_v{generation}"]]
        what = f"v{generation} text ids, {len(items)} texts" + (f", wrong: {', '.join(wrong[:5])}" if wrong else "")
        rows.append((what, float(len(wrong)), 0.0))
    return rows


def rebuild(folder: Path, ranks: bytes) -> bool:
    """Write vocab.json, merges.txt and tokenizer_config.json from a rank file (base64 bytes and rank per line).

    Returns whether merges.txt came out as the official file.
    """
    entries = [base64.b64decode(line.split()[0]) for line in ranks.splitlines() if line]
    rank_of = {entry: rank for rank, entry in enumerate(entries)}
    spell = _gpt2_spelling()
    merges = []
    for rank, entry in enumerate(entries):
        if len(entry) > 1 and not _is_several_han(entry):
            left, right = _last_merge(entry, rank, rank_of)
            merges.append(f"{''.join(spell[b] for b in left)} {''.join(spell[b] for b in right)}")
    folder.mkdir(parents=True)
    vocabulary = {"".join(spell[b] for b in entry): rank for entry, rank in rank_of.items()}
    (folder / "vocab.json").write_text(
        json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )
    text = "\n".join(merges) + "\n"
    (folder / "merges.txt").write_text(text, encoding="utf-8", newline="\n")
    own = {str(len(entries) + index): {"content": token} for index, token in enumerate(_OWN_TOKENS)}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": own}), encoding="utf-8")
    return hashlib.sha256(text.encode("utf-8")).hexdigest() == _OFFICIAL_MERGES_SHA256


def _last_merge(entry: bytes, rank: int, rank_of: dict[bytes, int]) -> tuple[bytes, bytes]:
    """Merge by ranks below the entry's own until two parts are left: these are its merge."""
    parts = [entry[i : i + 1] for i in range(len(entry))]
    while len(parts) > 2:
        pairs = [(rank_of.get(parts[i] + parts[i + 1], rank), i) for i in range(len(parts) - 1)]
        best, at = min(pairs)
        assert best < rank, f"{entry!r} cannot be merged from lower ranks"
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]


def _is_several_han(entry: bytes) -> bool:
    """Two characters or more, all Han once outer spaces are gone (a space and one Han character count as well)."""
    try:
        text = entry.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(text) >= 2 and bool(text.strip()) and all("\u4e00" <= char <= "\u9fff" for char in text.strip())


def _gpt2_spelling() -> dict[int, str]:
    """GPT-2's visible stand-in for every byte: printable Latin-1 as itself, the others from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def _ranks(wheel: Path | None) -> bytes:
    if wheel is not None:
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith("qwen.tiktoken"))
            return archive.read(name)
    package = Path(str(resources.files("dashscope")))
    return next(path.read_bytes() for path in package.rglob("qwen.tiktoken"))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("texts", type=Path)
    options.add_argument("folder", type=Path)
    options.add_argument("--wheel", type=Path)
    chosen = options.parse_args()
    failed = False
    if not chosen.folder.exists():
        failed = not rebuild(chosen.folder, _ranks(chosen.wheel))
        print(f"{'FAIL' if failed else 'ok':4s} rebuilt merges.txt against the official hash")
    for what, difference, tolerance in check(chosen.texts, chosen.folder):
        failed |= difference > tolerance
        print(f"{'FAIL' if difference > tolerance else 'ok':4s} {what}: {difference:g} differ")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
