"""Tables that are grouped by the engine itself, with labels that look the same as one."""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from safemargin.io.duck import DuckSource, literal
from safemargin.io.rows import MOST_LABELS
from safemargin.io.same_labels import plain_label, same_label, spelling_notes
from safemargin.io.spark import SparkFrame


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
            fields[name] = _renamed(field, _others(source.path, name, texts, (known or {}).get(name, ())))
    return source if fields == dict(source.fields) else replace(source, fields=fields)


def respelled_frame(table: SparkFrame, columns: Collection[str]) -> SparkFrame:
    """The same on a cluster: what comes here are the values of columns that hold more than plain texts."""
    names = [name for name in dict.fromkeys(columns) if table.kind(name) == "string"]
    keys = [table.column(name) for name in names]
    odd = [
        f"coalesce(bool_or(octet_length({key}) <> char_length({key}) or {key} like ' %' or {key} like '% ' "
        f"or instr({key}, '  ') > 0 or instr({key}, chr(9)) > 0), false)"
        for key in keys
    ]
    frame = table.frame
    found = frame.selectExpr(*odd).collect()[0] if odd else ()
    for name, key in (pair for pair, is_odd in zip(zip(names, keys, strict=True), found, strict=True) if is_odd):
        rows = frame.selectExpr(key).where(f"{key} is not null").distinct().limit(MOST_LABELS + 1).collect()
        texts = sorted(text for (text,) in rows)
        if len(texts) <= MOST_LABELS and (others := _others(table.path, name, texts)):
            frame = frame.replace(others, subset=[key])
    return table if frame is table.frame else replace(table, frame=frame)


def _others(path: Path, name: str, texts: Sequence[str], known: Iterable[str] = ()) -> dict[str, str]:
    """What each label is called that has another spelling, with a warning where two are one."""
    spelling = {same_label(text): text for text in known}
    others = {text: spelling.setdefault(same_label(text), plain_label(text)) for text in texts}
    for note in spelling_notes(name, texts):
        if note.endswith("one category"):
            warnings.warn(f"{path}: {note}", SpellingWarning, stacklevel=4)
    return {text: other for text, other in others.items() if text != other}


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
