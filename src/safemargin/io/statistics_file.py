"""The program that reads SPSS and Stata files: one file in, its columns as JSON out.

It runs in a process of its own, because the library crashes on some damaged files. What it prints holds texts and
numbers only: no data can become code in the process that asked.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from safemargin.io.plain import TOO_LARGE, plain_text


def main(reader: str, path: str, most: int) -> None:
    """Print the columns of a file: their names, the texts of each, and which text each row has."""
    import pyreadstat

    read = {"read_sav": pyreadstat.read_sav, "read_dta": pyreadstat.read_dta}[reader]
    names, facts = read(path, output_format="dict", metadataonly=True)
    if (facts.number_rows or 0) * len(names) > most:
        sys.exit(TOO_LARGE)
    columns, facts = read(path, output_format="dict")
    labels: dict[str, dict[Any, str]] = facts.variable_value_labels
    json.dump({name: as_texts(values, labels.get(name, {})) for name, values in columns.items()}, sys.stdout)


def as_texts(values: Sequence[object], labels: Mapping[Any, str]) -> list[list[object]]:
    """The different texts of a column, and the number of the text of each row; labels stand for values that have one.

    >>> as_texts([1.0, 2.0, 1.0, None], {2.0: "yes"})
    [['1', 'yes', ''], [0, 1, 0, 2]]
    """
    texts: dict[str, int] = {}
    known: dict[object, int] = {}
    held = [None if value != value else value for value in values]  # no two NaN are equal
    for value in held:
        if value not in known:
            known[value] = texts.setdefault(str(labels.get(value, plain_text(value) or "")), len(texts))
    return [list(texts), [known[value] for value in held]]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
