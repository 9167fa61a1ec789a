"""PC-Axis files (PX, version 2013): one table with every combination of its categories.

A cell that a symbol of dots stands for is suppressed; `-` is nobody. The category that `ELIMINATION` names is the total
of its variable. A noised count has a `CELLNOTE` that says so: a program that ignores notes would take it for a count.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, product
from math import prod
from pathlib import Path

from safemargin.core import JOINER, InputError, TooLargeError
from safemargin.io.files import read_bytes
from safemargin.io.rows import PROTECTION, VALUE

MOST_CELLS = 5_000_000
DEFAULT_CODEPAGE = "cp1252"
TOTAL, NOBODY = "Total", "-"
NOTED = ("NOTE", "NOTEX", "CELLNOTE", "CELLNOTEX", "VALUENOTE", "VALUENOTEX", "INFO", "DESCRIPTION")
CONFIDENTIAL = re.compile("suppress|confiden|secre|geheim|conf[ií]den|discl|hidden|protect", re.I)
_STATEMENT = re.compile(r'\s*([A-Z0-9-]+)(\[[^\]]*\])?\s*(?:\(([^)"]*(?:"[^"]*"[^)"]*)*)\))?\s*=')
_TEXT = re.compile(r'"([^"]*)"')
_DATUM = re.compile(r'"([^"]*)"|([^\s";,]+)')
_END = re.compile(r'(?:[^";]++|"[^"]*")*+;')
_REST = re.compile(r"\s*\Z")

Statements = dict[tuple[str, tuple[str, ...]], str]
"""What a file states by keyword and the texts in its brackets."""


Cells = tuple[list[str], list[tuple[tuple[str, ...], str, bool]]]
"""The variables of a file, and of every cell its categories, what is printed there, and whether it is noised."""


def read_px(path: Path) -> dict[str, list[str]]:
    """The columns of a PX file as texts: one per variable, `OBS_VALUE` and `PROTECTION`; an absent count is empty."""
    variables, cells = _cells(path)
    counts = [_count(symbol) for _, symbol, _ in cells]
    status = [
        "noised" if noised else "" if count else "suppressed"
        for count, (_, _, noised) in zip(counts, cells, strict=True)
    ]
    columns = {name: [row[column] for row, _, _ in cells] for column, name in enumerate(variables)}
    return {**columns, VALUE: counts, PROTECTION: status}


def px_rows(path: Path) -> list[dict[str, str | None]]:
    """The tidy rows of a PX file that `px_bytes` wrote."""
    variables, cells = _cells(path)
    rows: list[dict[str, str | None]] = []
    for labels, symbol, noised in cells:
        if symbol != NOBODY:
            merged = any(JOINER in label for name, label in zip(variables, labels, strict=True) if name != "option")
            status = "noised" if noised else "merged" if merged else "exact"
            count = _count(symbol)
            counted = {"count": count or None, "status": status if count else "suppressed"}
            rows.append({**dict(zip(variables, labels, strict=True)), **counted})
    return rows


def _count(symbol: str) -> str:
    """The count as text; nothing where a symbol of dots, or a sign without digits, stands for it."""
    is_gap = not symbol.strip(".") or (len(symbol) <= 4 and not any(sign.isdigit() for sign in symbol))
    return "0" if symbol == NOBODY else "" if is_gap else symbol


def _cells(path: Path) -> Cells:
    stated = _statements(path, _decoded(path))
    variables = [name for keyword in ("STUB", "HEADING") for name in _texts(stated.get((keyword, ()), ""))]
    if not variables:
        raise InputError(f"{path}: STUB and HEADING name no variable; is it a PX file?")
    if twice := {name for name in variables if variables.count(name) > 1 or name in (VALUE, PROTECTION)}:
        raise InputError(f"{path}: STUB and HEADING: {min(twice)[:60]!r} occurs twice or is a name of ours; rename it")
    if any(keyword == "KEYS" for keyword, _ in stated):
        raise InputError(f"{path}: KEYS: a file of some cells only is not read; save it with all of them")
    values = []
    for name in variables:
        labels = _texts(stated.get(("VALUES", (name,)), ""))
        total = _texts(stated.get(("ELIMINATION", (name,)), ""))
        if not labels or len(set(labels)) < len(labels):
            raise InputError(f'{path}: VALUES("{name[:60]}"): must name every category of the variable once')
        values.append([TOTAL if label in total else label for label in labels])
    cells = prod(map(len, values))
    if cells > MOST_CELLS:
        raise TooLargeError(f"{path}: has {cells:,} cells, more than {MOST_CELLS:,}; save it as CSV")
    symbols = _DATUM.finditer(stated.get(("DATA", ()), ""))
    data = [found[1] or found[2] or "" for found in islice(symbols, cells + 1)]
    if len(data) != cells:
        more = "more" if len(data) > cells else f"{len(data):,}"
        raise InputError(f"{path}: DATA: has {more} values, and the variables have {cells:,} combinations")
    noised = {names for (keyword, names), text in stated.items() if keyword == "CELLNOTE" and text == '"noised"'}
    return variables, [(row, symbol, row in noised) for row, symbol in zip(product(*values), data, strict=True)]


def _decoded(path: Path) -> str:
    """The text of the file in the encoding that it states, which its first lines say in ASCII."""
    content = read_bytes(path)
    named = re.search(rb'CODEPAGE\s*=\s*"([^"]*)"', content[:2_000])
    codepage = named[1].decode("ascii", "replace").lower() if named else DEFAULT_CODEPAGE
    if content.startswith(b"\xef\xbb\xbf"):
        codepage = "utf-8-sig"
    try:
        return content.decode({"ansi": DEFAULT_CODEPAGE}.get(codepage, codepage))
    except (UnicodeError, LookupError, ValueError):
        raise InputError(
            f"{path}: CODEPAGE = {codepage[:60]!r}: the file cannot be read so; save it as UTF-8"
        ) from None


def _statements(path: Path, text: str) -> Statements:
    stated: Statements = {}
    position = 0
    while not _REST.match(text, position):
        head = _STATEMENT.match(text, position)
        end = None if head is None else _END.match(text, head.end())
        if head is None or end is None:
            line = text.count("\n", 0, position) + 1
            raise InputError(f"{path}: line {line}: is no statement of a PX file: KEYWORD=value;")
        if head[2] is None:  # other languages repeat what the first one states
            stated[head[1], tuple(_TEXT.findall(head[3] or ""))] = text[head.end() : end.end() - 1].strip()
        position = end.end()
    return stated


def _texts(value: str) -> list[str]:
    """The texts of a statement; two without a comma between them are one that goes on in the next line."""
    parts = re.split(r'"\s*,\s*"', value.strip())
    return [re.sub(r'"\s*"', "", part).strip().strip('"') for part in parts] if value.strip().startswith('"') else []


def px_gapped(path: Path, lost: Mapping[int, str]) -> bytes:
    """The file with symbols in place of some counts, by their place in `DATA`; all else stays as it is written.

    The symbol is one of `DATASYMBOL1` to 6, whose n-th is n dots: one that the file says stands for what is
    confidential, else the first that it neither uses nor explains, which is explained then. Notes that are about a
    cell without a count, or that hold the digits of one, are dropped.
    """
    variables, cells = _cells(path)
    text = _decoded(path)
    stated = _statements(path, text)
    gone = {cells[place][0] for place in lost}
    used = {symbol for _, symbol, _ in cells if not symbol.strip(".")}
    dots, explained = _symbol(stated, used)
    parts: list[str] = []
    position = 0
    while not _REST.match(text, position):
        head = _STATEMENT.match(text, position)
        end = None if head is None else _END.match(text, head.end())
        if head is None or end is None:
            raise InputError(f"{path}: is no PX file")
        keyword, value, statement = head[1], text[head.end() : end.end() - 1], text[position : end.end()]
        if keyword == "DATA":
            places = list(_DATUM.finditer(value))
            for place in sorted(lost, reverse=True):
                value = value[: places[place].start()] + f'"{"." * dots}"' + value[places[place].end() :]
            start = "" if explained else f'\nDATASYMBOL{dots}="suppressed";'
            parts.append(f"{start}{text[position : head.end()]}{value};")
        elif not (keyword in NOTED and _is_about(statement, head[3] or "", gone, set(lost.values()))):
            parts.append(statement)
        position = end.end()
    codepage = re.search(r'CODEPAGE\s*=\s*"([^"]*)"', text[:2_000])
    named = codepage[1].lower() if codepage else DEFAULT_CODEPAGE
    is_utf8 = read_bytes(path).startswith(b"\xef\xbb\xbf")
    encoding = "utf-8-sig" if is_utf8 else {"ansi": DEFAULT_CODEPAGE}.get(named, named)
    return ("".join(parts) + "\n").encode(encoding)


def _symbol(stated: Statements, used: Collection[str]) -> tuple[int, bool]:
    """How many dots stand for what is suppressed, and whether the file explains them so already."""
    said = {int(keyword[-1]): text for (keyword, _), text in stated.items() if re.fullmatch("DATASYMBOL[1-6]", keyword)}
    known = next((dots for dots, text in sorted(said.items()) if CONFIDENTIAL.search(text)), 0)
    if known:
        return known, True
    free = [dots for dots in (2, 1, 3, 4, 5, 6) if dots not in said and "." * dots not in used]
    if not free:
        raise InputError("all symbols of PX for missing counts are in use")
    return free[0], False


def _is_about(statement: str, brackets: str, gone: Collection[tuple[str, ...]], lost: set[str]) -> bool:
    """Whether a note is about a cell without a count, or holds the digits of one."""
    named = tuple(_TEXT.findall(brackets))
    is_named = any(
        all(label in ("*", own) or own == TOTAL for label, own in zip(named, cell, strict=False)) for cell in gone
    )
    return (bool(named) and is_named and len(named) > 1) or bool(lost & set(re.findall("[0-9]+", statement)))


def px_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Tidy rows of a table as a PX file in UTF-8; a combination without a row is nobody."""
    measure = "people" if "people" in rows[0] else "count"
    names = [name for name in rows[0] if name not in (measure, "status")] or ["total"]
    texts = [tuple(str(row.get(name, "total")) for name in names) for row in rows]
    for text in (*names, *(label for cell in texts for label in cell)):
        if '"' in text or "\n" in text:
            raise InputError(f"{text[:60]!r}: a PX file cannot hold this label; rename it, or choose another format")
    values = [list(dict.fromkeys(cell[column] for cell in texts)) for column in range(len(names))]
    printed = {
        cell: '"."' if row[measure] is None else str(row[measure]) for cell, row in zip(texts, rows, strict=True)
    }
    lines = [
        'CHARSET="ANSI";',
        'AXIS-VERSION="2013";',
        'CODEPAGE="utf-8";',
        'MATRIX="TABLE";',
        'SUBJECT-CODE="P";',
        'SUBJECT-AREA="People";',
        "DECIMALS=0;",
        f'TITLE="People by {" x ".join(names)}";',
        'CONTENTS="People";',
        'UNITS="people";',
        f"STUB={_listed(names)};",
        *(f'VALUES("{name}")={_listed(labels)};' for name, labels in zip(names, values, strict=True)),
        'DATASYMBOL1="suppressed";',
        *(
            f'CELLNOTE({",".join(_quoted(label) for label in cell)})="noised";'
            for cell, row in zip(texts, rows, strict=True)
            if row.get("status") == "noised"
        ),
        "DATA=",
    ]
    width = len(values[-1])
    cells = [printed.get(cell, _quoted(NOBODY)) for cell in product(*values)]
    data = [" ".join(cells[start : start + width]) for start in range(0, len(cells), width)]
    return ("\n".join([*lines, *data]) + ";\n").encode()


def _quoted(text: str) -> str:
    return f'"{text}"'


def _listed(texts: Sequence[str]) -> str:
    return ",\n".join(map(_quoted, texts))
