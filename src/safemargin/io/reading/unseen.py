"""What a workbook holds and does not show, or shows and does not hold: then its cells alone are no sure reading.

| in the file | said |
|---|---|
| a formula whose value nobody has computed | refused: the cell shows a number that the file does not hold |
| a count whose number format shows a text or nothing in its place | a doubt: whoever opens the file finds the count |
| a number in a chart, or kept from another workbook, that no cell prints | a doubt |
| the records of a pivot table | a doubt |

Of `.ods` formulas alone are looked at, of `.xlsx` and `.xlsm` all of this, with regular expressions on parts whose size
is bounded by `check_workbook`.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from safemargin.core import InputError
from safemargin.io.files import require_file, suffix
from safemargin.io.workbook import check_workbook

BOOKS = (".xlsx", ".xlsm")
_SHEET = re.compile(r"<(?:\w+:)?sheet\s[^>]*>")
_RELATION = re.compile(r"<(?:\w+:)?Relationship\s[^>]*>")
_ATTRIBUTE = re.compile(r"""([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_CELL = re.compile(rb"<(?:\w+:)?c\s([^>]*[^>/])>(.*?)</(?:\w+:)?c>", re.DOTALL)
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_VALUE = re.compile(rb"<(?:\w+:)?v[^>]*>([^<]+)</")
_FORMAT = re.compile(r"<(?:\w+:)?numFmt\s[^>]*>")
_STYLES = re.compile(r"<(?:\w+:)?cellXfs[\s>].*?</(?:\w+:)?cellXfs>", re.DOTALL)
_STYLE = re.compile(r"<(?:\w+:)?xf\s[^>]*>")
_CACHED = re.compile(rb"<(?:\w+:)?v>\s*([0-9]{1,15})(?:\.0*)?\s*</(?:\w+:)?v>")
_OPEN_CELL = re.compile(rb"<(?:\w+:)?table-cell\s[^>]*>")
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)\s*(-?[0-9.]+)\]")
_TEXTS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_PLACES = re.compile(r"[0#?@]|general|[ymdhs]", re.IGNORECASE)


def unseen(path: Path, sheet: str = "") -> list[str]:
    """The doubts about a workbook, or about one of its sheets; an error where a formula has no value."""
    if suffix(path) not in (*BOOKS, ".ods"):
        return []
    require_file(path)
    check_workbook(path)
    try:
        with zipfile.ZipFile(path) as packed:
            return _looked(path, packed, sheet) if suffix(path) in BOOKS else _check_open(path, packed)
    except (zipfile.BadZipFile, zlib.error, KeyError, OSError, UnicodeDecodeError, NotImplementedError, EOFError):
        return []  # whoever reads the cells says what is wrong with the file


def _looked(path: Path, packed: zipfile.ZipFile, sheet: str) -> list[str]:
    names = packed.namelist()
    hiding = _hiding_styles(packed) if "xl/styles.xml" in names else {}
    doubts: list[str] = []
    for name, part in _sheets(packed):
        content = packed.read(part) if part in names and sheet in ("", name) else b""
        if _FORMULA.search(content):
            _check_computed(path, name, content)
        hidden = [place for place, code, number in _formatted(content, hiding) if not shows(code, number)]
        if hidden:
            doubts.append(
                f"the file holds {len(hidden)} numbers, such as in {hidden[0]}, that their number format does not show"
                if len(hidden) > 1
                else f"the file holds a number in {hidden[0]} that its number format does not show"
            )
    kept = [n for n in names if re.match(r"xl/(?:charts|externalLinks)/[^/]+\.xml$", n)]
    if kept:
        printed = {
            number for _, part in _sheets(packed) if part in names for number in _CACHED.findall(packed.read(part))
        }
        for part in kept:
            other = [number for number in _CACHED.findall(packed.read(part)) if number not in printed]
            if other:
                what = "a chart" if "/charts/" in part else "a link to another workbook"
                doubts.append(f"{what} holds {int(other[0])}, which no cell prints")
    if any(n.startswith("xl/pivotCache/pivotCacheRecords") for n in names):
        doubts.append("the file holds the records of a pivot table, which may state what is suppressed")
    return list(dict.fromkeys(doubts))


