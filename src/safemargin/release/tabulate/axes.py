"""Axes as a project declares them and a file shows them: categories in order, and the areas around them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from safemargin.core import JOINER, Axis, Hierarchy, InputError, IntArray
from safemargin.io import Profiles, check_columns, check_labels, hrc_parents, natural_order, read_sheet
from safemargin.release.sections import AxisSection


def build_axis(
    source: tuple[Path, str],
    name: str,
    section: AxisSection,
    seen: Iterable[str],
    nested: Mapping[str, str] | None = None,
) -> Axis:
    """The axis called `name` with its declared categories, or else those `seen`; `nested` comes from level columns.

    `source` is the file and the column that hold it, for messages.
    """
    where = f"{source[0]}: column {source[1]!r}: "
    categories = section.categories or tuple(sorted(set(seen), key=natural_order))
    for category in categories:
        if JOINER in category:
            raise InputError(
                f"{where}category {category!r} contains {JOINER!r}, which joins merged categories; rename it"
            )
    parents: Mapping[str, str] = nested or {}
    if section.parents is not None:
        parents = section.parents
        _check_children(where, name, categories, parents)
    if section.hierarchy is not None:
        parents = read_hierarchy(section.hierarchy)
    others = [read_hierarchy(path) for path in section.hierarchies or ()]
    for key, listed in (("apart", [one for pair in section.apart for one in pair]), ("weights", section.weights)):
        for category in listed:
            if category not in categories:
                raise InputError(f"{where}axes.{name}.{key}: there is no category {category!r}")
    apart = frozenset(frozenset(pair) for pair in section.apart)
    if any(len(pair) < 2 for pair in apart):
        raise InputError(f"{where}axes.{name}.apart: a category cannot be kept apart from itself")
    weights = dict(section.weights)
    try:
        hierarchy = Hierarchy.from_parents(name, categories, parents, *others) if parents or others else None
        return Axis(name, categories, section.ordered, hierarchy, apart, weights)
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def check_seen(path: Path, column: str, section: AxisSection, seen: Iterable[str]) -> None:
    """Refuse values that cannot be categories of an axis, or are none of those declared."""
    values = list(seen)
    check_labels(path, column, len(values))
    if "" in values:
        raise InputError(f"{path}: column {column!r} has empty values; every row needs a category")
    if section.categories is None:
        return
    declared = set(section.categories)
    for value in values:
        if value not in declared:
            known = ", ".join(section.categories[:10]) + (", ..." if len(declared) > 10 else "")
            raise InputError(f"{path}: column {column!r}: unknown category {value!r}; declared are {known}")


def recode(labels: Iterable[str], codes: IntArray, places: Mapping[str, int]) -> IntArray:
    """`codes` into `labels` turned into codes by `places`."""
    return np.array([places[label] for label in labels], dtype=np.int64)[codes]


def read_hierarchy(path: Path) -> dict[str, str]:
    """Parents by child from an `.hrc` file, or one with columns `child` and `parent`; an empty parent means none."""
    if path.suffix.lower() == ".hrc":
        return hrc_parents(path)
    sheet = read_sheet(path)
    check_columns(path, sheet.columns, ("child", "parent"))
    parents: dict[str, str] = {}
    for row, (child, parent) in enumerate(zip(sheet.columns["child"], sheet.columns["parent"], strict=True)):
        if not child:
            raise sheet.fault(row, "child", "is empty")
        if parents.get(child, parent) != parent:
            raise sheet.fault(row, "parent", f"but {child!r} already has the parent {parents[child]!r}")
        parents[child] = parent
    return {child: parent for child, parent in parents.items() if parent}


def nest(path: Path, profiles: Profiles, column: str, levels: tuple[str, ...]) -> dict[str, str]:
    """Parents by category from columns with wider areas, each of which must depend on the one before it.

    An area called like something inside it gets its column's name added.
    """
    parents: dict[str, str] = {}
    labels, codes = profiles.column(column)
    names = dict(zip(labels, labels, strict=True))
    for level in levels:
        wider, wider_codes = profiles.column(level)
        if "" in wider:
            raise InputError(f"{path}: column {level!r} has empty values; every row needs an area")
        taken = set(names.values()) | set(parents)
        areas = {area: f"{area} ({level})" if area in taken else area for area in wider}
        parent = np.zeros(len(labels), dtype=np.int64)
        parent[codes] = wider_codes
        for row in np.flatnonzero(parent[codes] != wider_codes):
            both = sorted((wider[wider_codes[row]], wider[parent[codes[row]]]))
            raise InputError(
                f"{path}: column {column!r}: {labels[codes[row]]!r} lies both in {both[0]!r} and in {both[1]!r} "
                f"of column {level!r}; every category needs one parent"
            )
        parents |= {names[labels[inner]]: areas[wider[outer]] for inner, outer in enumerate(parent.tolist())}
        column, labels, codes, names = level, wider, wider_codes, areas
    return parents


def _check_children(where: str, name: str, categories: tuple[str, ...], parents: Mapping[str, str]) -> None:
    known = {*categories, *parents.values()}
    for child in parents:
        if child not in known:
            raise InputError(f"{where}axes.{name}.parents.{child}: there is no category or area {child!r}")
