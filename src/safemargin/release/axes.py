"""Axes as a project declares them and files show them, and the roll: who there is."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from safemargin.core import (
    JOINER,
    Axis,
    Hierarchy,
    InputError,
    IntArray,
    Tally,
    frozen,
    group_sums,
    row_keys,
)
from safemargin.io import (
    Profiles,
    check_columns,
    check_labels,
    hrc_parents,
    plain_label,
    read_sheet,
)
from safemargin.release.coding import Coding, coded


class AxisOptions(Protocol):
    """What a project file says about an axis (`AxisSection` of the project)."""

    @property
    def categories(self) -> tuple[str, ...] | None: ...
    @property
    def is_ordered(self) -> bool: ...
    @property
    def parents(self) -> Mapping[str, str] | None: ...
    @property
    def hierarchy(self) -> Path | None: ...
    @property
    def hierarchies(self) -> tuple[Path, ...] | None: ...
    @property
    def apart(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def keep(self) -> tuple[str, ...]: ...
    @property
    def join(self) -> tuple[tuple[str, ...], ...]: ...
    @property
    def weights(self) -> Mapping[str, int]: ...
    @property
    def epsilon(self) -> float | None: ...


class AxesOptions(Protocol):
    """The axes of a project, and the column of the data that holds each."""

    @property
    def axes(self) -> Mapping[str, AxisOptions]: ...
    def column(self, axis: str) -> str: ...
    def coding(self, axis: str) -> Coding: ...


def build_axis(
    source: tuple[Path, str],
    name: str,
    section: AxisOptions,
    seen: Iterable[str],
    coding: Coding,
    nested: Mapping[str, str] | None = None,
) -> Axis:
    """The axis called `name` with its declared categories, or else those `seen`; `nested` comes from level columns.

    `source` is the file and the column that hold it, for messages.
    """
    where = f"{source[0]}: column {source[1]!r}: "
    categories = coding.categories(section.categories, seen)
    for category in categories:
        if JOINER in category:
            raise InputError(
                f"{where}category {category!r} contains {JOINER!r}, which joins merged categories; rename it"
            )
    parents: Mapping[str, str] = nested or {}
    if section.parents is not None:
        parents = _labelled(section.parents, coding)
        _check_children(where, name, categories, parents)
    if section.hierarchy is not None:
        parents = _labelled(read_hierarchy(section.hierarchy), coding)
    others = [_labelled(read_hierarchy(path), coding) for path in section.hierarchies or ()]
    pairs = [[coding.label(category) for category in pair] for pair in section.apart]
    weights = {coding.label(category): weight for category, weight in section.weights.items()}
    kept = [coding.label(category) for category in section.keep]
    joined = [coding.label(category) for group in section.join for category in group]
    named = {
        "apart": [category for pair in pairs for category in pair],
        "weights": weights,
        "keep": kept,
        "join": joined,
    }
    for key, listed in named.items():
        for category in listed:
            if category not in categories:
                raise InputError(f"{where}axes.{name}.{key}: there is no category {category!r}")
    apart = frozenset(frozenset(pair) for pair in pairs)
    # A category that is kept is apart from every other: no block of groups holds it, whatever the others need.
    apart |= {frozenset([category, other]) for category in kept for other in categories if other != category}
    if any(len(pair) < 2 for pair in apart):
        raise InputError(f"{where}axes.{name}.apart: a category cannot be kept apart from itself")
    try:
        hierarchy = Hierarchy.from_parents(name, categories, parents, *others) if parents or others else None
        return Axis(name, categories, section.is_ordered, hierarchy, apart, weights, section.epsilon)
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def _labelled(parents: Mapping[str, str], coding: Coding) -> dict[str, str]:
    """Parents under the names that are published; categories of one name must lie in one area."""
    named: dict[str, str] = {}
    for child, parent in parents.items():
        above = coding.label(parent)
        if named.setdefault(coding.label(child), above) != above:
            both = f"{named[coding.label(child)]!r} and {above!r}"
            raise InputError(f"{coding.label(child)!r} lies in {both}; every category needs one parent")
    return named


def seen_categories(
    path: Path, column: str, section: AxisOptions, coding: Coding, texts: Sequence[str]
) -> tuple[str, ...]:
    """The category of every text in a column; refuse what cannot be one, or is none of those declared."""
    if not coding.bands:
        check_labels(path, column, len(texts))
    advice = "; list it in data.missing if it means none" if coding.bands else ""
    values = coded(path, column, texts, coding.category, advice)
    if "" in values:
        empty = next(text for text, value in zip(texts, values, strict=True) if not value)
        said = f"has the value {empty!r}, which means none" if empty else "has empty values"
        raise InputError(f"{path}: column {column!r} {said}; every row needs a category, or set missing of the axis")
    if section.categories is None:
        return values
    declared = coding.categories(section.categories, ())
    for value in values:
        if value not in declared:
            known = ", ".join(declared[:10]) + (", ..." if len(declared) > 10 else "")
            raise InputError(f"{path}: column {column!r}: unknown category {value!r}; declared are {known}")
    return values


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
    columns = (map(plain_label, sheet.columns[name]) for name in ("child", "parent"))
    for row, (child, parent) in enumerate(zip(*columns, strict=True)):
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


def occupied(axes: tuple[str, ...], codes: IntArray, counts: IntArray, sizes: list[int]) -> Tally:
    """Counts summed by distinct codes, in their order, without the combinations that nobody has."""
    first, sums = group_sums(row_keys(codes, sizes), counts)
    somebody = sums.any(axis=1)
    return Tally(axes, frozen(codes[first[somebody]], len(axes)), frozen(sums[somebody], counts.shape[1]))
