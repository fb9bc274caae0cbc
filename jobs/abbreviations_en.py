"""Abbreviations, Roman numerals and signs in English text that stand for words."""

from __future__ import annotations

import re

from jobs.forms import (
    DateOrder,
    roman_value,
)
from jobs.measure import word_set
from jobs.numbers_en import cardinal, ordinal, year
from jobs.rules import Rule, RuleBook, after, before

_book = RuleBook()
_rule = _book.add


_NAMES = (
    "Henry|Louis|Elizabeth|Charles|George|Edward|William|James|Richard|John Paul|Pius|Benedict|Philip|"
    "Napoleon|Catherine|Peter|Nicholas|Alexander|Leo"
)
_MORE_NAMES = (
    "John|Paul|Innocent|Gregory|Clement|Urban|Julius|Boniface|Sixtus"
    "|Frederick|Friedrich|Wilhelm|Ferdinand|Francis|Franz|Otto|Leopold|Joseph|Christian|Gustav|Harald|Olaf|Haakon|Carl"
    "|Karl|Juan Carlos|Alfonso|Philippe|Robert|David|Malcolm|Mary|Isabella|Ivan|Mehmed|Selim|Murad|Suleiman|Darius"
    "|Xerxes|Ptolemy|Constantine|Theodosius|Justinian|Basil|Umberto|Victor Emmanuel|Pedro|Rama|Ramses|Ramesses"
    "|Thutmose|Amenhotep|Seti|Margrethe|Beatrix|Baldwin|Casimir|Sigismund|Bela|Cosimo"
)
_TITLES = "King|Queen|Pope|Emperor|Empress|Tsar|Tsarina|Czar|Sultan|Pharaoh|Kaiser|Prince|Princess|Duke"
_GIVEN = (
    "John|William|James|George|Robert|Thomas|Charles|Henry|Edward|Richard|David|Michael|Joseph|Daniel|Samuel|Walter"
)
_SAID_BY_I = (
    "think|know|love|believe|am|have|do|don|would|will|can|could|saw|see|met|mean|want|need|hate|like|trust|hear"
)
_ROMAN = "(?:XC|XL|L?X{1,3}|L)?(?:IX|IV|V?I{1,3}|V)|XC|XL|L?X{1,3}"


@_rule(
    rf"\b(?:(?:{_NAMES})|(?:{_TITLES}) [A-Z][a-z]+|(?:(?:{_MORE_NAMES})|(?:{_GIVEN})"
    rf" (?:[A-Z]\. )?[A-Z][a-z]+)(?= [IVX]{{2}})) (?P<s>(?:{_ROMAN})\b(?:\.(?=\s[a-z]))?)(?!['’.]?\w)",
    needs="[IVX]",
)
def _regnal(match: re.Match[str], order: DateOrder) -> str | None:
    """Henry VIII, John D. Smith III; neither Peter I. Smith nor James I know."""
    following = after(match)
    initial = re.match(r"\.\s[A-Z]", following) and not _SENTENCE_START.match(following[2:])
    if len(match["s"]) == 1 and (initial or re.match(rf"\s(?:{_SAID_BY_I})\b", following)):
        return None
    value = roman_value(match["s"].rstrip("."))
    return f"the {ordinal(str(value))}" if value else None


@_rule(
    r"\b(?i:chapter|part|volume|vol\.|book|act|scene|section|phase|type|stage|level|war|appendix|bowl|class|"
    rf"episode|canto|psalm|table|figure|plate|article|title|lesson|letter|schedule|grade)"
    rf" (?P<s>(?:{_ROMAN})\b(?:\.(?=\s[a-z]))?)(?!['’]|\w)"
    r"|\b(?i:chapter|canto|psalm) (?P<t>[IVXLC]{1,8})\b(?!['’])",
    needs="[IVXLC]",
)
def _serial(match: re.Match[str], order: DateOrder) -> str | None:
    value = roman_value((match["s"] or match["t"]).rstrip("."))
    number = cardinal(str(value))
    return (number if match["s"] else match[0][: -len(match["t"])] + number) if value else None


@_rule(
    r"\b(?P<name>[A-Z][a-z]+) (?P<s>X{0,3}(?:IX|IV|V?I{2,3}|VI)|X{1,3}I)\b"
    r"(?!['’]|\s(?:drips?|lines?|fluids?|therapy|infusions?|catheters?|bags?|poles?|antibiotics|access)\b)",
    needs="I[IVX]|[VX]I",
)
def _sequel(match: re.Match[str], order: DateOrder) -> str | None:
    """Rocky III, Final Fantasy VII."""
    value = roman_value(match["s"])
    return cardinal(str(value)) if value and not _SENTENCE_START.match(match["name"]) else None


