"""Widths of sparse tables, against every table that has the published margins."""

from collections.abc import Iterator

import numpy as np
import pytest

from evidence import seeds
from safemargin.bounds import Targets, build_system, infer
from safemargin.bounds.programs import program_of
from safemargin.bounds.propagate import propagate
from safemargin.bounds.search import Search
from safemargin.bounds.targets import cells_asked, targets_of
from safemargin.bounds.widths import attain_widths, held_together
from safemargin.core import Onlooker, PublishedTable, frozen

ENOUGH = 1


def margins(table: np.ndarray) -> list[PublishedTable]:
    """The three two-way margins of a table, exactly."""
    published = []
    for summed, axes in ((2, "ab"), (1, "ac"), (0, "bc")):
        sums = table.sum(axis=summed)
        groups = tuple(
            tuple(frozenset([f"{axis}{c}"]) for c in range(n)) for axis, n in zip(axes, sums.shape, strict=True)
        )
        codes = frozen(np.indices(sums.shape).reshape(2, -1).T, 2)
        values, none = frozen(sums.ravel()), frozen(np.full(sums.size, -1))
        published.append(
            PublishedTable(axes, tuple(axes), groups, codes, (), none, values, values, ("exact",) * sums.size)
        )
    return published


def layers(rows: tuple[int, ...], columns: tuple[int, ...], room: np.ndarray) -> Iterator[np.ndarray]:
    """Every matrix with these sums of rows and columns and no entry above `room`."""
    if not rows:
        if not any(columns):
            yield np.zeros((0, len(columns)), dtype=np.int64)
        return

    def row(place: int, left: int) -> Iterator[list[int]]:
        if place == len(columns):
            if left == 0:
                yield []
            return
        for count in range(min(left, columns[place], int(room[0, place])) + 1):
            for others in row(place + 1, left - count):
                yield [count, *others]

    for first in row(0, rows[0]):
        for rest in layers(rows[1:], tuple(c - f for c, f in zip(columns, first, strict=True)), room[1:]):
            yield np.vstack([np.array([first], dtype=np.int64), rest])


def every_table(table: np.ndarray) -> np.ndarray:
    """Every table with the two-way margins of `table`, one layer of the last axis after the other."""
    tables = [(np.zeros((*table.shape[:2], 0), dtype=np.int64), table.sum(axis=2))]
    for layer in range(table.shape[2]):
        rows, columns = tuple(table[:, :, layer].sum(axis=1).tolist()), tuple(table[:, :, layer].sum(axis=0).tolist())
        tables = [
            (np.concatenate([done, chosen[:, :, None]], axis=2), left - chosen)
            for done, left in tables
            for chosen in layers(rows, columns, left)
        ]
    return np.stack([done for done, left in tables if not left.any()])


def drawn(seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.poisson(1.1 * generator.gamma(1.0, 1.0, (4, 3, 3)))


@pytest.mark.parametrize("seed", seeds(0, 6, 60))
def test_widths_are_those_of_all_tables(seed: int) -> None:
    table = drawn(seed)
    possible = every_table(table)
    least, most = possible.min(axis=0).ravel(), possible.max(axis=0).ravel()
    exposure = infer(margins(table), enough=ENOUGH)
    narrow = exposure.width.ravel() <= ENOUGH
    assert (narrow == (most - least <= ENOUGH)).all()
    assert (exposure.lower.ravel() <= least).all() and (exposure.upper.ravel() >= most).all()


def test_held_counts_show_only_what_some_table_attains() -> None:
    settled = 0
    for seed in seeds(100, 10, 60):
        table = drawn(seed)
        possible = every_table(table)
        system = build_system(margins(table), Onlooker())
        cells, cell_of = cells_asked(system, None)
        targets: Targets = targets_of(system, cell_of, len(cells))
        search = Search(targets, *propagate(system), ENOUGH, True)
        before = search.unsettled()
        attain_widths(
            system, search, program_of(system, search.low, search.high), np.random.default_rng(seed), lambda: None
        )
        least, most = possible.min(axis=0).ravel(), possible.max(axis=0).ravel()
        wide = search.wide
        assert not (wide & (most - least <= ENOUGH)).any()
        if search.tables:
            assert (search.inner_lower >= least).all() and (search.inner_upper <= most).all()
        settled += before - search.unsettled()
    assert settled > 20


def test_counts_held_together_leave_every_row_enough() -> None:
    """No row is asked for more than it has: one count, or several within half of it."""
    table = np.random.default_rng(5).poisson(1.5, (6, 5, 4))
    system = build_system(margins(table), Onlooker())
    wide_at = np.full(system.size, 3)
    held = held_together(system, system.low, wide_at, np.random.default_rng(0).permutation(system.size))
    raised = np.zeros(system.size, dtype=np.int64)
    raised[held] = 3
    many, sums, room = system.sums((raised > 0).astype(np.int64)), system.sums(raised), system.upper
    assert len(held) > 3
    assert (sums[many == 1] <= room[many == 1]).all() and (sums[many > 1] <= room[many > 1] // 2).all()
