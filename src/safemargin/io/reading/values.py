"""What a cell states: a number, a share, or a gap with the range that its symbol says.

| printed | gap | from | to |
|---|---|---|---|
| nothing, `*`, `x`, `c`, `(D)`, `..`, `n/a` | yes | 0 | unbounded |
| `<5`, `fewer than 5` | yes | 0 | 4 |
| `≤10` | yes | 0 | 10 |
| `1-4`, `1 to 4` | yes | 1 | 4 |
| `-`, `–` | zero or a gap: a footnote or the sums say which | | |

Whether `1.234` is a thousand or a fraction is one question about the whole file, see `number_style`.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from safemargin.core import UNBOUNDED
from safemargin.io.reading.grid import Cell

SYMBOLS = frozenset(
    "* ** *** x xx xxx c s d z u # † ‡ … . .. ... : :: n/a na n.a. n.a nan null none (d) (s) (x) (c) (z) "
    "(na) (*) [c] [s] "
    "[x] [z] [u] [d] [n] [*] [low] [w] w q (q) / // • ● ■ ? suppressed secret confidential geheim vertraulich "
    "confidentiel secreto oculto masked redacted hidden with"
    "held confid. vertr. "
    "#n/a k.a. n.d. nd n.v. s/d ns :c :n :u :d :cn :s f e ^ ~ i.d. "
    "conf conf. sup supp sup. supp. np n.p. nfp x) *) **) c* s* 秘 χ х _ █ p.n. i/a tbc tba × ✕ ✗ ⁎ ∗ ٭ ✱ ※ ⋯".split()
) | frozenset(
    [
        "not shown",
        "too few",
        "not published",
        "not available",
        "no data",
        "low count",
        "small count",
        "not disclosed",
        "non diffusé",
        "k. a.",
        "data not shown",
    ]
)
"""What offices print where a count is not published, in small letters."""
DASHES = frozenset(["-", "–", "—", "−", "--", "‐", "‑"])
_FEWER = (
    r"(?:fewer than|less than|under|below|weniger als|unter|moins de|menos de|meno di|minder dan|færre end|"
    r"mniej niż|méně než)"
)
_BELOW = re.compile(rf"\(?(?:n ?)?(?:<|&lt;|{_FEWER}) ?([0-9]{{1,6}})(?: [^\W\d]{{3,20}})?\)?", re.I)
_AT_MOST = re.compile(r"\(?(?:≤|<=|=<|&le;|⩽|at most|up to|bis zu|höchstens|au plus) ?([0-9]{1,6})\)?", re.I)
_RANGE = re.compile(r"[\[(]?([0-9]{1,6}) ?(?:-|–|—|to|bis|à|a|\.\.|…) ?([0-9]{1,6})[\])]?", re.I)
_OR_FEWER = re.compile(r"([0-9]{1,6}) (?:or (?:fewer|less|under)|oder weniger|ou moins|o menos)", re.I)
_AT_LEAST = re.compile(r"\(?(?:>=|≥|⩾) ?([0-9]{1,6})\)?|([0-9]{1,6})\+", re.I)
_SIGN = r"[+−-]?"
_PLAIN = re.compile(rf"{_SIGN}[0-9]+")
_SPACED = re.compile(rf"{_SIGN}[0-9]{{1,3}}(?:[ '’´`][0-9]{{3}})+")
_GROUPED = {sign: re.compile(rf"{_SIGN}[0-9]{{1,3}}(?:\{sign}[0-9]{{3}})+") for sign in ",."}
_MIXED = {sign: re.compile(rf"{_SIGN}[0-9]{{1,3}}(?:\{sign}[0-9]{{3}})+\{other}[0-9]+") for sign, other in (",.", ".,")}
_FRACTION = {sign: re.compile(rf"{_SIGN}(?:[0-9]+\{sign}[0-9]*|\{sign}[0-9]+)") for sign in ",."}
_POWER = re.compile(rf"{_SIGN}[0-9]+(?:[.,][0-9]+)?[eE][+-]?[0-9]{{1,3}}")
_MARKED = re.compile(
    r"(.*[0-9])\s*(\*{1,3}|[†‡§¹²³⁴⁵⁶⁷⁸⁹]+|\[[a-z0-9]{1,2}\]|\([a-z]\)|\([0-9]{1,2}\)|"
    r"(?<=[0-9]) [bcdefinprsuvz]{1,3}|(?<=[0-9])[rpe])"
)
_WITH_SHARE = re.compile(r"(.*[0-9])\s*[(\[]\s*[0-9]{1,3}(?:[.,][0-9]+)?\s*%\s*[)\]]")
"""A count with its share behind it: `12 (34.5%)`."""
_LAKHS = re.compile(rf"{_SIGN}[0-9]{{1,2}}(?:,[0-9]{{2}})+,[0-9]{{3}}")
"""Indian thousands, lakhs and crores: `12,34,567`."""
_BRACKETED = re.compile(r"\(([0-9][0-9.,' ]*)\)")
_WIDE = {code + 0xFEE0: chr(code) for code in range(0x21, 0x7F) if not chr(code).isdigit()}
"""Signs of East Asian width as ours: `＜` is `<`. Digits are looked at in `other_digits`."""
MONEY = re.compile(r"[€$£¥₹₽₩]|\b(?:EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN)\b")


@dataclass(frozen=True)
class Style:
    """How numbers are written: the sign before decimals, the sign between thousands, and whether both are certain."""

    decimal: str = "."
    thousands: str = ""
    ambiguous: str = ""
    """A number that could be read in two ways, where nothing else in the file says which."""
    symbols: frozenset[str] = frozenset()
    """Signs of this file, in small letters, that stand in place of counts, beside those of `SYMBOLS`."""
    other_digits: bool = False
    """Whether all numbers are in digits of another script."""


@dataclass(frozen=True)
class Value:
    """What one cell states. `kind` is number, share, gap, dash, text or empty; `mark` is a sign after a number."""

    kind: str
    number: int | Decimal | None = None
    symbol: str = ""
    low: int = 0
    high: int = UNBOUNDED
    mark: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is an integer."""
        return isinstance(self.number, int)