@_rule(r"(?<![0-9A-Za-z])M{1,2}[MDCLXVI]{3,}(?![0-9A-Za-z])", needs="M[MDCLXVI]{3}")
def _year_in_roman(match: re.Match[str], order: DateOrder) -> str | None:
    """MDCCLXXVI, on a building."""
    value = roman_value(match[0])
    return year(str(value)) if value >= 1000 else None


@_rule("[①-⑳]", needs="[①-⑳]")
def _circled(match: re.Match[str], order: DateOrder) -> str:
    return cardinal(str(ord(match[0]) - ord("①") + 1))


_ABBREVIATIONS = {
    "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Prof": "Professor", "Jr": "Junior", "Sr": "Senior", "vs": "versus",
    "etc": "et cetera", "approx": "approximately", "dept": "department", "Dept": "Department", "Ave": "Avenue",
    "Rd": "Road", "Blvd": "Boulevard", "Inc": "Incorporated", "Ltd": "Limited", "Corp": "Corporation",
    "Gov": "Governor", "Gen": "General", "Sgt": "Sergeant", "Capt": "Captain", "Lt": "Lieutenant", "Rev": "Reverend",
    "Hon": "Honorable", "Mt": "Mount", "Ft": "Fort", "est": "established", "vol": "volume", "Vol": "Volume",
    "ext": "extension", "Ext": "Extension", "apt": "apartment", "Apt": "Apartment", "Fig": "Figure", "fig": "figure",
    "pp": "pages", "ed": "edition", "min": "minimum", "hr": "hours", "tel": "telephone", "Col": "Colonel",
    "Maj": "Major", "Sen": "Senator", "Rm": "Room", "max": "maximum", "Max": "Maximum", "ch": "chapter",
    "Ch": "Chapter", "no": "number", "exp": "expires", "p": "page", "Mon": "Monday", "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday", "Thu": "Thursday", "Thurs": "Thursday", "Fri": "Friday", "Eq": "Equation", "Tel": "Telephone",
    "appt": "appointment", "Appt": "Appointment", "temp": "temperature", "viz": "namely",
    "Bldg": "Building", "bldg": "building",
    "col": "column", "Op": "Opus", "op": "opus", "Messrs": "Messieurs", "Esq": "Esquire",
}  # fmt: skip
_ENDING = word_set("Jr Sr Esq etc Inc Ltd Corp Ave Rd Blvd dept Dept")
_SENTENCE_START = re.compile(
    r"(?:The|He|She|It|They|We|I|In|On|At|But|And|This|That|There|An?|His|Her|You|Please|For|To|If|Our|Your|When|What|As"
    r"|By|From|After|Before|Then|My|Now|No|So|All|Press|Call|Dial|Thank|Welcome|Who|Why|How|Where|These|Those|Its|Their"
    r"|Not|Or|Was|Is|Are|With|Start|Insert)\b"
)
_CAPITAL_ONLY = "Gov|Gen|Hon|Mt|Ft|Capt|Lt|Sgt|Rev|Col|Maj|Sen"
_NUMBERED = re.compile(
    r"(?i)\b(?:account|card|order|policy|claim|invoice|serial|tracking|reference|ref\.?|case|ticket|flight|train|phone|caller"
    r"|extension|platform|lot|unit|bus|route|model|part|issue|patient|prisoner|exhibit|symphony|sonata|concerto|quartet"
    r"|rule|cabin|bed|booking|confirmation|member|check|file|report|gate|track|seat|platform|apartment),?\s$"
)
_MEASURED_TEMP = re.compile(r"(?i)\b(?:the|room|body|water|air|outside|current|high|low)\s$")
_COUNTED = re.compile(
    r"(?i)\b(?:one|two|three|four|five|six|eight|ten|twelve|fifteen|twenty|thirty|forty|fifty|sixty|few)\s$"
)
_RANKED = re.compile(r"(?i)\b(?:the|our|his|her|their|my|your|ranked|rated|seed|world['’]s)\s$")
_BEFORE_NUMBER = ("Rm", "max", "Max", "ch", "Ch", "no", "exp", "p", "Op", "op", "col")
_LOWER_NUMBER = "vol|Vol|ext|Ext|Fig|fig|pp|ed|min|hr|est"


