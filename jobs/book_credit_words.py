"""Sentences of opening and closing credits by language, as data. Each says that the voice is synthetic."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, tuple[str, str]] = {
    "en": ("Opening Credits", "Closing Credits"),
    "zh": ("片头", "片尾"),
    "yue": ("片頭", "片尾"),
    "ja": ("オープニング", "エンディング"),
    "ko": ("오프닝", "클로징"),
    "de": ("Vorspann", "Abspann"),
    "fr": ("Générique de début", "Générique de fin"),
    "es": ("Créditos iniciales", "Créditos finales"),
    "it": ("Titoli di testa", "Titoli di coda"),
    "ru": ("Вступление", "Заключение"),
}
"""Titles of the two files; English ones where there are none."""
SENTENCES: Mapping[str, tuple[str, str]] = {
    "en": (
        "{title}.\nWritten by {author}.\nNarrated by {narrator}.",
        "This has been {title}.\nWritten by {author}.\nNarrated by {narrator}.\nThe end.",
    ),
    "zh": (
        "《{title}》。\n作者：{author}。\n由{narrator}朗读。",
        "《{title}》全书完。\n作者：{author}。\n由{narrator}朗读。",
    ),
    "yue": (
        "《{title}》。\n作者：{author}。\n由{narrator}朗讀。",
        "《{title}》全書完。\n作者：{author}。\n由{narrator}朗讀。",
    ),
    "ja": (
        "『{title}』。\n作、{author}。\n朗読、{narrator}。",
        "『{title}』、終わり。\n作、{author}。\n朗読、{narrator}。",
    ),
    "ko": (
        "{title}.\n지은이, {author}.\n낭독, {narrator}.",
        "{title}, 끝.\n지은이, {author}.\n낭독, {narrator}.",
    ),
    "de": (
        "{title}.\nVon {author}.\nGelesen von {narrator}.",
        "Das war {title}.\nVon {author}.\nGelesen von {narrator}.\nEnde.",
    ),
    "fr": (
        "{title}.\nDe {author}.\nLu par {narrator}.",
        "C'était {title}.\nDe {author}.\nLu par {narrator}.\nFin.",
    ),
    "es": (
        "{title}.\nDe {author}.\nLeído por {narrator}.",
        "Esto ha sido {title}.\nDe {author}.\nLeído por {narrator}.\nFin.",
    ),
    "it": (
        "{title}.\nDi {author}.\nLetto da {narrator}.",
        "Questo era {title}.\nDi {author}.\nLetto da {narrator}.\nFine.",
    ),
    "ru": (
        "{title}.\nАвтор: {author}.\nЧитает {narrator}.",
        "{title}. Конец.\nАвтор: {author}.\nЧитает {narrator}.",
    ),
}
SYNTHETIC_VOICE: Mapping[str, tuple[str, str]] = {
    "en": ("a synthetic voice", "{}, a synthetic voice"),
    "zh": ("合成语音", "合成语音{}"),
    "yue": ("合成語音", "合成語音{}"),
    "ja": ("合成音声", "合成音声 {}"),
    "ko": ("합성 음성", "합성 음성 {}"),
    "de": ("einer synthetischen Stimme", "der synthetischen Stimme {}"),
    "fr": ("une voix de synthèse", "{}, une voix de synthèse"),
    "es": ("una voz sintética", "{}, una voz sintética"),
    "it": ("una voce sintetica", "{}, una voce sintetica"),
    "ru": ("синтезированный голос", "синтезированный голос {}"),
}
"""The narrator in the sentences above: without a name, and with one."""
LAST_JOINT: Mapping[str, str] = {"en": " and ", "de": " und ", "fr": " et ", "es": " y ", "it": " e ", "ru": " и "}
COMMA: Mapping[str, str] = {"zh": "、", "yue": "、", "ja": "、"}
"""Between the names of several authors: all but the last, and before it."""
