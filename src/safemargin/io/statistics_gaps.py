"""The program that writes SPSS and Stata files with gaps: a file and a list of changes in, a file out.

Values, names and labels of columns, and labels of values stay; the label and the notes of the file do not, for they may
state what is suppressed. A number that is taken away becomes a missing value of the user's own: -9 in SPSS, `.s` in
Stata, labelled `suppressed`. Labels of the values of such a column are dropped with them.
"""

import json
import sys
from importlib import import_module
from typing import Any

MISSING_SPSS, MISSING_STATA = -9.0, "s"


def main(kind: str, path: str, asked: str, written: str) -> None:
    """Write the file `path` again, with the changes that the file `asked` lists."""
    pandas, library = import_module("pandas"), import_module("pyreadstat")
    with open(asked, encoding="utf-8") as file:
        wanted = json.load(file)
    is_spss = kind == "sav"
    values, facts = (library.read_sav if is_spss else library.read_dta)(path, output_format="dict")
    columns = {name: [None if value != value else value for value in column] for name, column in values.items()}
    names, labels = list(columns), {name: dict(said) for name, said in facts.variable_value_labels.items()}
    gap: float | str = MISSING_SPSS if is_spss else MISSING_STATA
    gapped: set[str] = set()
    for row, place, is_word in wanted["changes"]:
        name = names[place]
        column = columns[name]
        if not is_word and _is_number(column[row]):
            gapped.add(name)
            column[row] = gap
        elif is_word and any(map(_is_number, column)):  # a status is a number with a label
            column[row] = _labelled(labels.setdefault(name, {}), wanted["word"])
        else:
            column[row] = wanted["word"] if is_word else "" if isinstance(column[row], str) else None
    labels |= {name: {gap: wanted["word"]} for name in gapped}
    frame = pandas.DataFrame({name: [column[row] for row in wanted["order"]] for name, column in columns.items()})
    titles = {name: text for name, text in facts.column_names_to_labels.items() if text}
    said: dict[str, Any] = {"column_labels": titles, "variable_value_labels": labels}
    if is_spss:
        changed = {names[place] for _, place, _ in wanted["changes"]}
        formats = {n: f for n, f in facts.original_variable_types.items() if n not in changed and f[:1] != "A"}
        said |= {
            "variable_format": {**formats, **dict.fromkeys(gapped, "F12.0")},
            "variable_measure": facts.variable_measure,
            "missing_ranges": {name: [gap] for name in gapped},
        }
        library.write_sav(frame, written, **said)
    else:
        library.write_dta(frame, written, missing_user_values={name: [gap] for name in gapped}, **said)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _labelled(labels: dict[Any, str], word: str) -> Any:
    """The value that a label stands for; a new one if none has it."""
    for value, text in labels.items():
        if text.strip().lower() == word:
            return value
    value = max((value for value in labels if _is_number(value)), default=0) + 1
    labels[value] = word
    return value


if __name__ == "__main__":
    main(*sys.argv[1:])
