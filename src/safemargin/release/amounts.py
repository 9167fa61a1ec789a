"""Files of amounts, such as turnover by region and sector, which nothing here protects: they are refused.

Rows of a file of records are people, so a table of amounts would be taken for as many people as it has rows. A file is
a table of amounts if a column of numbers is called so, every combination of its labels stands once, and at least half
of all combinations are there: records of people repeat, or fill far less.
"""

from math import prod
from pathlib import Path

from safemargin.core import InputError
from safemargin.io import AMOUNT_WORDS, AMOUNTS, MONEY, BadText, Survey, is_number, whole_number


def refuse_amounts(path: Path, survey: Survey, count: str | None = None) -> None:
    """Refuse a table of amounts, and a column of counts that holds anything but whole numbers of people."""
    if count is not None:
        for text in dict.fromkeys(survey.examples.get(count, ())):
            try:
                whole_number(text or "0")
            except BadText as error:
                raise InputError(f"{path}: column {count!r}: count {text[:60]!r}: {error}") from None
    texts = {name: [text for text in column if text] for name, column in survey.examples.items()}
    numeric = {name for name, column in texts.items() if column and all(map(is_number, column))}
    named = [name for name in numeric if AMOUNT_WORDS.search(name) or MONEY.search(name)]
    labels = [name for name in survey.examples if name not in numeric]
    if not named or not labels or survey.rows != len(survey.examples[labels[0]]):
        return
    rows = list(zip(*(survey.examples[name] for name in labels), strict=True))
    sizes = [survey.distinct[name] for name in labels]
    if len(set(rows)) == len(rows) and max(sizes) < len(rows) and prod(sizes) <= 2 * len(rows):
        name = next(name for name in survey.examples if name in named)
        raise InputError(f"{path}: column {name!r}: {AMOUNTS}")
