"""A first project file for an unknown data file, with every guess explained beside it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from safemargin.core import RESERVED, InputError
from safemargin.io import ENGINES, Survey, open_source, open_sqlite, require_file, suffix, table_names
from safemargin.release.init.guess import AxisGuess, Guess, guess

SHOWN = 6
"""How many values a comment lists."""

WIDEST = 100
"""How many characters it takes for that."""

CLOSING = """\
[target]
beta = 0.05          # nothing may show that fewer than 5 % or more than 95 % of a group chose an option
kappa = 30           # nobody is published in a group of fewer people
tau = 3              # no count may be known to within 3 people
epsilon_max = 1.0    # the most that noise may cost anyone
protect = "merge"    # near-unanimous groups: "merge" with a neighbour, "noise", or "suppress"

# Who to defend against. Without this it is one onlooker who knows the rule and how many people there are of each kind.
# [[onlookers]]
# name = "neighbour"
# composition = "joint"    # what of the roll they know: "none", "sizes" of each category, or "joint"
# knows_rule = true        # whether they know how groups were chosen for protection
# facts = ["facts.csv"]    # tidy files of what else they know

[outputs]
formats = ["csv", "json"]    # also "parquet"
"""


def propose_project(path: Path | str) -> str:
    """The text of a project file to be stored beside the data file at `path`."""
    path = Path(path)
    require_file(path)
    tables = table_names(path) if ENGINES.get(suffix(path)) is open_sqlite else ()
    source = open_source(path, tables[0] if tables else None)
    survey = source.survey()
    if survey.rows == 0:
        raise InputError(f"{path}: the table is empty")
    found = guess(source, survey)
    if found is None:
        raise InputError(
            f"{path}: no columns fit: one with the answer (2 to 12 different values) and one to count by are needed; "
            f"the columns are {', '.join(source.columns)}"
        )
    lines = [*_data_lines(path, tables, survey, found), "", *_skipped_lines(found)]
    for axis in found.axes:
        lines += _axis_lines(axis)
    for name, distinct in found.numbers.items():
        lines += _number_lines(name, distinct)
    return "\n".join(lines) + "\n" + CLOSING


def _data_lines(path: Path, tables: tuple[str, ...], survey: Survey, found: Guess) -> Iterator[str]:
    yield f"# Proposed from {_comment(path.name)} ({survey.rows} rows). Every line is a guess: check it."
    yield f"title = {_text(path.name.split('.')[0])}"
    yield ""
    yield "[data]"
    yield f"file = {_text(path.name)}"
    if tables:
        others = f"    # other tables: {_comment(', '.join(tables[1:]))}" if len(tables) > 1 else ""
        yield f"table = {_text(tables[0])}{others}"
    yield f"answer = {_text(found.answer)}    # {len(found.answers)} answers: {_listed(found.answers)}"
    if found.unanswered:
        yield f'blank = "no answer"    # {found.unanswered} rows have no answer and count as this option'
    if found.count is not None:
        yield f"count = {_text(found.count)}    # how many people a row stands for"


def _skipped_lines(found: Guess) -> Iterator[str]:
    for name, reason in found.skipped.items():
        yield f"# Left out: column {_comment(repr(name))} {_comment(reason)}."
    if found.skipped:
        yield ""


def _axis_lines(axis: AxisGuess) -> Iterator[str]:
    yield f"[axes.{_key(axis.column)}]    # {len(axis.labels)} categories: {_listed(axis.labels)}"
    if axis.empty:
        yield f"# {axis.empty} rows are empty here: fill them in first, every person needs a category."
    yield f"column = {_text(axis.column)}"
    if axis.ordered:
        yield "ordered = true    # only neighbours may be merged; check the order"
        yield f"categories = [{', '.join(map(_text, axis.labels))}]"
    if axis.levels:
        yield f"levels = [{', '.join(map(_text, axis.levels))}]    # wider areas, from fine to coarse"
    yield ""


def _number_lines(name: str, distinct: int) -> Iterator[str]:
    yield f"# Column {_comment(repr(name))} has {distinct} different numbers. Put them into bands (such as 18-29,"
    yield "# 30-44) in a new column, and count by that."
    yield f"# [axes.{_comment(_key(name))}]"
    yield "# ordered = true"
    yield ""


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    """A column name as the key of an axis; reserved names get a tail."""
    key = f"{name}_group" if name in RESERVED else name
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _text(key)


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _listed(labels: tuple[str, ...]) -> str:
    text = _comment(", ".join(labels[:SHOWN]))
    return f"{text[:WIDEST]}, ..." if len(labels) > SHOWN or len(text) > WIDEST else text
