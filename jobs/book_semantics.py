"""What markup and titles say about a part of a book: cover, contents, preface, chapter, notes …"""

from __future__ import annotations

import re

from jobs.book_markup import Tag

# https://www.w3.org/TR/epub-ssv-11/ and the guide types of OPF 2.0.
_TYPES = {
    "cover": "cover", "titlepage": "titlepage", "title-page": "titlepage", "halftitlepage": "titlepage",
    "copyright-page": "copyright", "imprint": "copyright", "imprimatur": "copyright", "colophon": "copyright",
    "toc": "contents", "landmarks": "contents", "page-list": "contents", "loi": "contents", "lot": "contents",
    "dedication": "dedication", "epigraph": "epigraph", "foreword": "foreword", "preface": "preface",
    "introduction": "introduction", "acknowledgments": "acknowledgements", "acknowledgements": "acknowledgements",
    "prologue": "prologue", "chapter": "chapter", "part": "part", "volume": "part", "epilogue": "epilogue",
    "conclusion": "epilogue", "afterword": "afterword", "appendix": "appendix", "footnotes": "notes",
    "endnotes": "notes", "rearnotes": "notes", "footnote": "notes", "endnote": "notes", "rearnote": "notes",
    "notes": "notes", "glossary": "glossary", "bibliography": "bibliography", "index": "index",
    "other-credits": "copyright", "seriespage": "ads",
}  # fmt: skip
_CLASSES = {
    "page": re.compile(r"page-?(?:num(?:ber)?|no|break)s?|calibre_?pb|pb"),
    "verse": re.compile(r"poem|poetry|verse|stanza|linegroup|line-group|lg"),
    "heading": re.compile(r"(?:chapter|part|section)[-_]?(?:title|head|heading|num|number|name)|chapheading"),
    "emphasis": re.compile(r"italics?|bold|emphasis|em|strong|smallcaps-italic"),
    "note": re.compile(
        r"(?:foot|end|rear)?-?notes?(?:[-_]?(?:body|text|content))?|fn|duokan-footnote-(?:content|item)"
    ),
    "footnote": re.compile(r"(?:foot|end|rear)-?notes?(?:[-_]?(?:body|text|content))?"),
    "boilerplate": re.compile(r"pg-?boilerplate|pgheader|pg-?footer|(?:trans(?:criber)?s?|t)-?notes?"),
    "unnumbered": re.compile(r"none|no-?bullets?|unnumbered|plain|toc"),
}
_TITLES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"(?:{pattern})", re.IGNORECASE))
    for kind, pattern in (
        ("cover", r"(?:front |book )?cover(?: page| image)?|封面|書影|表紙|封底|back cover"),
        ("titlepage", r"(?:half[- ]?)?title(?:[- ]?page)?|书名页|扉页|扉頁|書名頁|扉"),
        ("copyright", r"copyright(?: page| notice| information)?|imprint|colophon|版权(?:页|信息|声明)?"
                      r"|版權(?:頁|信息)?|奥付|出版说明"),
        ("contents", r"(?:table of )?contents|toc|list of (?:illustrations|figures|tables|maps|plates)|illustrations"
                     r"|目录|目錄|目次|もくじ|总目录"),
        ("dedication", r"dedications?|献词|献辞|題獻|献给.{0,10}"),
        ("epigraph", r"epigraphs?|题记|題記|卷首语"),
        ("foreword", r"forewords?(?: .*)?|推荐序.{0,12}|出版前言|译者?序|译者前言|总序|代序.{0,10}"),
        ("preface", r"prefaces?(?: .*)?|author['’]s (?:note|preface)|自序|前言|作者序|まえがき|はじめに|序文|原序"),
        ("introduction", r"introduction|introductory.*|内容简介|作品简介|简介|导读|导言|導讀|绪论"),
        ("prologue", r"prologues?\b.*|prelude|楔子.{0,20}|引子.{0,20}|序章.{0,20}|序幕.{0,20}|プロローグ.{0,20}"),
        ("epilogue", r"epilogues?\b.*|尾声.{0,20}|尾聲.{0,20}|终章.{0,20}|終章.{0,20}|エピローグ.{0,20}|尾章"),
        ("afterword", r"after-?words?|后记|後記|跋|あとがき|译后记|編後記|编后记"),
        ("acknowledgements", r"acknowledge?ments?|致谢|致謝|鸣谢|謝辞|thanks"),
        ("appendix", r"appendi(?:x|ces)\b.*|附录.{0,20}|附錄.{0,20}|付録.{0,20}"),
        ("notes", r"(?:foot|end)?-?notes|notes (?:and|to) .*|transcriber['’]?s? notes?.*|注释|註釋|注解|尾注"
                  r"|脚注|訳注"),
        ("glossary", r"glossary|词汇表|术语表|用語集"),
        ("bibliography", r"bibliography|references|works cited|further reading|参考文献|參考文獻|参考书目"),
        ("index", r"(?:general |subject |name )?index|索引"),
        ("about", r"about the (?:author|book|publisher|translator|type).*|作者简介|关于作者|作者介绍"
                  r"|作者簡介|著者紹介"),
        ("ads", r"also (?:by|available).*|other books by.*|books by .*|by the same author|newsletter.*"
                r"|广告|完本感言|新书推荐"),
        ("licence", r"the full project gutenberg licen[sc]e.*|licen[sc]e"),
        ("part", r"(?:part|book|volume)\s+(?:\d+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|the \w+)\b.*"
                 r"|第[一二三四五六七八九十百零〇\d]+[部卷篇编編册冊集](?:[\s:：·].*)?|[上中下][卷部篇]"),
    )
)  # fmt: skip


def class_says(tag: Tag, what: str) -> bool:
    """Whether one of the element's classes is a usual name for `what`."""
    classes = tag.get("class")
    return bool(classes) and any(_CLASSES[what].fullmatch(name.lower()) for name in classes.split()[:16])


def matter_of_markup(kinds: str, name: str = "section") -> str:
    """The kind of chapter that `epub:type`, `role` or a guide type names; nothing if none."""
    if not kinds or name in ("a", "span", "sup"):
        return ""
    words = (word.lower().removeprefix("doc-") for word in kinds.split())
    return next((_TYPES[word] for word in words if word in _TYPES), "")


def matter_of_title(title: str) -> str:
    """The kind of chapter that a title names; nothing if it is a title like any other."""
    plain = " ".join(title.split()).strip("*_#·.:：[]【】 ")
    if not plain or len(plain) > 80:
        return ""
    return next((kind for kind, pattern in _TITLES if pattern.fullmatch(plain)), "")