@_rule(rf"\b(?P<a>{'|'.join(_ABBREVIATIONS)})\.(?P<next>\s*)", needs=r"[a-z]\.")
def _abbreviation(match: re.Match[str], order: DateOrder) -> str | None:
    following = after(match)
    name = match["a"]
    if name in _CAPITAL_ONLY.split("|") and not following[:1].isupper():
        return None
    if name == "no" and not _NUMBERED.search(before(match, 20)) and not _RANKED.search(before(match, 12)):
        return None
    if name in _BEFORE_NUMBER and following[:1] not in ("\ue000", *"0123456789"):
        return None
    if name == "temp" and not _MEASURED_TEMP.search(before(match, 12)):
        return None
    if name == "min" and _COUNTED.search(before(match, 12)):
        return "minutes" + match["next"]
    if name in ("ed", "min", "hr", "est", "temp") and (not following or following[:1].isupper()):
        return None
    ends = not following or (name in _ENDING and _SENTENCE_START.match(following))
    return _ABBREVIATIONS[name] + ("." if ends and (not following or match["next"]) else "") + match["next"]


_SHOUTED = {
    "MR": "MISTER", "MRS": "MISSUS", "MESSRS": "MESSIEURS", "DR": "DOCTOR", "PROF": "PROFESSOR", "CAPT": "CAPTAIN",
    "REV": "REVEREND", "ST": "SAINT",
}  # fmt: skip


@_rule(
    rf"(?<![\w.])(?P<s>(?P<a>{'|'.join(_SHOUTED)})\.)(?=\s(?:[A-Z]\.\s)*(?:AND\sM|[A-Z][A-Z'’]))", needs="[A-Z]{2}\\."
)
def _shouted(match: re.Match[str], order: DateOrder) -> str | None:
    """A heading in capitals: MR. PENROSE MAKES AN OFFER. After a name ST. and DR. are streets."""
    streets = match["a"] in ("DR", "ST")
    if streets and re.search(r"\b(?!AND|OF|AT|TO|IN|FROM|BY|FOR|THE|OR|WITH|ON)[A-Z]{2,}\s$", before(match, 40)):
        return None
    return _SHOUTED[match["a"]]


@_rule(r"\bFl\.(?=\s?(?:[0-9]{1,2}(?![0-9])|\ue000{1,2}(?!\ue000)))", needs=r"Fl\.")
def _floor(match: re.Match[str], order: DateOrder) -> str:
    """Fl. 2; not Florida before its ZIP code."""
    return "Floor"


@_rule(r"\b(?P<w>[NSEW])\.(?=\s(?:entrance|exit|side|wing|gate|tower|lot|end|bank|shore|coast)\b)", needs=r"[NSEW]\.")
def _side(match: re.Match[str], order: DateOrder) -> str:
    return {"N": "north", "S": "south", "E": "east", "W": "west"}[match["w"]]


@_rule(r"\b(?P<a>Dr|St)\.(?P<next>\s*)(?=(?P<word>\w?))", needs=r"(?:Dr|St)\.")
def _doctor_or_drive(match: re.Match[str], order: DateOrder) -> str:
    """Before a name it is a title; after one, or at an end, a street."""
    preceding = before(match, 40).rstrip()
    is_title = match["word"].isupper() and not re.search(r"\b[A-Z][a-z]+$", preceding)
    words = {"Dr": ("Doctor", "Drive"), "St": ("Saint", "Street")}[match["a"]]
    stop = (
        "."
        if not is_title
        and (not match["word"] or match["word"].isupper())
        and not re.match(r"\s*[,;:]", match.string[match.end("a") + 1 :])
        else ""
    )
    return (words[0] if is_title else words[1] + stop) + match["next"]


@_rule(r"(?<![0-9A-Za-z*#])[*#](?![0-9A-Za-z*#])", needs="[*#]")
def _key(match: re.Match[str], order: DateOrder) -> str | None:
    """Press * or #."""
    around = f"{before(match, 40)} {after(match)}"
    if not re.search(r"(?i)\b(?:press|push|hit|dial|enter|key|button)", around):
        return None
    return "star" if match[0] == "*" else "pound"


@_rule(
    r"(?<![A-Za-z.])(?P<a>e\.g\.|i\.e\.|a\.k\.a\.|w/o(?![A-Za-z])|w/(?=\s)|y/o(?![A-Za-z])|c/o(?![A-Za-z]))",
    needs=r"\.[gek]|[wyc]/",
)
def _latin(match: re.Match[str], order: DateOrder) -> str:
    return {
        "e.g.": "for example",
        "i.e.": "that is",
        "a.k.a.": "also known as",
        "w/o": "without",
        "w/": "with",
        "y/o": "years old",
        "c/o": "care of",
    }[match[0]]


@_rule(r"(?<=[A-Za-z])\+\+|(?<=\bC)#|(?<=[A-Z])\+(?![A-Za-z0-9])", needs="[+#]")
def _plus_plus(match: re.Match[str], order: DateOrder) -> str:
    return {"++": " plus plus", "#": " sharp", "+": " plus"}[match[0]]


RULES: tuple[Rule, ...] = tuple(_book.rules)
