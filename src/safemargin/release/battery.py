"""Which columns of an unknown file are questions about the same people.

Rules, each of which can be read off the rows (at most the first 1,000 are looked at)
    named        two columns or more that are called question, item, contest, or q and a number
    alike        three columns or more with the same few values, three or more of them
    two values   the same with two values, if the columns are numbered, or stand together and begin alike (`ab_rape`,
                 `ab_poor`), or say more than yes and no (favour, oppose); never the flags of one column, of which at
                 most one is set in every row

Numbers of things (children, visits), nearly all of them 0, are no scale.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix

from safemargin.io import Survey
from safemargin.release.column_texts import missing_among
from safemargin.release.scales import MOST_SCALE, ordered_options, plain_number

QUESTION_STEM = re.compile(
    r"(q|question|item|contest|measure|prop|proposition|frage|pregunta)[ _.-]?0*[0-9]+[a-z]?", re.I
)
NUMBERED = re.compile(r"(.*?[^0-9])0*[0-9]+[a-z]?")
FEWEST_QUESTIONS = 3
FEWEST_BY_NAME = 4
"""Columns with two values that are questions because their names begin alike, without a sign that ends the stem."""
SHORTEST_STEM = 2
FLAGS = ({"0", "1"}, {"no", "yes"}, {"n", "y"}, {"false", "true"}, {"f", "t"}, {"1", "2"})
"""Values that say whether something holds: any two attributes of a person may have them."""
SET = {"1", "yes", "y", "true", "t"}
MOSTLY = 0.5


@dataclass(frozen=True)
class ColumnBattery:
    """Columns that are questions, with the options that they share, in order; none where each has its own.

    `others` are questions of their own beside them, such as the vote: their options differ.
    """

    columns: tuple[str, ...]
    options: tuple[str, ...] = ()
    is_ordered: bool = False
    others: tuple[str, ...] = ()


def battery(survey: Survey, few: Collection[str], most: int) -> ColumnBattery | None:
    """The questions among the columns with `few` values, where there are several; the largest set of equal ones."""
    named = tuple(name for name in few if QUESTION_STEM.fullmatch(name.strip()) and survey.distinct[name] <= most)
    if len(named) >= 2:
        listed = {_scale(_values(survey.examples[name])) for name in named}
        shared = next(iter(listed)) if len(listed) == 1 else frozenset()
        return ColumnBattery(named, *ordered_options(shared))
    sets: dict[frozenset[str], list[str]] = {}
    for name in few:
        values = _values(survey.examples[name])
        if 2 <= len(values) <= MOST_SCALE:
            sets.setdefault(_scale(values), []).append(name)
    alike = [
        (names, values) for values, found in sets.items() for names in [_questions(survey, found, values)] if names
    ]
    if not alike:
        return None
    names, values = max(alike, key=lambda entry: len(entry[0]))
    return ColumnBattery(tuple(names), *ordered_options(values))


def _questions(survey: Survey, names: Sequence[str], values: frozenset[str]) -> list[str]:
    """Those of the columns with the same values that are questions."""
    if len(values) > 2:
        names = [name for name in names if not _counts_things(survey.examples[name])]
        return names if len(names) >= FEWEST_QUESTIONS else []
    is_flag = {value.lower() for value in values} in FLAGS
    together = list(names) if _are_numbered(names) or not is_flag else _begin_alike(list(survey.distinct), names)
    if len(together) < FEWEST_QUESTIONS or (is_flag and _exclude_each_other(survey, together)):
        return []
    return together


def _begin_alike(columns: Sequence[str], names: Collection[str]) -> list[str]:
    """The longest run of neighbouring columns among `names` with one stem: it ends in a sign, or is that of many."""
    best: list[str] = []
    for start in range(len(columns)):
        run: list[str] = []
        for name in columns[start:]:
            stem = commonprefix([*run, name])
            if name not in names or (run and len(stem) < SHORTEST_STEM):
                break
            run.append(name)
        stem = commonprefix(run)
        enough = FEWEST_QUESTIONS if re.search(r"[^\W_]+[_.\s-]", stem) else FEWEST_BY_NAME
        if len(run) >= enough and len(run) > len(best):
            best = run
    return best


def _exclude_each_other(survey: Survey, names: Sequence[str]) -> bool:
    """Whether at most one of these flags is set in every row: then they are one column in several."""
    rows = zip(*(survey.examples[name] for name in names), strict=True)
    return all(sum(plain_number(text.strip().lower()) in SET for text in row) <= 1 for row in rows)


def _counts_things(texts: Sequence[str]) -> bool:
    """Whether whole numbers say how many of something somebody has: nearly always none."""
    said = [plain_number(text.strip()) for text in texts if text.strip()]
    return all(text.isascii() and text.isdigit() for text in said) and said.count("0") > MOSTLY * len(said)


def _values(texts: Sequence[str]) -> frozenset[str]:
    """The values of a column but words for nothing."""
    nothing = {"", *missing_among(texts)}
    return frozenset(plain_number(text.strip()) for text in texts if text.strip() not in nothing)


def _scale(values: frozenset[str]) -> frozenset[str]:
    """Numbers from 1 (or 0) to a few: the whole scale, also where nobody chose some of it. 0 and 1 mean no and yes.

    >>> sorted(_scale(frozenset(["2", "5"]))), sorted(_scale(frozenset(["7", "a"]))), sorted(_scale(frozenset("01")))
    (['1', '2', '3', '4', '5'], ['7', 'a'], ['0', '1'])
    """
    if not all(value.isascii() and value.isdigit() and len(value) < 3 for value in values):
        return values
    numbers = [int(value) for value in values]
    if max(numbers, default=0) < 3:
        return values
    high = next((top for top in (5, 7, 10) if max(numbers) <= top), 0)
    return frozenset(map(str, range(min(1, *numbers, 1), high + 1))) if high and len(numbers) > 1 else values


def _are_numbered(names: Collection[str]) -> bool:
    """Whether columns have one stem and a number."""
    stems = {match[1] for name in names if (match := NUMBERED.fullmatch(name))}
    return len(stems) == 1 and all(NUMBERED.fullmatch(name) for name in names)


def renamed_numbers(labels: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """By text, the whole number that it is published as, where some columns hold whole numbers with decimals.

    >>> renamed_numbers({"q1": ["1.0", "2.0"], "q2": ["1", "2"], "size": ["1.0", "1.5"]})
    {'1.0': '1', '2.0': '2'}
    """
    found: dict[str, str] = {}
    for texts in labels.values():
        plain = {text: plain_number(text) for text in texts}
        if all(re.fullmatch(r"[+-]?[0-9]*", short.strip()) for short in plain.values()):
            found |= {text: short for text, short in plain.items() if short != text}
    return dict(sorted(found.items(), key=lambda pair: float(pair[0])))
