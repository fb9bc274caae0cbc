"""Which legacy encoding are these bytes in? A guess by how common the decoded characters are; None rather than a toss.

A detector by statistics alone reads a dozen Chinese characters as Korean, and the run would then speak nonsense without
an error. So a sample counts as, say, GB18030 only if it decodes strictly and its characters are the everyday ones of
Chinese; what is left (Greek, Thai ...) is asked of charset-normalizer, and only believed on a sample of some length.
"""

from __future__ import annotations

import re

_SIMPLIFIED = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事"
    "成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已"
    "工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西月话合回特代内信表化"
    "老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变四神总何电数安少报才结反受目"
    "太量再感建务做接必场件计管期市直德资命山金指许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象"
    "完设式色路记南品住告类求据程北边死张该交规万取望觉术领共确传师观清今切院让识候带导争运您请谢按欢迎快哪吗吧呢啊客服码验证键"
    "号六七八九零元款费班航订单查询预约早晚午夜春夏秋冬风花雪城车店楼房间号街父母亲爱朋友孩妈爸哥姐弟妹钱买卖吃喝睡坐站跑笑哭"
)
_TRADITIONAL = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事"
    "成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已"
    "工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西月話合回特代內信表化"
    "老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四神總何電數安少報才結反受目"
    "太量再感建務做接必場件計管期市直德資命山金指許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象"
    "完設式色路記南品住告類求據程北邊死張該交規萬取望覺術領共確傳師觀清今切院讓識候帶導爭運您請謝按歡迎快哪嗎吧呢啊客服碼驗證鍵"
    "號六七八九零元款費班航訂單查詢預約早晚午夜春夏秋冬風花雪城車店樓房街父母親愛朋友孩媽爸哥姐弟妹錢買賣吃喝睡坐站跑笑哭勿洩露再"
)
_WESTERN = frozenset("äöüÄÖÜßéèêëàâáãåæçñôóòõøœîïíìùûúÿÉÈÀÇÑÅØÆ’‘“”–—…«»€£§°¿¡·²³½ªº")
_CENTRAL = frozenset("äöüÄÖÜßéáíóúąćęłńśźżčďěňřšťůýžőűășțĄĆĘŁŃŚŹŻČĎĚŇŘŠŤŮÝŽŐŰ’‘“”–—…«»„€§°")

_CYRILLIC = frozenset(map(chr, range(0x410, 0x450))) | frozenset("ёЁіїєґІЇЄҐ№«»—–…")
_GREEK = frozenset(map(chr, range(0x386, 0x3CF))) | frozenset("«»—–…·’")
_GREEK_ACCENTS = frozenset("άέήίόύώϊϋΐΰΆΈΉΊΌΎΏ")
_WORD = re.compile(r"\w+")

CANDIDATES = ("gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253")
SURE = 0.6
MARGIN = 0.15
FEW_BYTES = 8
"""Fewer bytes than these beyond ASCII are believed only where every character is an everyday one."""


def guess(sample: bytes) -> str | None:
    """Name of the codec that `sample` is most likely in, or None where that is not clear enough to act on.

    `sample`: up to some 64 KiB of whole lines that are not valid UTF-8.
    """
    scores = sorted(((_score(sample, codec), -rank, codec) for rank, codec in enumerate(CANDIDATES)), reverse=True)
    (best, _, codec), (second, _, runner_up) = scores[:2]
    evidence = sum(byte >= 0x80 for byte in sample)
    if best < SURE:
        return _ask_detector(sample) if evidence >= 5 * FEW_BYTES else None
    if evidence < FEW_BYTES and best < 1.0:
        return None
    # Western and Central European text often decodes the same, or equally well, in both.
    near_twins = {codec, runner_up} == {"cp1252", "cp1250"}
    return codec if best - second >= MARGIN or near_twins else None


def _score(sample: bytes, codec: str) -> float:
    """How everyday the text is that `codec` makes of `sample`, up to 1; 0 where it does not decode."""
    try:
        text = sample.decode(codec)
    except UnicodeDecodeError:
        return 0.0
    marks = _alphabetic(text, codec) if codec.startswith(("cp125", "koi8")) else [_cjk(char, codec) for char in text]
    weights = [mark for mark in marks if mark is not None]
    return max(0.0, sum(weights) / len(weights)) if weights else 0.0


def _cjk(char: str, codec: str) -> float | None:
    """How expected one character is in Chinese, Japanese or Korean text; None for what tells nothing."""
    if char < "\x80" or "\u3000" <= char <= "\u303f" or "\uff01" <= char <= "\uff20":
        return None
    han = "\u4e00" <= char <= "\u9fff"
    if codec == "gb18030":
        return 1.0 if char in _SIMPLIFIED else 0.25 if han and _everyday(char, "gb2312", 0xB0, 0xD7) else -0.5
    if codec == "big5":
        return 1.0 if char in _TRADITIONAL else 0.25 if han and _everyday(char, "big5", 0xA4, 0xC6) else -0.5
    if codec == "cp949":
        return 0.8 if _everyday(char, "euc_kr", 0xB0, 0xC8) else -0.5
    return 1.0 if "\u3041" <= char <= "\u30fe" else 0.3 if han else -0.5


def _everyday(char: str, codec: str, first: int, last: int) -> bool:
    """Whether the lead byte lies in the rows that the standard gives to everyday characters.

    GB 2312 level 1: B0-D7; Big5 level 1: A4-C6; KS X 1001 Hangul: B0-C8.
    """
    try:
        return first <= char.encode(codec)[0] <= last
    except UnicodeEncodeError:
        return False


def _alphabetic(text: str, codec: str) -> list[float]:
    """The same for alphabets of one byte a letter, word by word: how letters stand together tells them apart."""
    own = {"cp1252": _WESTERN, "cp1250": _CENTRAL, "cp1253": _GREEK}.get(codec, _CYRILLIC)
    latin = codec in ("cp1252", "cp1250")
    marks = [-0.5 for char in text if char >= "\x80" and not char.isalnum() and char not in own]
    for word in _WORD.findall(text):
        beyond = [char for char in word if char >= "\x80"]
        if latin:
            value = 1.0 if len(beyond) <= max(1, len(word) * 0.7) else -0.5
        else:
            value = _foreign_word(word, codec) if len(beyond) == len(word) else -0.5
        marks += [value if char in own else -0.5 for char in beyond]
    return marks


def _foreign_word(word: str, codec: str) -> float:
    """Cyrillic capitals are small letters in KOI8-R and the other way round; a Greek word has an accent."""
    if codec == "cp1253" and len(word) > 3 and not _GREEK_ACCENTS.intersection(word):
        return -0.5
    if word[1:] == word[1:].lower():
        return 1.0
    return 0.4 if word.isupper() else -0.5


def _ask_detector(sample: bytes) -> str | None:
    """charset-normalizer's guess, if it finds a language in it."""
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return best.encoding if best is not None and best.chaos < 0.1 and best.coherence > 0.2 else None
