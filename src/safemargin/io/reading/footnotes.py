"""What titles and footnotes say about a table: what a symbol stands for, what counts are rounded to, their unit.

>>> explained(["* fewer than 5"]).gaps["*"]
(0, 4)
>>> explained(["Counts are rounded to the nearest 5."]).base
5
>>> explained(["- nil or zero"]).zeros
frozenset({'-'})
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from safemargin.core import UNBOUNDED
from safemargin.io.reading.symbols import explanation
from safemargin.io.reading.values import DASHES, MONEY, SYMBOLS

_FEWER = (
    r"(?:fewer than|less than|under|below|smaller than|weniger als|unter|kleiner als|moins de|inférieurs? à|menos de|"
)
_FEWER += r"menor(?:es)? (?:que|de)|meno di|inferiori? a|minder dan|færre end|färre än|mniej niż|alle|<)"
_BELOW = re.compile(rf"{_FEWER}\s*([0-9]{{1,6}})", re.I)
_OR_LESS = re.compile(r"([0-9]{1,6}) (?:or (?:fewer|less|below)|oder weniger|ou moins|o menos)", re.I)
_AT_MOST = re.compile(r"(?:≤|<=|at most|up to|höchstens|bis zu|au plus|como máximo)\s*([0-9]{1,6})", re.I)
_RANGE = re.compile(r"(?<![0-9])([0-9]{1,4})\s*(?:-|–|—|to|bis|à|and|und|et|a)\s*([0-9]{1,4})(?![0-9])", re.I)
_ZERO = re.compile(
    r"\b(?:zero|nil|none|nothing|nobody|no (?:cases|persons|people|observations)|null|nichts vorhanden|genau null|"
    r"keine fälle|néant|nul|zéro|aucun|cero|ninguno|nessuno|geen|ingen|brak)\b|= ?0\b|\b0\b(?! ?[-–0-9])",
    re.I,
)
_HIDDEN = re.compile(
    r"suppress|confidential|disclos|with[h]eld|secre|geheim|vertraulich|confiden|oculto|not (?:shown|"
    r"published|released|available)|"
    r"unterdrückt|masqué|riservat|geheimhaltung|unbekannt|non disponible|nicht verfügbar|salassa|fortrol|"
    r"poufn|too small|small (?:count|number)",
    re.I,
)
_ROUNDED = re.compile(
    r"(?:round\w*|gerundet|arrondi\w*|redondead\w*|arrotondat\w*|afgerond|avrund\w*|afrund\w*|"
    r"zaokrągl\w*)[^.;]*?([0-9][0-9,. ]{0,6})",
    re.I,
)
_ROUNDING = re.compile(
    r"\bround(?:ed|ing)|gerundet|rundung|arrondi|redonde|arrotond|afgerond|avrund|afrund|zaokr", re.I
)
_RANDOM = re.compile(r"random(?:ly)?[ -]*round|zufallsgerundet", re.I)
_THOUSANDS = re.compile(
    r"\bin thousands\b|\(thousands\)|\('?000'?s?\)|\bin (?:1[ ,.']?000|tsd\.?|tausend)\b|\ben milliers\b|"
    r"\bthousand (?:persons|people)\b|"
    r"\bunit: ?thousands?\b|\ben miles\b|\bin migliaia\b",
    re.I,
)
_MILLIONS = re.compile(r"\bin millions?\b|\(millions?\)|\bin mio\.?\b|\ben millions\b", re.I)
AMOUNT_WORDS = re.compile(
    r"turnover|revenue|sales\b|income|wage|salar|earning|expenditure|spending|gdp\b|gross value|value added|profit|"
    r"invest|payroll|tax (?:paid|revenue)|umsatz|einkommen|erlös|chiffre d'affaires|revenu\b|ingresos|fatturato|omzet|"
    r"(?:\b|_)(?:km²|km2|m²|m2|mwh|gwh|kg|teur|tsd_?eur|meur|eur|usd|gbp|chf)\b|\(1[ .,]?000 ?t(?:ons|onnes)?\)|"
    r"\btonnes?\b|\bhectares?\b|\bkm2\b|\bkwh\b|amount|largest|second largest|labou?r costs?|kosten|"
    r"budget|price|euros?\b|dollars?\b",
    re.I,
)
_BY = re.compile(r"\b(?:by|nach|par|selon|por|según|per|secondo|naar|efter|etter|według|podle)\b", re.I)
"""What stands before that by which people are counted: `Households by income`."""
_OF_PEOPLE = re.compile("income|wage|salar|earning|einkommen|revenu|ingresos|turnover", re.I)
"""Amounts that people and firms are put in classes by."""
_PEOPLE = re.compile(
    r"count(?:ing|s)?:? (?:of )?(?:persons|people|households)|number of (?:persons|people|employees|households)|"
    r"(?:^|[:(] ?)(?:persons|people|personen|personnes|personas|persone|pessoas|personer|osoby|headcount)\)?$",
    re.I,
)
"""What says that people are counted: `Counting: Persons`, `(persons)`."""
_SYMBOL = r"[*†‡#:.…–—\-/]{1,3}|\[[a-z*]{1,3}\]|\([a-z*]{1,2}\)|[a-z]{1,2}|n/a|n\.a\."
_LEADING = re.compile(
    rf"[\"'“‘«„]?({_SYMBOL})[\"'”’»“]?\s*(?:[=:]|indicates?|denotes?|means?|represents?|stands? for|-|–|\s)\s*(.+)",
    re.I,
)


@dataclass(frozen=True)
class Explained:
    """What texts around a table say."""

    gaps: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Range of a suppressed count by its symbol, in small letters; the empty symbol stands for all."""
    zeros: frozenset[str] = frozenset()
    """Symbols that stand for nobody."""
    base: int = 0
    """What counts are rounded to."""
    random: bool = False
    """Whether they are rounded up or down by chance."""
    rounds: bool = False
    """Whether they are rounded, to whatever."""
    unit: int = 1
    """How many people one unit is."""
    amounts: str = ""
    """Words that say that the table holds amounts, not counts."""


