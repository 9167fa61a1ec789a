"""Text files: their encoding, what separates columns, and lines of different length.

The encoding is that of a byte order mark, else UTF-8 where all bytes are, else what charset-normalizer finds;
Windows-1252 where that is as likely. What separates columns is the sign that gives most lines the same number of
fields.
"""

import codecs
import csv
import re
from pathlib import Path

from safemargin.core import InputError, TooLargeError
from safemargin.io.files import open_bytes, read_most, suffix
from safemargin.io.reading.alphabets import likely_encoding, may_be_latin
from safemargin.io.reading.grid import MOST_CELLS, TextGrid, make_grid

MOST_TEXT = 64 * 2**20
"""Bytes of a text file that is looked at cell by cell."""
MOST_LINE = 1_000_000
"""Signs of a line: a longer one is no row of a table."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
DELIMITERS = ("\t", ";", "|", ",")
WESTERN = ("cp1252", "latin_1", "iso8859_15", "mac_roman", "cp850", "cp437", "cp858", "iso8859_14", "iso8859_9")
MIDDLE = ("cp1250", "iso8859_2")
LIKELY = [
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1257",
    "iso8859_2",
    "iso8859_5",
    "koi8_r",
    "cp1255",
    "cp1256",
    "mac_roman",
]
LIKELY += ["cp850", "shift_jis", "euc_jp", "euc_kr", "gb18030", "big5"]
_PAGE = re.compile(r"\s*<(?:!doctype|html|table|\?xml|head|body|[a-z:]+>|[A-Za-z:]+ xmlns)", re.I)
_STATED = re.compile(r"""["']?sep=(.)["']?""", re.I)


def text_grid(path: Path, encoding: str = "", skip_lines: int = 0) -> TextGrid:
    """The fields of a text file."""
    content = _content(path)
    text, used, note, doubt = decoded(path, content, encoding)
    lines = text.splitlines(keepends=True)[skip_lines:]
    if any(len(line) > MOST_LINE for line in lines):
        raise TooLargeError(f"{path}: a line has more than {MOST_LINE:,} signs; is it a table?")
    stated = _STATED.fullmatch(lines[0].strip()) if lines else None
    lines = lines[1:] if stated else lines
    first = 1 + skip_lines + bool(stated)
    if not encoding and _PAGE.match(text):
        raise InputError(
            f"{path}: is a page of the web or XML, not a table; open it in a spreadsheet and save it as CSV"
        )
    delimiter = stated[1] if stated else "\t" if suffix(path) == ".tsv" else likely_delimiter(lines)
    if delimiter == "," and not any("," in line for line in lines):
        lines, delimiter = spaced(lines)
    rows, places, start, last = [], [], 0, 0
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for record in reader:
            start, last = reader.line_num, start
            rows.append(record)
            places.append(reader.line_num + first - 1)
            if len(rows) * len(record) > MOST_CELLS:
                raise TooLargeError(f"{path}: has more than {MOST_CELLS:,} cells and is not tidy; save it as tidy CSV")
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num + first - 1}: is not valid CSV: {error}") from None
    if rows and _is_open("".join(lines[last:]), delimiter):
        raise InputError(f"{path}: line {last + first}: is not valid CSV: a quote is not closed")
    filled = [number for number, row in enumerate(rows) if not _is_rule(row)]
    rows, places = [rows[number] for number in filled], [places[number] for number in filled]
    rows = _keys_apart(rows)
    grid = make_grid(path, rows, places)
    return TextGrid(
        **{
            **vars(grid),
            "delimiter": delimiter,
            "encoding": used,
            "short": _short_lines(rows, places),
            "notes": (note,) if note else (),
            "doubts": (doubt,) if doubt else (),
        }
    )


def _is_rule(row: list[str]) -> bool:
    """Whether a row only draws a line below the header or at the end, as printed tables do.

    >>> _is_rule(["=====", "==="]), _is_rule(["---", ""]), _is_rule(["North", "---"]), _is_rule(["-", "-"])
    (True, True, False, False)
    """
    texts = [text.strip() for text in row if text.strip()]
    return any(len(text) > 2 for text in texts) and all(set(text) in ({"="}, {"-"}) for text in texts)


def _keys_apart(rows: list[list[str]]) -> list[list[str]]:
    """Rows of Eurostat, whose first field holds all dimensions: `sex,geo\\TIME_PERIOD` above `T,DE`."""
    if not rows or not rows[0] or not (match := re.fullmatch(r"([\w.]+(?:,[\w.]+)*)\\(\w+)\s*", rows[0][0])):
        return rows
    names = match[1].split(",")
    if len(names) < 2 or any(row and row[0].count(",") != len(names) - 1 for row in rows[1:]):
        return rows
    return [[*names, *rows[0][1:]], *([*row[0].split(","), *row[1:]] if row else row for row in rows[1:])]


def _short_lines(rows: list[list[str]], places: list[int]) -> frozenset[int]:
    """Lines with fewer fields than the longest has."""
    width = max(map(len, rows), default=0)
    return frozenset(place for row, place in zip(rows, places, strict=True) if len(row) < width)