EMPTY = Value("empty")


def read_value(cell: Cell, style: Style) -> Value:
    """What a cell states, if it stands in a column of counts."""
    if cell is None:
        return EMPTY
    if isinstance(cell, int | Decimal):
        return Value("number", _whole(Decimal(cell)))
    text = cell.strip()
    if not text.isascii():
        text = text.translate(_WIDE)
        text = "".join(_western(sign) for sign in text) if style.other_digits else text
    if text in DASHES:
        return Value("dash", symbol=text)
    if (number := read_number(text, style)) is not None:
        return Value("number", number)
    if text.endswith(("%", "‰")) and read_number(text[:-1].strip(), Style(_any_decimal(text), "")) is not None:
        return Value("share")
    if (
        text.lower() in SYMBOLS
        or _is_word_in_brackets(text)
        or text.lower() in style.symbols
        or re.fullmatch(r": ?[a-z]{1,2}", text)
    ):
        return Value("gap", symbol=text)
    if (gap := _ranged(text)) is not None:
        return gap
    if (shared := _WITH_SHARE.fullmatch(text)) and (number := read_number(shared[1].strip(), style)) is not None:
        return Value("number", number, mark="(%)")
    if (marked := _MARKED.fullmatch(text)) and (number := read_number(marked[1].strip(), style)) is not None:
        return Value("number", number, mark=marked[2].strip())
    return Value("text", symbol=text)


def _is_word_in_brackets(text: str) -> bool:
    """Whether a text is a word of a gap in brackets: `[REDACTED]`, `<suppressed>`."""
    inner = re.fullmatch(r"[\[(<{*]+\s*([^\W\d_][\w .]{2,20})\s*[\])>}*]+", text)
    return inner is not None and inner[1].lower() in SYMBOLS


def other_digits(texts: Iterable[str]) -> bool:
    """Whether all texts that are numbers are in digits of another script, as Arabic ones; some of both are a slip."""
    numbers = [text.strip() for text in texts if text.strip() and all(s.isdecimal() or s in " .,'٬٫" for s in text)]
    return bool(numbers) and not any(sign in "0123456789" for text in numbers for sign in text)


def _western(sign: str) -> str:
    """A digit of any script as one of ours; Arabic signs between thousands and before decimals as ours."""
    digit = unicodedata.decimal(sign, None)
    return str(digit) if digit is not None else {"٬": "'", "٫": ".", "，": ",", "．": "."}.get(sign, sign)