def _check_open(path: Path, packed: zipfile.ZipFile) -> list[str]:
    """Refuse a formula without a value in an OpenDocument workbook."""
    for tag in _OPEN_CELL.findall(packed.read("content.xml")):
        if b"formula=" in tag and b"value-type=" not in tag:
            raise InputError(f"{path}: a cell has a formula without its value; save it in a spreadsheet, and try again")
    return []


def _sheets(packed: zipfile.ZipFile) -> list[tuple[str, str]]:
    """The name of every sheet and the part that holds it."""
    links = {}
    for found in _RELATION.findall(packed.read("xl/_rels/workbook.xml.rels").decode()):
        stated = _attributes(found)
        target = stated.get("Target", "").lstrip("/")
        links[stated.get("Id", "")] = target if target.startswith("xl/") else f"xl/{target}"
    sheets = []
    for found in _SHEET.findall(packed.read("xl/workbook.xml").decode()):
        stated = _attributes(found)
        link = next((text for key, text in stated.items() if key.endswith(":id")), "")
        sheets.append((stated.get("name", ""), links.get(link, "")))
    return sheets


def _attributes(tag: str) -> dict[str, str]:
    return {key: unescape(one or two) for key, one, two in _ATTRIBUTE.findall(tag)}


def _check_computed(path: Path, sheet: str, content: bytes) -> None:
    """Refuse a formula without its value; a value may be an empty text, which its type says."""
    for head, inner in _CELL.findall(content):
        stated = _attributes(head.decode("utf-8", "replace"))
        if _FORMULA.search(inner) and not _VALUE.search(inner) and stated.get("t") != "str":
            raise InputError(
                f"{path}, sheet {sheet!r}: cell {stated.get('r', '?')} has a formula without its value; open the file "
                "in a spreadsheet, save it, and try again"
            )


def _hiding_styles(packed: zipfile.ZipFile) -> dict[str, str]:
    """By number of a style its format, where the format does not show some positive number."""
    text = packed.read("xl/styles.xml").decode()
    formats = {one.get("numFmtId", ""): one.get("formatCode", "") for one in map(_attributes, _FORMAT.findall(text))}
    styles = _STYLES.search(text)
    used = [_attributes(found).get("numFmtId", "") for found in _STYLE.findall(styles[0] if styles else "")]
    return {str(n): formats[number] for n, number in enumerate(used) if number in formats and may_hide(formats[number])}


def _formatted(content: bytes, hiding: dict[str, str]) -> Iterator[tuple[str, str, float]]:
    """Numbers in cells of some styles: the place, the format, and the number."""
    for head, inner in _CELL.findall(content) if hiding else ():
        stated = _attributes(head.decode("utf-8", "replace"))
        value = _VALUE.search(inner)
        if stated.get("s") in hiding and value and stated.get("t", "n") == "n":
            try:
                yield stated.get("r", "?"), hiding[stated["s"]], float(value[1])
            except ValueError:
                continue


def _sections(code: str) -> list[str]:
    """The parts of a format: what stands in quotes, or behind a backslash, separates none."""
    return re.sub(r'"[^"]*"|\\.', lambda found: found[0].replace(";", "\0"), code).split(";")


def may_hide(code: str) -> bool:
    """Whether a number format has a part without a place for digits.

    >>> may_hide('[<10]"*";0'), may_hide("#,##0"), may_hide(";;;")
    (True, False, True)
    """
    return any(not _PLACES.search(_TEXTS.sub("", part)) for part in _sections(code)[:3])


def shows(code: str, number: float) -> bool:
    """Whether a number format shows a positive number; zeros and negative ones are no counts of people.

    >>> shows('[<10]"*";0', 7), shows('[<10]"*";0', 12), shows('0;-0;"-"', 0), shows('0;-0;"-"', 3)
    (False, True, True, True)
    """
    if number <= 0:
        return True
    parts = _sections(code)
    chosen = parts[0]
    if any(_CONDITION.search(part) for part in parts[:2]):
        chosen = next((part for part in parts[:2] if _holds(part, number)), parts[min(2, len(parts) - 1)])
    return _PLACES.search(_TEXTS.sub("", chosen)) is not None


def _holds(part: str, number: float) -> bool:
    stated = _CONDITION.search(part)
    if stated is None:
        return number > 0
    sign, limit = stated[1], float(stated[2])
    return {"<": number < limit, "<=": number <= limit, ">": number > limit, ">=": number >= limit,
            "=": number == limit, "<>": number != limit}[sign]  # fmt: skip