def _is_open(record: str, delimiter: str) -> bool:
    """Whether the last record ends within quotes, as that of a file that was cut off."""
    try:
        list(csv.reader([record], delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _content(path: Path) -> bytes:
    with open_bytes(path) as file:
        try:
            content = read_most(file, MOST_TEXT + 1)
        except (OSError, EOFError) as error:
            raise InputError(f"{path}: line 1: cannot be read: {error}") from None
    if len(content) > MOST_TEXT:
        raise TooLargeError(
            f"{path}: has more than {MOST_TEXT:,} bytes and is not tidy; save it as tidy CSV or Parquet"
        )
    return content


def decoded(path: Path, content: bytes, encoding: str = "") -> tuple[str, str, str, str]:
    """The text of some bytes, the encoding, a note where it is not UTF-8, and a doubt where letters fit two."""
    if encoding:
        try:
            return content.decode(encoding), encoding, f"encoding {encoding}, as you say", ""
        except (LookupError, UnicodeError, ValueError):
            raise InputError(f"encoding = {encoding[:60]!r}: {path} cannot be read so") from None
    for mark, name in MARKS:
        if content.startswith(mark):
            note = "" if name == "utf-8-sig" else f"encoding {name.upper()}"
            return _strictly(path, content, name), name, note, ""
    if (wide := _without_mark(content)) is not None:
        return _strictly(path, content, wide), wide, f"encoding {wide.upper()}, without a mark", ""
    if b"\0" in content:
        raise InputError(f"{path}: holds zero bytes: is this a text file?")
    try:
        return content.decode("utf-8"), "utf-8", "", ""
    except UnicodeDecodeError as error:
        # Two bytes or more of a sign, and then nothing: the file was cut off. One byte is a letter of Windows-1252.
        if error.reason == "unexpected end of data" and len(content) - error.start > 1:
            line = content.count(b"\n") + 1
            raise InputError(f"{path}: line {line}: ends within a sign of UTF-8; is the file whole?") from None
    from charset_normalizer import from_bytes  # slow to import, and few files need it

    found = from_bytes(content[: 2**20], cp_isolation=LIKELY).best()
    guessed = "cp1252" if found is None or found.encoding in WESTERN else found.encoding
    name, is_sure = guessed, True
    if guessed in ("cp1252", *MIDDLE) or _is_western(content):
        name, is_sure = likely_encoding(content)
        name = guessed if not is_sure and guessed in MIDDLE else name
    elif may_be_latin(content):
        is_sure = False
    which = f"say which (--reading encoding={name})"
    doubt = "" if is_sure else f"the letters fit several encodings, taken as {name}: {which}"
    try:
        return content.decode(name), name, f"encoding {name}, by its bytes", doubt
    except UnicodeDecodeError:
        return content.decode("latin-1"), "latin-1", "encoding latin-1, by its bytes", doubt


def _is_western(content: bytes) -> bool:
    """Whether all signs beyond ASCII are letters and signs of Western texts, if read as Windows-1252."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        return False
    found = {sign for sign in text if not sign.isascii()}
    vowels = sum(text.count(sign) for sign in "äöüÄÖÜßéèêàâîïôûçñóáíúøåæØÅÆÎÉ–—’“”€ ")
    return vowels * 10 >= 9 * sum(text.count(sign) for sign in found)


def _without_mark(content: bytes) -> str | None:
    """UTF-16 that does not say so: every other byte of ASCII texts is zero."""
    start = content[:2_000]
    if len(start) < 4 or len(content) % 2:
        return None
    even, odd = start[::2].count(0), start[1::2].count(0)
    half = len(start) // 2
    if odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.6 * half and odd < 0.1 * half else None


def _strictly(path: Path, content: bytes, name: str) -> str:
    try:
        return content.decode(name)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not {name.upper()} throughout ({error.reason}); state its encoding") from None


def spaced(lines: list[str]) -> tuple[list[str], str]:
    """Columns parted by blanks: two or more as in printed tables, or one where texts are in quotes, as R writes them.

    >>> spaced(["Area   men  women", "North East   1    2", "South   3    4"])[1]
    '\\t'
    """
    filled = [line.rstrip("\r\n") for line in lines if line.strip()]
    if max(map(len, filled), default=0) > csv.field_size_limit():
        return lines, ","  # no printed table; the reader refuses the line by its number
    quoted = [len(next(csv.reader([line], delimiter=" "))) for line in filled if '"' in line]
    if len(quoted) == len(filled) > 1 and len(set(quoted[1:])) == 1 and quoted[0] in (quoted[-1], quoted[-1] - 1):
        return ["\t".join(next(csv.reader([line], delimiter=" "))) for line in filled], "\t"
    parted = [re.sub(r"(?<=\S)(?: {2,}|\t)(?=\S)", "\t", line) for line in lines]
    widths = [line.count("\t") for line in parted if line.strip()]
    if widths and max(widths) > 0 and widths.count(max(widths)) * 2 > len(widths):
        return parted, "\t"
    return lines, ","


def likely_delimiter(lines: list[str]) -> str:
    """The sign that gives most lines the same number of fields, more than one.

    >>> likely_delimiter(["Title, with a comma", "a;b;c", "x;1,5;2,5", "y;1,0;2,1"])
    ';'
    """
    best, chosen = (0, 0), ","
    for delimiter in DELIMITERS:
        try:
            widths = [len(record) for record in csv.reader(lines[:2_000], delimiter=delimiter) if any(record)]
        except csv.Error:
            continue
        counts = {width: widths.count(width) for width in set(widths) if width > 1}
        if not counts:
            continue
        # Fields are what agrees: a sign inside numbers gives other lines another number of fields.
        score = max((number, width) for width, number in counts.items())
        if score > best:
            best, chosen = score, delimiter
    return chosen
