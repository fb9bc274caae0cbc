"""Language names as people write them in a manifest -> ISO 639-1 codes (`yue` where that standard has none)."""

from __future__ import annotations

import difflib
from functools import lru_cache

_CODE_LIST = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en "
    "eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja "
    "jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb "
    "nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq "
    "sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu yue"
)
_CODES = frozenset(_CODE_LIST.split())
_NAMES = {
    "chinese": "zh", "mandarin": "zh", "putonghua": "zh", "cmn": "zh", "zho": "zh", "chi": "zh", "cn": "zh",
    "中文": "zh", "汉语": "zh", "漢語": "zh", "普通话": "zh", "普通話": "zh", "国语": "zh", "國語": "zh", "华语": "zh",
    "cantonese": "yue", "粤语": "yue", "粵語": "yue", "广东话": "yue", "廣東話": "yue",
    "english": "en", "eng": "en", "英语": "en", "英語": "en", "英文": "en",
    "japanese": "ja", "jpn": "ja", "jp": "ja", "日语": "ja", "日文": "ja", "日本語": "ja",
    "korean": "ko", "kor": "ko", "韩语": "ko", "韓語": "ko", "한국어": "ko",
    "german": "de", "deu": "de", "ger": "de", "deutsch": "de", "德语": "de",
    "french": "fr", "fra": "fr", "fre": "fr", "français": "fr", "法语": "fr",
    "spanish": "es", "spa": "es", "español": "es", "西班牙语": "es",
    "italian": "it", "ita": "it", "italiano": "it", "意大利语": "it",
    "russian": "ru", "rus": "ru", "русский": "ru", "俄语": "ru",
    "portuguese": "pt", "por": "pt", "dutch": "nl", "nld": "nl", "polish": "pl", "pol": "pl",
    "arabic": "ar", "ara": "ar", "hindi": "hi", "hin": "hi", "thai": "th", "tha": "th", "vietnamese": "vi", "vie": "vi",
    "indonesian": "id", "ind": "id", "turkish": "tr", "tur": "tr", "ukrainian": "uk", "ukr": "uk",
}  # fmt: skip


@lru_cache(maxsize=1024)
def language_code(written: str) -> str:
    """`zh` for `zh`, `zh-CN`, `zh_Hans_CN`, `cmn`, `Chinese`, `中文`; raises ValueError with what to write instead."""
    word = written.strip().lower()
    main = word.replace("_", "-").split("-")[0]
    # zh-HK is Chinese as it is written there; only an explicit `yue` asks for Cantonese speech.
    if "-yue" in word:
        return "yue"
    code = _NAMES.get(word) or _NAMES.get(main) or (main if main in _CODES else None)
    if code is None:
        near = difflib.get_close_matches(word, _NAMES, n=1, cutoff=0.75)
        hint = f"did you mean {_NAMES[near[0]]} ({near[0]})?" if near else "use an ISO 639-1 code such as zh, en, ja"
        raise ValueError(f"unknown language {written[:40]!r}; {hint}")
    return code
