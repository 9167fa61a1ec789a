"""Tables that are grouped by the engine itself, with labels that look the same as one."""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace

import duckdb

from safemargin.io.duck import DuckSource, literal
from safemargin.io.rows import MOST_LABELS
from safemargin.io.same_labels import plain_label, same_label, spelling_notes


class SpellingWarning(UserWarning):
    """Labels that look the same were taken for one category."""


def respelled(
    source: DuckSource, columns: Collection[str], known: Mapping[str, Collection[str]] | None = None
) -> DuckSource:
    """The same table, in which the labels of `columns` that look the same have one spelling, with a warning for each.

    It is that of the label in `known`, where there is one, else as labels are printed. Columns with more values than
    can be labels, or with values that are no texts, stay as they are.
    """
    present = [name for name in dict.fromkeys(columns) if name in source.fields]
    fields = dict(source.fields)
    with source.connected() as database:
        for name in _odd_columns(database, source, present):
            field = source.fields[name]
            # All values, not the odd ones alone: the note names the label that they look like.
            query = f"select distinct {field} from {source.scan} where {field} is not null order by 1"
            texts = [text for (text,) in database.execute(f"{query} limit {MOST_LABELS + 1}").fetchall()]
            if len(texts) > MOST_LABELS:
                continue
            spelling = {same_label(text): text for text in (known or {}).get(name, ())}
            others = {text: spelling.setdefault(same_label(text), plain_label(text)) for text in texts}
            for note in spelling_notes(name, texts):
                if note.endswith("one category"):
                    warnings.warn(f"{source.path}: {note}", SpellingWarning, stacklevel=3)
            fields[name] = _renamed(field, {text: other for text, other in others.items() if text != other})
    return source if fields == dict(source.fields) else replace(source, fields=fields)


def _odd_columns(database: duckdb.DuckDBPyConnection, source: DuckSource, names: list[str]) -> list[str]:
    """Columns with a text that holds more than letters without accents and single blanks between them."""
    if not names:
        return []
    selected = ", ".join(source.fields[name] for name in names)
    kinds = [kind for _, kind, *_ in database.execute(f"describe select {selected} from {source.scan}").fetchall()]
    texts = [name for name, kind in zip(names, kinds, strict=True) if kind == "VARCHAR"]
    # One pass for all columns; a file of plain texts needs no other.
    odd = ", ".join(
        f"coalesce(bool_or(strlen({field}) <> length({field}) or {field} like ' %' or {field} like '% ' "
        f"or contains({field}, '  ') or contains({field}, chr(9))), false)"
        for field in (source.fields[name] for name in texts)
    )
    found = database.execute(f"select {odd} from {source.scan}").fetchall()[0] if texts else ()
    return [name for name, is_odd in zip(texts, found, strict=True) if is_odd]


def _renamed(field: str, others: Mapping[str, str]) -> str:
    """The SQL of a column with other texts. Blanks at the ends alone, as of fixed widths, need no list of texts."""
    if not others:
        return field
    trimmed = f"trim({field}, ' ')"
    cases = {text.strip(" "): other for text, other in others.items() if text.strip(" ") != other}
    if not cases:
        return trimmed
    listed = " ".join(f"when {literal(text)} then {literal(other)}" for text, other in cases.items())
    return f"(case {trimmed} {listed} else {trimmed} end)"
