"""Which labels of every axis are sums of which others: by arithmetic, with names, indents and codes as hints.

A name without the arithmetic, or arithmetic without a name, is a doubt. A name that nothing else can have (`Total`)
whose parts do not add up is an error, unless all counts are multiples of one base: then they are rounded.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from safemargin.core import JOINER, IntArray
from safemargin.io.reading.options import NO_TOTALS
from safemargin.io.reading.segments import segmented
from safemargin.io.reading.sums import LIKELY, PARTIAL, WEAK, Rows, Test, is_strong, strong_among

ENOUGH = 3.0
"""Evidence at which arithmetic alone makes a label a sum: a chance of one in a thousand that it is none."""
MANY, SOME = 8, 6
"""Different counts that are multiples of one base before that is a doubt: where totals add up, and where none does."""
MOST_TESTED, MOST_SEARCHED = 20_000_000, 400
_CODE = re.compile(r"([A-Z]{0,3}[0-9.]{0,8})(?:[ \-–:_].*)?$")


@dataclass
class AxisSums:
    """The sums of one axis: the label that is the total, and the labels that other labels add up to."""

    total: int | None = None
    splits: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    partial: list[int] = field(default_factory=list)
    """Labels whose listed parts are not all of them."""
    unsure: list[int] = field(default_factory=list)
    """Labels with the name of a sum that the others do not add up to."""
    tested: int = 0
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    short: list[tuple[int, tuple[int, ...], int]] = field(default_factory=list)
    """Sums that need cells which are not listed: label, parts, row."""


class NotASum(Exception):
    """A label named as a sum does not add up; `off` is by how much at most, `parts` how many add up."""

    def __init__(self, message: str, off: int, parts: int, row: int) -> None:
        super().__init__(message)
        self.off, self.parts, self.row = off, parts, row


def find_sums(
    rows: Rows,
    axis: int,
    name: str,
    labels: Sequence[str],
    *,
    stated: str = "",
    inside: Mapping[str, Sequence[str]] | None = None,
    code_of: Mapping[str, str] | None = None,
    gaps: bool = True,
    trusted: bool = False,
    place: str = "row",
) -> AxisSums:
    """The sums along one axis. `stated` is the name of a total, `inside` parts by how labels are indented.

    `gaps` says that counts are missing, so that it matters; `trusted` that the file is one of ours, whose totals have a
    name. Raises NotASum where a label is called a total and is none.
    """
    found = AxisSums()
    if stated == NO_TOTALS or len(labels) < 2:
        if stated == NO_TOTALS and len(labels) > 2 and not trusted:
            _doubt_none(rows, axis, name, labels, found)
        return found
    named = _named(_without_prefixes(labels), stated)
    taken: set[int] = set()
    codes = [(code_of or {}).get(label, label) for label in labels]
    _by_hints(rows, axis, labels, inside or {}, found, taken, named, codes)
    if named is None and not trusted:
        named = _by_arithmetic(rows, axis, name, labels, found, taken, gaps)
        if named is None:
            if not found.splits:
                _search(rows, axis, labels, found, taken, None)
                if found.splits:
                    wholes = ", ".join(repr(labels[parent]) for parent, _ in found.splits[:3])
                    found.doubts.append(f"{name}: {wholes} add up others, but nothing says so")
            return found
    if named is None:
        return found
    parts = [code for code in range(len(labels)) if code != named and code not in taken]
    if not parts:
        return found
    if not stated and _stands_alone(rows, axis, named, parts):
        # Nothing beside it is listed, so that it sums nothing here: another label may be the sum of the others.
        unseen = AxisSums()
        other = _by_arithmetic(rows, axis, name, labels, unseen, taken | {named}, gaps)
        found.doubts += unseen.doubts
        if other is not None:
            inner = tuple(code for code in parts if code != other)
            found.splits.append((other, inner))
            taken.update(inner)
            parts = [other]
    test = rows.test(axis, named, parts)
    if not test.fits and len(labels) <= MOST_SEARCHED:
        _search(rows, axis, labels, found, taken, named)
        parts = [code for code in range(len(labels)) if code != named and code not in taken]
        test = rows.test(axis, named, parts) if parts else test
    if not test.fits and parts and (blocks := segmented(rows, axis, named, parts)) is not None:
        found.splits += blocks.splits
        if not blocks.is_only:
            wholes = ", ".join(repr(labels[parent]) for parent, _ in blocks.splits[:3])
            found.doubts.append(f"{name}: {wholes} may add up others, in more than one way")
        parts = [code for code in parts if code not in blocks.inside]
        test = rows.test(axis, named, parts)
    return _settled(rows, axis, name, labels, found, named, parts, test, stated, place)


def _doubt_none(rows: Rows, axis: int, name: str, labels: Sequence[str], found: AxisSums) -> None:
    """Doubt that nothing is a sum, as somebody says, where a label is called one and the others add up to it."""
    for code in strong_among(labels):
        test = rows.test(axis, code, [other for other in range(len(labels)) if other != code])
        if test.fits and (test.tested or not test.short):
            found.doubts.append(f"{name}: the others add up to {labels[code]!r}, though none is said to be a sum")


def _settled(
    rows: Rows, axis: int, name: str, labels: Sequence[str], found: AxisSums, named: int, parts: Sequence[int],
    test: Test, stated: str, place: str,
) -> AxisSums:  # fmt: skip
    label = labels[named]
    sure = bool(stated) or is_strong(label)
    if test.fits and not test.tested and not (sure or LIKELY.fullmatch(label.strip())) and not found.doubts:
        # Where nothing is printed that could speak against it, a name that categories have too says nothing.
        found.doubts.append(f"{name}: {label!r} may be a sum, and no row shows whether it is")
        return found
    if test.fits:
        found.total, found.tested = named, found.tested + test.tested
        found.splits.insert(0, (named, tuple(parts)))
        found.short += [(named, tuple(parts), row) for row in test.short]
        return found
    if not sure:
        if (WEAK.fullmatch(label.strip()) or LIKELY.fullmatch(label.strip())) and not re.fullmatch(
            "[0-9]+|t|persons|people|population", label.strip(), re.I
        ):
            found.unsure.append(named)
            found.doubts.append(f"{name}: {label!r} is called a sum, but the others do not add up to it")
        return found
    low, says = rows.shortfall(axis, named, parts, test.wrong)
    verb = "exceed" if low > says else "do not reach"
    raise NotASum(
        f"{name} = {label!r}: the parts add up to {low:,} and {verb} the total {says:,}",
        test.within,
        len(parts),
        test.wrong,
    )


def _named(labels: Sequence[str], stated: str) -> int | None:
    """The label that is called a total."""
    if stated:
        return next((code for code, label in enumerate(labels) if label.casefold() == stated.casefold()), None)
    strong = [code for code in strong_among(labels) if not PARTIAL.match(labels[code])]
    if strong:
        return strong[-1] if strong[-1] == len(labels) - 1 else strong[0]
    likely = [code for code, label in enumerate(labels) if LIKELY.fullmatch(label.strip())]
    if len(likely) == 1 and likely[0] in (0, len(labels) - 1):
        return likely[0]
    weak = [code for code, label in enumerate(labels) if WEAK.fullmatch(label.strip())]
    ends = [code for code in weak if code in (0, len(labels) - 1)]
    return ends[-1] if ends and len(labels) > 2 else None


def _without_prefixes(labels: Sequence[str]) -> list[str]:
    """Labels less a code in front of every one: `UK Grand total` above `UK1 North` is `Grand total`."""
    coded = [
        re.fullmatch(r"[A-Z]{1,3}[0-9][0-9A-Z]{0,6}[ :–-]+(\S.*)|[A-Z]{2,3}[ :–-]+(\S.*)", text) for text in labels
    ]
    if all(coded) and len(labels) > 2:
        return [match[1] or match[2] for match in coded if match]
    return list(labels)


def _by_hints(
    rows: Rows, axis: int, labels: Sequence[str], inside: Mapping[str, Sequence[str]], found: AxisSums, taken: set[int],
    total: int | None, codes: Sequence[str],
) -> None:  # fmt: skip
    """Parts by how labels are indented, else by codes: `DE1` is the sum of `DE11`, `DE12` and on."""
    code_of = {label: code for code, label in enumerate(labels)}
    hinted = {code_of[parent]: [code_of[child] for child in children] for parent, children in inside.items()}
    hinted |= _joined(code_of, total)
    certain = bool(hinted)
    hinted = hinted or _by_codes(codes)
    for parent, children in sorted(hinted.items(), key=lambda item: -len(codes[item[0]])):
        if parent == total or len(children) < 1 or set(children) & taken:
            continue
        test = rows.test(axis, parent, children)
        if test.fits and (test.tested or certain):
            found.splits.append((parent, tuple(children)))
            found.tested += test.tested
            taken.update(children)
            found.short += [(parent, tuple(children), row) for row in test.short]
        elif JOINER in labels[parent]:
            found.doubts.append(f"{labels[parent]!r} names categories that are listed too, and is not their sum")
        elif certain and _is_part(rows, axis, parent, children):
            found.splits.append((parent, tuple(children)))
            found.partial.append(parent)
            taken.update(children)
            found.notes.append(f"{labels[parent]!r} has parts that are not listed")


def _stands_alone(rows: Rows, axis: int, total: int, parts: Sequence[int]) -> bool:
    """Whether no part is listed beside a total, all else equal."""
    rest, at = rows.rest(axis), rows.codes[:, axis]
    return not np.isin(rest[at == total], rest[np.isin(at, list(parts))]).any()


def _joined(code_of: Mapping[str, int], total: int | None) -> dict[int, list[int]]:
    """Labels that join others of the same axis, as `N | S` beside `N` and `S`: they count the same people again."""
    joined = {}
    for text, code in code_of.items():
        members = [member.strip() for member in text.split(JOINER)]
        if len(members) > 1 and code != total and all(member in code_of for member in members):
            joined[code] = [code_of[member] for member in members]
    return joined


def _is_part(rows: Rows, axis: int, parent: int, children: Sequence[int]) -> bool:
    """Whether the parts of a label nowhere exceed it."""
    wider = Rows(rows.codes, rows.lower, np.where(np.isin(rows.codes[:, axis], list(children)), 2**53, rows.upper))
    return wider.test(axis, parent, children).fits


def _by_codes(labels: Sequence[str]) -> dict[int, list[int]]:
    codes = {}
    for number, label in enumerate(labels):
        match = _CODE.match(label.strip())
        if match and match[1] and any(sign.isdigit() for sign in label):
            codes[match[1].rstrip(".")] = number
        elif re.fullmatch("[A-Z]{1,3}", label.strip()):
            codes[label.strip()] = number
    if len(codes) < 3:
        return {}
    children: dict[int, list[int]] = {}
    for code, number in codes.items():
        above = next((code[:end] for end in range(len(code) - 1, 0, -1) if code[:end].rstrip(".") in codes), None)
        if above is not None and not (
            above.isdigit() and len(above) == 1 and len(code) == 2 and not code.startswith("0")
        ):
            children.setdefault(codes[above.rstrip(".")], []).append(number)
    return {parent: below for parent, below in children.items() if len(below) > 1}


def _by_arithmetic(
    rows: Rows, axis: int, name: str, labels: Sequence[str], found: AxisSums, taken: set[int], gaps: bool
) -> int | None:
    """A label without the name of a sum that is the sum of all others."""
    if len(labels) < 3:
        return None
    every = [code for code in range(len(labels)) if code not in taken]
    looked = every if len(labels) * len(rows.lower) <= MOST_TESTED else [every[0], every[-1]]
    best: tuple[float, int] | None = None
    for code in looked:
        others = [other for other in every if other != code]
        if len(others) < 2:
            continue
        test = rows.test(axis, code, others)
        at_end = code in (every[0], every[-1])
        if test.fits and not test.short and (test.evidence >= (ENOUGH if at_end else 2 * ENOUGH)):
            best = max(best or (0.0, 0), (test.evidence, code))
        elif (
            test.fits
            and at_end
            and (gaps and (test.tested or _is_large(rows, axis, code, others)) or _is_near(rows, axis, code, others))
        ):
            found.doubts.append(f"{name}: {labels[code]!r} may be the sum of the others")
    if best is None:
        return None
    found.doubts.clear()
    found.doubts.append(f"{name}: {labels[best[1]]!r} is the sum of all others, though its name does not say so")
    return best[1]


def _is_large(rows: Rows, axis: int, code: int, others: Sequence[int]) -> bool:
    """Whether a label exceeds all that is printed of the others everywhere, as a sum would where some are missing."""
    printed = Rows(rows.codes, rows.lower, np.where(rows.upper > rows.lower, rows.lower, rows.upper))
    test = printed.test(axis, code, others)
    at_code = int((rows.codes[:, axis] == code).sum())
    totals = rows.lower[rows.codes[:, axis] == code]
    return at_code > 0 and bool((totals > 0).all()) and not test.fits and _exceeds(rows, axis, code, others)


def _is_near(rows: Rows, axis: int, code: int, others: Sequence[int]) -> bool:
    """Whether rounded counts of a label and of all others are printed, so that to fit says that it may be their sum."""
    used = np.isin(rows.codes[:, axis], [code, *others])
    spread = (rows.upper - rows.lower)[used]
    return bool((spread > 0).all()) and bool((spread[rows.codes[used, axis] == code] <= 1_000).all())


def _exceeds(rows: Rows, axis: int, code: int, others: Sequence[int]) -> bool:
    rest = rows.rest(axis)
    inner = np.isin(rows.codes[:, axis], list(others))
    sums = np.bincount(rest[inner], rows.lower[inner], minlength=int(rest.max()) + 1)
    at = rows.codes[:, axis] == code
    return bool((rows.lower[at] >= sums[rest[at]]).all())


def _search(rows: Rows, axis: int, labels: Sequence[str], found: AxisSums, taken: set[int], total: int | None) -> None:
    """Subtotals: labels that are the sum of a run of labels right after or right before them, the smallest first."""
    if len(labels) > MOST_SEARCHED or len(labels) ** 2 * len(rows.lower) > 50 * MOST_TESTED:
        return
    rest = rows.rest(axis)
    beside = np.bincount(np.unique(np.column_stack([rest, rows.codes[:, axis]]), axis=0)[:, 0]) > 1
    compared = set(rows.codes[beside[rest], axis].tolist())  # labels beside others, all else equal
    changed = True
    while changed:
        changed = False
        order = [code for code in range(len(labels)) if code not in taken and code != total]
        for place, parent in enumerate(order):
            if parent not in compared or any(parent == whole for whole, _ in found.splits):
                continue
            run = _run(rows, axis, labels, order, place)
            if run:
                found.splits.append((parent, tuple(run)))
                taken.update(run)
                changed = True
                break


def _run(rows: Rows, axis: int, labels: Sequence[str], order: Sequence[int], place: int) -> list[int]:
    wanted = 0.5 if PARTIAL.match(labels[order[place]]) or WEAK.fullmatch(labels[order[place]].strip()) else ENOUGH
    for run in (list(order[place + 1 :]), list(reversed(order[:place]))):
        for end in range(2, len(run) + 1):
            test = rows.test(axis, order[place], run[:end])
            if test.fits and test.tested and test.evidence >= wanted and not test.short:
                # Rows of nobody at the end belong to whatever comes next.
                return run[:end]
            if not test.fits and _too_many(rows, axis, order[place], run[:end]):
                break
    return []


def _too_many(rows: Rows, axis: int, parent: int, children: Sequence[int]) -> bool:
    return not _is_part(rows, axis, parent, children)


def likely_base(values: IntArray, given: Sequence[int] = (1000, 500, 100, 50, 10, 5, 3), different: bool = True) -> int:
    """The largest base of which all counts are multiples, if so many are that chance does not explain it.

    >>> likely_base(np.array([5, 10, 25, 40, 15, 20])), likely_base(np.array([5, 10, 26, 40, 15, 20]))
    (5, 0)
    """
    counts = np.unique(values[values > 0]) if different else values[values > 0]
    for base in given:
        if len(counts) * np.log10(base) >= 4 and not (counts % base).any():
            return base
    return 0


def is_rounded_surely(values: IntArray, base: int, tested: bool = True) -> bool:
    """Whether so many different counts are multiples of a base that neither chance nor a made-up example explains it.

    >>> is_rounded_surely(np.array([100, 300]), 100), is_rounded_surely(5 * np.arange(1, 13), 5)
    (False, True)
    """
    different = len(np.unique(values[values > 0]))
    if not tested:
        return int((values > 0).sum()) >= SOME
    return different >= MANY and bool(different * np.log10(base) >= 2 * ENOUGH)
