"""HTML and XML text -> tags and text, in one pass whose time grows with the length only, whatever the text is.

The standard library's parser takes quadratic time on texts made for that, so this one follows the tokenizer of the HTML
standard where it matters: what is opened and never closed (a tag, a comment) ends the text. No DTD is ever read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.book_records import BookFault, spoken_characters

_NAME = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*(?:(>)|([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?)""")
_RAW_END = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}
_ENDLESS_REFERENCE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{8,});?")
_PROLOG_END = re.compile(r"<[A-Za-z]")
_DECLARATION = re.compile(r"<!(?:ENTITY|DOCTYPE[^>\[]*\[)", re.IGNORECASE)
_CHARSET = re.compile(rb"""(?:encoding|charset)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_CODEC = re.compile(
    "utf-?(?:8|16|16le|16be)|gb18030|big5(?:-?hkscs)?|cp932|euc-(?:jp|kr)|iso-8859-(?:[1-9]|1[013456])|cp1252"
    "|windows-125[0-8]|koi8-[ru]"
)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Tag:
    name: str
    """Lower case, without its namespace prefix."""
    attributes: dict[str, str]
    """Names in lower case, with their prefix (`epub:type`)."""
    closing: bool = False
    empty: bool = False
    """Written as `<name/>`."""

    def get(self, *names: str) -> str:
        """The first of these attributes that is there, or nothing."""
        return next((self.attributes[name] for name in names if name in self.attributes), "")


def tokens(text: str) -> Iterator[Tag | str]:
    """Tags and decoded text in order; comments, declarations, scripts and styles are left out."""
    position, length = 0, len(text)
    while position < length:
        start = text.find("<", position)
        if start < 0:
            start = length
        if start > position:
            yield unescape(text[position:start])
        if start == length:
            return
        position = start
        found = _NAME.match(text, start)
        if found is None:
            position, literal = _other(text, start)
            if literal:
                yield spoken_characters(literal)
            continue
        name = found[2].rpartition(":")[2].lower() or found[2].lower()
        attributes, position, empty = _attributes(text, found.end())
        if position < 0:
            return
        yield Tag(name, attributes, closing=bool(found[1]), empty=empty)
        if name in _RAW_END and not found[1] and not empty:
            ending = _RAW_END[name].search(text, position)
            position = ending.start() if ending else length


def _other(text: str, start: int) -> tuple[int, str]:
    """Where a comment, CDATA section, declaration or stray `<` ends, and the literal text it holds."""
    if text.startswith("<!--", start):
        return _after(text, "-->", start + 2, 3), ""
    if text.startswith("<![CDATA[", start):
        end = text.find("]]>", start)
        end = len(text) if end < 0 else end
        return end + 3, text[start + 9 : end]
    if text[start + 1 : start + 2] in ("!", "?", "/"):
        return _after(text, ">", start, 1), ""
    return start + 1, "<"


def _after(text: str, ending: str, start: int, length: int) -> int:
    """The position after `ending`; the end of the text if there is none."""
    at = text.find(ending, start)
    return len(text) if at < 0 else at + length


def _attributes(text: str, position: int) -> tuple[dict[str, str], int, bool]:
    """Attributes, the position after `>` (-1 if the tag is never closed), and whether it was `/>`."""
    attributes: dict[str, str] = {}
    while found := _ATTRIBUTE.match(text, position):
        position = found.end()
        if found[1]:
            return attributes, position, text[position - 2] == "/"
        value = next((value for value in found.groups()[2:] if value is not None), "")
        attributes.setdefault(found[2].lower(), unescape(value))
    return attributes, -1, False


def unescape(text: str) -> str:
    """Character references decoded; what no text may hold taken out."""
    if "&" in text:
        text = html.unescape(_ENDLESS_REFERENCE.sub("", text))
    return spoken_characters(text)


def refuse_entities(text: str, name: str) -> None:
    """Raise BookFault for a document that declares entities of its own: none of a real book does."""
    start = _PROLOG_END.search(text)
    if _DECLARATION.search(text, 0, start.start() if start else len(text)):
        raise BookFault(
            f"{name} declares XML entities of its own, as documents that attack their reader do; if you trust the book,"
            " convert it to EPUB anew"
        )


def decode_markup(data: bytes, name: str, asked: str | None = None) -> tuple[str, str]:
    """(text, remark) of an HTML or XML document: by its mark, what it declares, UTF-8, or a guess that is told."""
    from jobs.encoding import EncodingFault, decode

    if asked is not None:
        try:
            return decode(data, asked)[0], ""
        except EncodingFault as error:
            raise BookFault(f"{name}: {error}") from error
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data.decode(codec, "replace"), ""
    declared = _declared(data)
    # What is valid UTF-8 beyond ASCII is nothing else, whatever it declares.
    for codec in (declared, "utf-8") if b"\x00" in data[:256] else ("utf-8", declared):
        try:
            return data.decode(codec), ""
        except UnicodeDecodeError:
            continue
    try:
        text, encoding = decode(data)
    except EncodingFault:
        text = data.decode("utf-8", "replace")
        lost = text.count("\ufffd")
        if lost * 20 > len(text):
            raise BookFault(f"{name} is in no encoding that can be told; name it with --encoding") from None
        return text, f"{name}: {lost} characters could not be read and are left out"
    return text, f"{name} was read as {encoding.title}, it is not what it says to be"


def _declared(data: bytes) -> str:
    """The encoding that a document names, if it is one that documents are written in; else UTF-8."""
    found = _CHARSET.search(data[:2048])
    codec = found[1].decode("ascii").lower() if found else "utf-8"
    codec = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "shift_jis": "cp932"}.get(codec, codec)
    return codec if _CODEC.fullmatch(codec) else "utf-8"