def _ranged(text: str) -> Value | None:
    if match := _BELOW.fullmatch(text):
        return Value("gap", symbol=text, high=max(int(match[1]) - 1, 0))
    if match := _AT_MOST.fullmatch(text):
        return Value("gap", symbol=text, high=int(match[1]))
    if match := _OR_FEWER.fullmatch(text):
        return Value("gap", symbol=text, high=int(match[1]))
    if (match := _RANGE.fullmatch(text)) and int(match[1]) <= int(match[2]):
        return Value("gap", symbol=text, low=int(match[1]), high=int(match[2]))
    if match := _AT_LEAST.fullmatch(text):
        return Value("gap", symbol=text, low=int(match[1] or match[2]))
    return None


def _any_decimal(text: str) -> str:
    return "," if "," in text else "."


def read_number(text: str, style: Style) -> int | Decimal | None:
    """The number that a text states in a style of writing; None if it is none.

    >>> read_number("1.234", Style(",", ".")), read_number("1e3", Style()), read_number("12,5", Style(",", "."))
    (1234, 1000, Decimal('12.5'))
    """
    plain = text.replace("−", "-")
    if _PLAIN.fullmatch(plain) and plain.isascii():
        return _whole(Decimal(plain))
    if _SPACED.fullmatch(plain):
        return _whole(Decimal(re.sub("[ '’´`]", "", plain)))
    if _POWER.fullmatch(plain):
        return _whole(Decimal(plain.replace(",", ".")))
    for sign in ",.":
        if sign == style.thousands == "," and _LAKHS.fullmatch(plain):
            return _whole(Decimal(plain.replace(",", "")))
        if sign == style.thousands and (_GROUPED[sign].fullmatch(plain) or _MIXED[sign].fullmatch(plain)):
            return _whole(
                Decimal(
                    plain.replace(sign, "").replace(style.decimal, ".") if style.decimal else plain.replace(sign, "")
                )
            )
        if sign == style.decimal and _FRACTION[sign].fullmatch(plain):
            return _whole(Decimal(plain.replace(sign, ".")))
    return None


def _whole(value: Decimal) -> int | Decimal:
    if value.is_finite() and abs(value) < Decimal(10) ** 40 and value == value.to_integral_value():
        return int(value)
    return value


def number_style(texts: Iterable[str], decimal: str = "", thousands: str = "") -> Style:
    """One way to write numbers that fits all texts of a file.

    A sign that occurs twice in a number separates thousands; one that is not followed by three digits at the end is
    before decimals; two signs in one number say both. `1.234` alone could be either: it is ambiguous.

    >>> number_style(["12,5", "1.234"]).thousands, number_style(["1.234", "987"]).ambiguous
    ('.', '1.234')
    """
    if decimal or thousands:
        other = {",": ".", ".": ","}
        return Style(
            decimal or other.get(thousands, "."), thousands or ("" if decimal == "." else other.get(decimal, ""))
        )
    groups, fractions, doubtful = set[str](), set[str](), dict[str, str]()
    for text in texts:
        plain = text.strip().rstrip("%*").strip().replace("−", "-")
        bracketed = _BRACKETED.fullmatch(plain)
        plain = bracketed[1] if bracketed else plain
        if _LAKHS.fullmatch(plain):
            groups.add(",")
            continue
        for sign in ",.":
            if _MIXED[sign].fullmatch(plain):
                groups.add(sign)
                fractions.add({",": ".", ".": ","}[sign])
            elif _GROUPED[sign].fullmatch(plain):
                if plain.count(sign) > 1:
                    groups.add(sign)
                elif plain.lstrip("+-").startswith("0"):
                    fractions.add(sign)
                else:
                    doubtful.setdefault(sign, text.strip())
            elif _FRACTION[sign].fullmatch(plain):
                fractions.add(sign)
    return _style(groups, fractions, doubtful)


def _style(groups: set[str], fractions: set[str], doubtful: dict[str, str]) -> Style:
    other = {",": ".", ".": ","}
    if (groups & fractions) or len(groups) > 1 or len(fractions) > 1:
        return Style(".", "", ambiguous=next(iter(doubtful.values()), "1,234 and 1.234"))
    if groups:
        (sign,) = groups
        return Style(other[sign], sign)
    if fractions:
        (sign,) = fractions
        return Style(sign, other[sign])
    if len(doubtful) > 1:
        return Style(".", "", ambiguous=next(iter(doubtful.values())))
    for sign, text in doubtful.items():
        return Style(other[sign], sign, ambiguous=text)
    return Style(".", "")