def explained(texts: Sequence[str], symbols: Collection[str] = ()) -> Explained:
    """What titles and footnotes say; `symbols` are signs of this file that stand in place of counts."""
    gaps: dict[str, tuple[int, int]] = {}
    zeros: set[str] = set()
    base, unit, amounts, is_random = 0, 1, "", False
    for sign in symbols:
        for words in filter(None, (explanation(sign, text) for text in texts)):
            if (said := _range(words)) is not None:
                gaps[sign] = said
            elif _ZERO.search(words) and not _HIDDEN.search(words):
                zeros.add(sign)
    for text in (part.strip() for whole in texts for part in _sentences(whole)):
        if match := _LEADING.fullmatch(text):
            symbol, words = match[1].lower(), match[2]
            if symbol in DASHES or symbol in SYMBOLS:
                said = _range(words)
                if said is not None:
                    gaps[symbol] = said
                elif _ZERO.search(words) and not _HIDDEN.search(words):
                    zeros.add(symbol)
                elif _HIDDEN.search(words):
                    gaps.setdefault(symbol, (0, UNBOUNDED))
        elif _HIDDEN.search(text) and (said := _range(text)) is not None:
            gaps.setdefault("", said)
        if match := _ROUNDED.search(text):
            digits = re.sub("[,. ]", "", match[1])
            base = int(digits) if digits and 1 < int(digits) <= 100_000 else base
            is_random |= bool(_RANDOM.search(text))
        unit = 1_000_000 if _MILLIONS.search(text) else 1_000 if _THOUSANDS.search(text) else unit
        found = AMOUNT_WORDS.search(text) or MONEY.search(text)
        is_by = found is not None and _OF_PEOPLE.match(found[0]) and _BY.search(text[: found.start()])
        if not amounts and found and not is_by:
            amounts = found[0]
    if amounts and any(_PEOPLE.search(text) and not AMOUNT_WORDS.search(text) for text in texts):
        amounts = ""
    rounds = any(_ROUNDING.search(text) for text in texts)
    return Explained(gaps, frozenset(zeros), base, is_random, rounds, unit, amounts)


def _sentences(text: str) -> list[str]:
    """A footnote may explain several symbols: `* fewer than 5; - zero`."""
    return [part for part in re.split(r";\s+|\n|(?<=[a-z0-9])\.\s+(?=[A-Z*\[(])", text) if part.strip()]


def _range(words: str) -> tuple[int, int] | None:
    if match := _BELOW.search(words):
        return (0, max(int(match[1]) - 1, 0))
    if match := _OR_LESS.search(words):
        return (0, int(match[1]))
    if match := _AT_MOST.search(words):
        return (0, int(match[1]))
    if (match := _RANGE.search(words)) and int(match[1]) <= int(match[2]) < 1900:
        return (int(match[1]), int(match[2]))
    return None
