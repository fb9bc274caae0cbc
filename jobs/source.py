"""Opening a manifest: a file, a pipe or stdin, plain or gzipped -> where its bytes are, their encoding, their kind."""

from __future__ import annotations

import gzip
import io
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TextIO, cast

from jobs.csv_rows import delimiter_of
from jobs.encoding import EncodingFault, detect
from jobs.errors import InvalidInput, Problem, UserError

Kind = Literal["jsonl", "csv", "tsv"]
KINDS: tuple[Kind, ...] = ("jsonl", "csv", "tsv")
_KIND_OF_SUFFIX: dict[str, Kind] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
}  # fmt: skip
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Source:
    """An opened manifest; it may be read several times until its context ends."""

    path: str
    """As given, `<stdin>` for `-`: the name in messages."""
    folder: Path
    """What relative `ref_audio` and `text_file` are relative to."""
    encoding: str
    """Name of the encoding, for people."""
    kind: Kind
    notes: tuple[str, ...]
    """What was decided that a person may want to know, such as `read as GB18030`."""
    file: Path
    """Where the bytes are: the manifest, or the temporary copy of stdin."""
    codec: str
    gzipped: bool

    def open(self) -> TextIO:
        return io.TextIOWrapper(_bytes(self.file, self.gzipped), encoding=self.codec, newline="")


@contextmanager
def open_source(
    manifest: str, *, encoding: str | None = None, kind: str | None = None, base: Path | None = None
) -> Iterator[Source]:
    """Find out what `manifest` is (`-`: stdin) and hold it open for reading.

    `encoding`, `kind` (jsonl, csv, tsv) and `base` (folder of relative inputs) replace what would be found out.
    Raises UserError if it cannot be read at all, InvalidInput with the line if its bytes are no text.
    """
    if kind is not None and kind not in KINDS:
        raise UserError(f"unknown kind of manifest {kind!r}; use one of {', '.join(KINDS)}")
    name = "<stdin>" if manifest == "-" else manifest
    with ExitStack() as stack:
        file = _on_disk(manifest, stack)
        try:
            with file.open("rb") as stream:
                gzipped = stream.read(2) == _GZIP
            found = detect(lambda: _bytes(file, gzipped), encoding)
            head = _head(file, gzipped, found.codec)
        except EncodingFault as error:
            hint = ", or name its encoding, such as --encoding gb18030" if error.unclear else ""
            raise InvalidInput([Problem(name, error.line, "", f"{error}{hint}")]) from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InvalidInput(
                [Problem(name, 0, "", f"the gzip data are damaged or cut off ({error}); pack it anew")]
            ) from error
        except OSError as error:
            raise UserError(
                f"{name}: cannot be read: {error.strerror or error}; check the path and its permissions"
            ) from error
        folder = base or (Path.cwd() if manifest == "-" else Path(manifest).parent)
        notes = (f"read as {found.title}",) if found.guessed else ()
        decided = kind or _kind(name, head)
        yield Source(name, folder.absolute(), found.title, decided, notes, file, found.codec, gzipped)


def _on_disk(manifest: str, stack: ExitStack) -> Path:
    """The manifest as a file that can be read twice: stdin and pipes are copied to a temporary one."""
    path = Path(manifest)
    if manifest != "-":
        try:
            mode = path.stat().st_mode
        except FileNotFoundError as error:
            raise UserError(f"{manifest}: there is no such file; check the path") from error
        except (OSError, ValueError) as error:
            raise UserError(f"{manifest}: cannot be read: {error}; check the path and its permissions") from error
        if stat.S_ISDIR(mode):
            raise UserError(f"{manifest}: is a folder; name the manifest in it")
        if stat.S_ISREG(mode):
            return path
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cosyvoice-batch-"))
    copy = Path(folder) / "manifest"
    with copy.open("wb") as target:
        if manifest == "-":
            if sys.stdin is None:
                raise UserError("-: standard input is closed; pipe the manifest in, or name a file")
            shutil.copyfileobj(sys.stdin.buffer, target)
        else:
            with path.open("rb") as pipe:
                shutil.copyfileobj(pipe, target)
    return copy


def _bytes(file: Path, gzipped: bool) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file, "rb")) if gzipped else file.open("rb")


def _head(file: Path, gzipped: bool, codec: str) -> str:
    with io.TextIOWrapper(_bytes(file, gzipped), encoding=codec, newline="") as text:
        return text.read(65_536).removeprefix("\ufeff")


def _kind(name: str, head: str) -> Kind:
    """By the first character where it is telling, else by the name, else by the delimiter of the first line."""
    start = head.lstrip()
    if start.startswith(("{", "[")):
        return "jsonl"
    suffix = Path(name.removesuffix(".gz").lower()).suffix
    if suffix in _KIND_OF_SUFFIX and (suffix != ".json" or not start):
        return _KIND_OF_SUFFIX[suffix]
    return "tsv" if delimiter_of(start.splitlines()[0] if start else "") == "\t" else "csv"
