"""A zip file from a stranger: members by name, with limits, nothing is ever written to the disk."""

from __future__ import annotations

import posixpath
import stat
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from urllib.parse import unquote, urlsplit

from jobs.book_records import BookFault

MAX_MEMBERS = 20_000
MAX_DOCUMENT_BYTES = 16 << 20
"""One chapter file: five long novels."""
MAX_READ_BYTES = 96 << 20
"""All that is read of one book: twenty Bibles."""
MAX_RATIO = 200
"""Text shrinks 3 to 10 times; only what was made to harm shrinks more than this."""
RATIO_FROM_BYTES = 1 << 20
_ENCRYPTED = 0x1


class Archive:
    """The members of an EPUB. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, RuntimeError, EOFError, ValueError) as error:
            raise BookFault(f"is a damaged zip file ({error}); fetch or export the EPUB again") from error
        try:
            self._names = self._checked()
        except BaseException:
            self._zip.close()
            raise
        self._folded = {name.casefold(): name for name in self._names}
        self._left_bytes = MAX_READ_BYTES

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        members = self._zip.infolist()
        if len(members) > MAX_MEMBERS:
            raise BookFault(
                f"holds {len(members):,} files, a book has at most {MAX_MEMBERS:,}; convert it to EPUB anew"
            )
        for member in members:
            name = member.filename.replace("\\", "/")
            if name.startswith("/") or ".." in name.split("/") or name[1:2] == ":":
                raise BookFault(
                    f"holds the file {name[:80]!r}, which points outside the book, as attacks on readers do;"
                    " convert it to EPUB anew if you trust it"
                )
            if stat.S_ISLNK(member.external_attr >> 16):
                raise BookFault(f"holds the link {name[:80]!r} instead of a file; convert it to EPUB anew")
        return {member.filename.replace("\\", "/"): member for member in members if not member.is_dir()}

    def size_bytes(self, name: str) -> int:
        return self._names[name].file_size

    def names(self) -> list[str]:
        return list(self._names)

    def find(self, name: str) -> str | None:
        """The name as the archive spells it; where only case differs, that one."""
        return name if name in self._names else self._folded.get(name.casefold())

    def read(self, name: str, limit_bytes: int = MAX_DOCUMENT_BYTES) -> bytes:
        """The bytes of a member that `find` gave. Raises BookFault beyond the limits, for encrypted or damaged ones."""
        member = self._names[name]
        if member.flag_bits & _ENCRYPTED:
            raise BookFault(f"{name} is encrypted; books under copy protection (DRM) cannot be read")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BookFault(f"{name} is packed in a way that EPUB does not know; convert the book to EPUB anew")
        if member.file_size > limit_bytes:
            raise BookFault(
                f"{name} has {member.file_size >> 20:,} MB, a part has at most {limit_bytes >> 20} MB; split it"
            )
        if member.file_size > RATIO_FROM_BYTES and member.file_size > MAX_RATIO * max(1, member.compress_size):
            raise BookFault(
                f"{name} unpacks to {member.file_size // max(1, member.compress_size):,} times its size, a zip bomb;"
                " convert the book to EPUB anew if you trust it"
            )
        self._left_bytes -= member.file_size
        if self._left_bytes < 0:
            raise too_much()
        try:
            with self._zip.open(member) as stream:
                data = stream.read(limit_bytes + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            raise BookFault(f"{name} in it is damaged ({error}); fetch or export the EPUB again") from error
        if len(data) > limit_bytes:
            raise BookFault(f"{name} is larger than it says; convert the book to EPUB anew if you trust it")
        return data


def too_much() -> BookFault:
    return BookFault(f"its parts unpack to more than {MAX_READ_BYTES >> 20} MB; split the book")


def resolve(base: str, href: str) -> tuple[str, str]:
    """(member name, fragment) of a link in the document `base`; ("", "") for one that leads out of the book."""
    try:
        link = urlsplit(href.strip())
    except ValueError:
        return "", ""
    if link.scheme or link.netloc:
        return "", ""
    path = unquote(link.path)
    name = posixpath.normpath(posixpath.join(posixpath.dirname(base), path)) if path else base
    if name.startswith(("/", "..")) or "\\" in name:
        return "", ""
    return name, unquote(link.fragment)
