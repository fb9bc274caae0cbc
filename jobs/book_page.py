"""What a single HTML page says about itself."""

from __future__ import annotations

from dataclasses import replace

from jobs.book_markup import Tag, tokens
from jobs.book_records import BookFacts, one_line

_HEAD_CHARS = 100_000
_META = {
    "author": "author", "dc.creator": "author", "dcterms.creator": "author",
    "dc.title": "title", "dcterms.title": "title", "dc.language": "language", "dcterms.language": "language",
    "dc.publisher": "publisher", "description": "description",
}  # fmt: skip


def page_facts(text: str, facts: BookFacts) -> BookFacts:
    """`facts` with the page's title, author and language."""
    named: dict[str, str] = {}
    title, inside = "", False
    for token in tokens(text[:_HEAD_CHARS]):
        if isinstance(token, str):
            title += token if inside else ""
        elif token.name == "title":
            inside = not token.closing
        elif token.name == "html":
            named.setdefault("language", token.get("lang", "xml:lang"))
        elif token.name == "meta" and (key := _META.get(token.get("name").lower())):
            named.setdefault(key, one_line(_content(token)))
        elif token.name == "body":
            break
    author = named.get("author", "")
    return replace(
        facts,
        title=named.get("title") or one_line(title),
        authors=(author,) if author else (),
        language=named.get("language", ""),
        publisher=named.get("publisher", ""),
        description=named.get("description", ""),
    )


def _content(tag: Tag) -> str:
    return tag.get("content")
