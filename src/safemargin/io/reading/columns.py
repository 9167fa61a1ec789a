"""Which columns of a table are axes, which hold counts, and which neither.

A column of counts needs whole numbers; its name is a hint alone. Shares, means and rates are ignored. Numbers that are
labels (years, ages, codes) are known by their name, or because without them rows repeat. Amounts are refused: what is
said here about counts of people does not hold for them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from safemargin.core import InputError
from safemargin.io.reading.additive import fractions_of, has_gap, is_counted, is_whole, repeats_gaps
from safemargin.io.reading.attributes import counts_up, distinct, find_attributes, is_status, repeats, status_column
from safemargin.io.reading.codes import without_codes
from safemargin.io.reading.column_names import HIDDEN_FLAGS, LABELS, NOTES, RANGES, ROW_NUMBERS, SHARES, STATUS
from safemargin.io.reading.footnotes import AMOUNT_WORDS
from safemargin.io.reading.frame import Frame
from safemargin.io.reading.grid import shown
from safemargin.io.reading.headers import YEARS
from safemargin.io.reading.shares import stated_gaps
from safemargin.io.reading.values import MONEY
from safemargin.io.rows import AMOUNTS, MOST_PEOPLE

COUNTS = (
    *("count", "counts", "freq", "frequency", "n", "values", "value", "people", "persons", "obs_value", "number"),
    *("no. of people", "anzahl", "effectif", "nombre", "number of people", "number of persons", "personen"),
    *("headcount", "total count", "cases"),
)
INSTEAD = f"{AMOUNTS}, or name a column of whole counts with --count"


@dataclass
class TableColumns:
    """Roles of columns: labels, counts, a status, a range; with notes."""

    names: tuple[tuple[str, ...], ...]
    """The header of every column, one text per header row, merged cells filled."""
    labels: list[int]
    counts: list[int]
    status: int | None = None
    ends: tuple[int, int] | None = None
    across_name: str = ""
    code_of: dict[str, str] = field(default_factory=dict)
    """By label the code in a column beside it: `FR1` of `Île-de-France`."""
    units: list[str] = field(default_factory=list)
    """What columns say of the unit of all counts: `in thousands`."""
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def name(self, column: int) -> str:
        """What a column is called: the lowest header row that names it."""
        return next((text for text in reversed(self.names[column]) if text), "")


def header_texts(frame: Frame) -> tuple[tuple[str, ...], ...]:
    """The texts above every column; merged cells, and blanks right of a text in an upper row, are filled."""
    grid = frame.grid
    rows = [[shown(cell) for cell in grid.rows[r]] for r in frame.head]
    for top, left, _, right in grid.merged:
        if top in frame.head:
            level = frame.head.index(top)
            for c in range(left, right + 1):
                rows[level][c] = rows[level][left]
    if not grid.merged:
        for level, row in enumerate(rows[:-1]):
            for c in range(2, len(row)):
                # A blank right of a text goes on with it, where a row below has a text of its own.
                if not row[c] and row[c - 1] and any(rows[low][c] for low in range(level + 1, len(rows))):
                    row[c] = row[c - 1]
    return tuple(tuple(row[c] for row in rows) for c in range(grid.width))


def find_columns(frame: Frame, count: str | None, labels: Sequence[str] | None, across: str) -> TableColumns:
    """The roles of all columns; `count` and `labels` are names that somebody gave."""
    names = header_texts(frame)
    found = TableColumns(names, [], [])
    by_name = {found.name(c): c for c in reversed(range(frame.grid.width)) if found.name(c)}
    plain = {name.lower(): c for name, c in by_name.items()}
    for name in labels or ():
        if name not in by_name and name != across:
            listed = ", ".join(name for name in by_name if name)
            raise InputError(f"{frame.grid.name}: there is no column {name!r}; the columns are {listed}")
    special = _special(frame, found, plain)
    numbered = _row_numbers(frame, found)
    if numbered is not None:
        special.add(numbered)
    chosen = by_name.get(count) if count else None
    if count and chosen is None:
        listed = ", ".join(name for name in by_name if name)
        raise InputError(f"{frame.grid.name}: there is no column {count!r}; the columns are {listed}")
    beside: set[int] = set()
    if not labels:
        attributes = find_attributes(frame, found.name, special, chosen)
        special |= set(attributes.ignored)
        beside = attributes.labels
        found.notes += [f"column {found.name(c)!r} is not used: it {why}" for c, why in attributes.ignored.items()]
        found.units = attributes.units
        found.doubts += attributes.doubts
    _check_amounts(frame, found, chosen, special | beside)
    measured = [c for c in frame.measured if c not in special | beside]
    if chosen is None:
        ignored = _ignored(frame, found, measured)
        measured = [c for c in measured if c not in ignored]
    texts = [c for c in range(frame.grid.width) if c not in frame.measured and c not in special]
    texts = sorted([*_without_notes(frame, found, texts, measured), *beside])
    if labels:
        found.labels = [by_name[name] for name in labels if name in by_name]
        rest = [c for c in measured if c not in found.labels]
        named = [plain[name] for name in COUNTS if name in plain and plain[name] in rest]
        found.counts = [chosen] if chosen is not None else named[:1] if named else rest
    elif chosen is not None:
        found.labels, found.counts = [*_keys(frame, texts, [c for c in measured if c != chosen])], [chosen]
        found.labels.sort()
    else:
        _by_itself(frame, found, texts, measured, plain)
    if not labels:
        found.labels, beside_names = without_codes(frame, found.labels, found.counts, found.name)
        found.code_of, found.notes, found.doubts = (
            beside_names.code_of,
            [*found.notes, *beside_names.notes],
            [*found.doubts, *beside_names.doubts],
        )
    if not found.counts and found.ends is None:
        raise InputError(f"{frame.grid.name}: no column holds whole numbers; where are the counts?")
    for c in found.labels:
        if len(frame.head) == 1 and found.name(c) and found.name(c) in {found.name(n) for n in found.counts if n != c}:
            raise InputError(f"{frame.grid.name}: the column {found.name(c)!r} is there twice; rename one")
    _check_whole(frame, found)
    return found


def _special(frame: Frame, found: TableColumns, plain: dict[str, int]) -> set[int]:
    special: set[int] = set()
    found.status = status_column(frame, plain)
    if found.status is not None and sum(names[-1:] == (found.name(found.status),) for names in found.names) > 1:
        found.status = None  # one column of flags per column of counts
    if found.status is not None:
        special |= {
            plain[name]
            for name in STATUS
            if name in plain and plain[name] not in frame.measured and is_status(frame, plain[name])
        }
    for low, high in RANGES:
        if low in plain and high in plain and found.ends is None and _are_ends(frame, found, plain[low], plain[high]):
            found.ends = plain[low], plain[high]
            special |= {plain[low], plain[high]}
    return special


def _are_ends(frame: Frame, found: TableColumns, low: int, high: int) -> bool:
    """Whether two columns hold the ends of ranges, as their names say, and not two groups of people."""
    pairs = [(frame.values[r, low], frame.values[r, high]) for r in frame.body]
    ends = [(a.number, b.number) for a, b in pairs if a.number is not None and b.number is not None]
    if any(a > b for a, b in ends) or any(is_counted(frame, c, frame.measured) for c in (low, high)
                                          if not any(a == b for a, b in ends)):  # fmt: skip
        return False
    if not any(a == b for a, b in ends) and not any(_is_named_count(found.name(c)) for c in frame.measured):
        names = f"{found.name(low)!r} and {found.name(high)!r}"
        found.doubts.append(f"columns {names} are taken for the ends of ranges, and may hold counts")
    return True


def _row_numbers(frame: Frame, found: TableColumns) -> int | None:
    """A first column without a name that numbers the rows, as R and pandas write it."""
    if frame.grid.width < 3 or found.name(0).lower() not in ROW_NUMBERS:
        return None
    numbers = [frame.values[r, 0].number for r in frame.body if frame.values[r, 0].kind != "empty"]
    if numbers in (list(range(1, len(numbers) + 1)), list(range(len(numbers)))) and len(numbers) > 1:
        found.notes.append("ignored the numbers of rows in the first column")
        return 0
    return None


def _check_amounts(frame: Frame, found: TableColumns, chosen: int | None, unused: set[int]) -> None:
    """Refuse amounts: by the names of columns of numbers, by signs of money, or by their size."""
    looked = [chosen] if chosen is not None else [c for c in frame.measured if c not in unused]
    named = [c for c in looked if not SHARES.search(found.name(c))]
    looked = named or looked  # means of amounts beside counts are ignored
    few = len(looked) <= 2 or sum(AMOUNT_WORDS.search(found.name(c)) is not None for c in looked) > 1
    for c in looked:
        name = found.name(c)
        whole = all(frame.values[r, c].is_whole for r in frame.body if frame.values[r, c].kind == "number")
        if (
            (word := AMOUNT_WORDS.search(name) or MONEY.search(name))
            and (few or not whole)
            and not (chosen == c and whole)
        ):
            raise InputError(f"{frame.grid.name}: column {name!r}: {INSTEAD} ({word[0]!r})")
        for r in frame.body:
            value = frame.values[r, c]
            if value.kind == "number" and value.number is not None and not -MOST_PEOPLE <= value.number <= MOST_PEOPLE:
                raise fault(frame, r, c, f"is larger than any number of people; {INSTEAD}")
    for r in frame.body:
        for c in range(frame.grid.width):
            if frame.values[r, c].kind == "text" and re.fullmatch(
                r"[€$£¥]\s?[0-9.,' ]+|[0-9.,' ]+\s?(?:€|EUR|USD|\$|£)", frame.values[r, c].symbol
            ):
                raise fault(frame, r, c, f"{INSTEAD}")


def fault(frame: Frame, row: int, column: int, reason: str) -> InputError:
    """An error that names file, row, column and value."""
    names = header_texts(frame)[column]
    name = next((text for text in reversed(names) if text), f"column {column + 1}")
    value = repr(shown(frame.grid.rows[row][column]))[:62]
    return InputError(f"{frame.grid.name}: {frame.grid.place(row)}: {name} = {value}: {reason}")


def _ignored(frame: Frame, found: TableColumns, measured: Sequence[int]) -> set[int]:
    """Columns of shares, means and rates."""
    shares = {c for c in measured if SHARES.search(" ".join(found.names[c])) and not _is_named_count(found.name(c))}
    shares -= {c for c in shares if is_counted(frame, c, measured)}
    for c in sorted(shares):
        if is_whole(frame, c) and has_gap(frame, c) and not repeats_gaps(frame, c, set(measured) - shares):
            found.doubts.append(f"column {found.name(c)!r} is called a share, mean or rate, and may hold counts")
    shares |= {c for c in measured if any(frame.values[r, c].kind == "share" for r in frame.body)}
    shares |= fractions_of(frame, found.name, measured)
    found.doubts += stated_gaps(frame, found.names, sorted(shares), sorted(set(measured) - shares))
    if shares and set(measured) - shares:
        names = ", ".join(
            repr(" ".join(dict.fromkeys(text for text in found.names[c] if text))) for c in sorted(shares)[:4]
        )
        found.notes.append(
            f"ignored {names}{' and more' if len(shares) > 4 else ''}: shares, means or rates, not counts"
        )
        return shares
    if shares:
        name = found.name(min(shares))
        found.doubts.append(f"column {name!r} is called a share, mean or rate: are these counts of people?")
    return set()


def _is_named_count(name: str) -> bool:
    return name.lower() in COUNTS


def _without_notes(frame: Frame, found: TableColumns, texts: list[int], measured: Sequence[int]) -> list[int]:
    """Columns of texts less those of remarks: right of all numbers, and called so or mostly empty."""
    last = max(measured, default=-1)
    flags = _flags(frame, found, texts, measured)
    if flags:
        found.notes.append(f"ignored {'a column' if len(flags) == 1 else f'{len(flags)} columns'} of flags")
    kept = []
    for c in texts:
        if c in flags:
            continue
        filled = sum(frame.grid.rows[r][c] is not None for r in frame.body)
        numbers = sum(frame.values[r, c].kind == "number" for r in frame.body)
        left = [t for t in texts if t < last]
        if filled == 0 or (c > last >= 0 and left and (
            found.name(c).lower() in NOTES or filled * 2 < len(frame.body) or not found.name(c)
            or (distinct(frame, left) and len({shown(frame.grid.rows[r][c]) for r in frame.body}) < len(frame.body))
        )):  # fmt: skip
            found.notes.append(f"ignored the column {found.name(c)!r}: remarks")
            kinds = {frame.values[r, c].kind for r in frame.body} - {"empty"}
            if numbers and found.name(c).lower() not in NOTES:
                found.doubts.append(f"column {found.name(c)!r} holds numbers and texts, and is not used")
            if kinds and kinds <= {"gap", "dash"} and found.name(c).lower() not in ("", *NOTES, *STATUS):
                found.doubts.append(f"column {found.name(c)!r} holds gaps alone, and is not used")
            continue
        if numbers * 2 > len(frame.body) and c > min([*texts, *measured]) and not LABELS.search(found.name(c)):
            row = next(r for r in frame.body if frame.values[r, c].kind == "text")
            beside = [frame.values[row, other].kind for other in range(frame.grid.width)]
            another = "; does another table begin here? Save each in a file of its own"
            raise fault(
                frame, row, c, "is not a number" + another * (beside.count("text") > 2 and "number" not in beside)
            )
        if _is_named_count(found.name(c)) and not measured and found.ends is None:
            row = next(r for r in frame.body if frame.values[r, c].kind == "text")
            raise fault(frame, row, c, "is not a number")
        kept.append(c)
    return kept


def _flags(frame: Frame, found: TableColumns, texts: Sequence[int], measured: Sequence[int]) -> set[int]:
    """Columns of flags such as `p` and `r` right of counts, where the labels before all counts identify rows."""
    first = min(measured, default=0)
    before = [c for c in texts if c < first]
    flags: set[int] = set()
    if not before or not distinct(frame, before):
        return flags
    for c in texts:
        marks = [shown(frame.grid.rows[r][c]).strip() for r in frame.body]
        is_named = found.name(c).lower() in STATUS or not found.names[c][-1:] or not found.names[c][-1]
        if c < first or not is_named or c - 1 not in measured or any(len(mark) > 3 for mark in marks):
            continue
        flags.add(c)
        hidden = [m for m, r in zip(marks, frame.body, strict=True)
                  if m.lower() in HIDDEN_FLAGS and frame.values[r, c - 1].kind == "number"]  # fmt: skip
        if hidden:
            found.doubts.append(f"the flag {hidden[0]!r} stands beside a number: is that number suppressed?")
    return flags


def _keys(frame: Frame, texts: Sequence[int], numeric: Sequence[int]) -> list[int]:
    """Label columns: those of texts, and as many columns of numbers, from the left, as rows need to be different."""
    keys = list(texts)
    for c in numeric:
        if keys and distinct(frame, keys):
            break
        if repeats(frame, c):
            keys.append(c)
    return keys


def _is_code(frame: Frame, found: TableColumns, column: int) -> bool:
    """Whether a column of numbers holds labels by its name: `year`, `age`, `area code`.

    `full-time` and `working age` name counts as well: of a name of several words the numbers must repeat, or be years.
    A column with a gap holds no labels.
    """
    name = found.name(column)
    values = [frame.values[r, column] for r in frame.body]
    if LABELS.search(name) and _has_one_blank(frame, column):
        return True
    if not LABELS.search(name) or not all(value.kind == "number" and value.is_whole for value in values):
        return False
    if repeats(frame, column) or all(int(value.number or 0) in YEARS for value in values):
        return True
    if re.search(r"[ _.-]", name.strip()):
        return re.search(r"(?:code|id|nr|zip|plz|postcode|nuts|nace|isco)$", name, re.I) is not None
    return True


def _has_one_blank(frame: Frame, column: int) -> bool:
    """Whether a column numbers or ranks all rows but the first or the last, and does not add up as counts do."""
    filled = [r for r in frame.body if frame.values[r, column].kind != "empty"]
    numbers = [frame.values[r, column].number for r in filled]
    if filled not in (list(frame.body[1:]), list(frame.body[:-1])) or len(set(numbers)) < len(numbers):
        return False
    return all(isinstance(number, int) for number in numbers) and not is_counted(frame, column, frame.measured)


def _by_itself(frame: Frame, found: TableColumns, texts: list[int], measured: list[int], plain: dict[str, int]) -> None:
    """Labels and counts where nobody says which is which."""
    called = [found.name(c).lower() for c in measured]
    named = [plain[name] for name in COUNTS if plain.get(name) in measured and called.count(name) == 1]
    codes = [c for c in measured if c not in named and _is_code(frame, found, c)]
    if found.ends is not None and not named:
        found.labels, found.counts = sorted([*texts, *codes]), []
        return
    if named and (
        len(measured) == 1 or not distinct(frame, texts) or set(measured) - set(named) <= set(codes) or not texts
    ):
        chosen = named[0]
        others = [c for c in measured if c != chosen]
        keys = _keys(frame, [*texts, *(c for c in codes if c != chosen)], [c for c in others if c not in codes])
        if not keys and (alone := [c for c in others if distinct(frame, [c])]):
            keys = alone[:1]
            found.doubts.append(f"column {found.name(keys[0])!r} is taken for labels, and nothing says so")
        found.labels, found.counts = sorted(keys), [chosen]
        if extra := [c for c in others if c not in keys]:
            found.doubts.append(f"column {found.name(extra[0])!r} holds numbers too, and is not used")
        return
    counts = [c for c in measured if c not in codes]
    numbers = [frame.values[r, 0].number for r in frame.body]
    if not texts and 0 in counts and numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 2:
        found.doubts.append(
            "the first column numbers the rows, and no other one names them: are these records of people?"
        )
    if not counts:
        counts, codes = measured[-1:], measured[:-1]
        if measured and texts:
            found.doubts.append(
                f"column {found.name(counts[0])!r} is taken for the counts, though its name is of labels"
            )
    keys = [*texts, *codes]
    for c in list(counts[:-1]):
        if keys and distinct(frame, keys):
            break
        if not keys or repeats(frame, c):
            keys.append(c)
            counts.remove(c)
    if len(counts) == 1 and not named and counts_up(frame, counts[0]):
        found.doubts.append(f"column {found.name(counts[0])!r} counts up row by row: is it the number of a record?")
    if len(counts) == 1 and keys and not (texts or codes or named):
        found.doubts.append(f"column {found.name(counts[0])!r} is taken for the counts, and nothing says so")
    _doubt_codes(frame, found, texts, codes, counts)
    found.labels, found.counts = sorted(keys), counts


def _doubt_codes(frame: Frame, found: TableColumns, texts: list[int], codes: list[int], counts: list[int]) -> None:
    """Doubt numbers that are labels by name alone: rows differ without them, and no number repeats."""
    for c in codes if texts and counts and distinct(frame, texts) else ():
        years = all(int(frame.values[r, c].number or 0) in YEARS for r in frame.body)
        if not repeats(frame, c) and not years and not re.search(r"(?:code|id|nr|zip|plz|nuts|nace|isco|geo)$",
                                                                  found.name(c), re.I):  # fmt: skip
            found.doubts.append(f"column {found.name(c)!r} is taken for labels by its name, and may hold counts")


def _check_whole(frame: Frame, found: TableColumns) -> None:
    """Refuse counts that are no whole numbers, or negative."""
    for c in (*found.counts, *(found.ends or ())):
        for r in frame.body:
            value = frame.values[r, c]
            if isinstance(value.number, Decimal):
                raise fault(frame, r, c, f"is not a whole number; {INSTEAD}")
            if value.number is not None and value.number < 0:
                raise fault(frame, r, c, "is negative")
