"""Many axes: tables mended by sets of changes are possible ones, and certificates agree with all tables there are."""

from itertools import combinations, product

import numpy as np
import pytest

from evidence import seeds
from safemargin.bounds.build import build_system
from safemargin.bounds.certify import certify
from safemargin.bounds.first_table import some_table
from safemargin.bounds.mend import Birthday, MarginRepair, can_mend, within_reach
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.system import System
from safemargin.core import Axis, IntArray, Schema, Table, Tally, Target, exact_margins, frozen, onlooker_with_roll


def population(seed: int, axes: int, people: int, categories: int, options: int) -> Table:
    """People with random categories and answers, as the office holds them."""
    rng = np.random.default_rng([seed, axes, people])
    codes, place = np.unique(rng.integers(0, categories, (people, axes)), axis=0, return_inverse=True)
    answers = rng.choice(options, size=people, p=rng.dirichlet(np.full(options, 4.0)))
    answers[:options] = range(options)  # an option that nobody chose is no secret
    votes = np.zeros((len(codes), options), dtype=np.int64)
    np.add.at(votes, (place.ravel(), answers), 1)
    names = tuple(f"a{number}" for number in range(axes))
    schema = Schema(tuple(Axis(name, tuple("xyzuvw"[:categories])) for name in names), tuple("ABC"[:options]))
    tally, roll = Tally(names, frozen(codes, axes), frozen(votes, options)), frozen(votes.sum(axis=1), 1)
    return Table(schema, (tally,), (Tally(names, frozen(codes, axes), roll),))


def every_table(table: Table) -> IntArray:
    """All answers of all profiles with the same counts in every category: tables x profiles x options."""
    tally, people = table.votes[0], table.roll[0].counts[:, 0]
    options = tally.counts.shape[1]
    shares = [[c for c in product(range(n + 1), repeat=options) if sum(c) == n] for n in people.tolist()]
    tables = np.zeros((1, 0, options), dtype=np.int64)
    for profile, choices in enumerate(shares):
        tables = np.concatenate(
            [
                np.repeat(tables, len(choices), axis=0),
                np.tile(np.array(choices), (len(tables), 1))[:, None, :],
            ],
            axis=1,
        )
        for axis, category in product(range(tally.codes.shape[1]), range(6)):
            inside = tally.codes[:, axis] == category
            most, sums = tally.counts[inside].sum(axis=0), tables[:, inside[: profile + 1]].sum(axis=1)
            last = not inside[profile + 1 :].any()
            tables = tables[((sums == most) if last else (sums <= most)).all(axis=1)]
    return tables


def disclosed(table: Table, tables: IntArray, target: Target) -> set[tuple[tuple[tuple[str, str], ...], int]]:
    """Cells of all sets of axes with a share that all tables put outside the target, or know to within `tau`."""
    codes, people = table.roll[0].codes, table.roll[0].counts[:, 0]
    limits = target.limits(table.totals.tolist(), int(people.sum()))
    found = set()
    for size in range(1, codes.shape[1] + 1):
        for axes in combinations(range(codes.shape[1]), size):
            for cell in {tuple(row) for row in codes[:, axes].tolist()}:
                inside = (codes[:, axes] == cell).all(axis=1)
                number, sums = int(people[inside].sum()), tables[:, inside].sum(axis=1)
                for option, (floor, ceiling) in enumerate(zip(limits.floors, limits.ceilings, strict=True)):
                    low, high = int(sums[:, option].min()), int(sums[:, option].max())
                    contained = floor * number <= low and high <= ceiling * number and number >= target.kappa
                    outside = high < floor * number or low > ceiling * number
                    if not contained and (outside or high - low <= min(target.tau, number // 4)):
                        names = [
                            (table.schema.names[axis], "xyzuvw"[code]) for axis, code in zip(axes, cell, strict=True)
                        ]
                        found.add((tuple(names), option))
    return found


def known_of(table: Table) -> System:
    return build_system(exact_margins(table), onlooker_with_roll(table, "joint"))


def small(seed: int) -> Table:
    rng = np.random.default_rng([seed, 41])
    options = int(rng.choice([2, 2, 3]))
    people = int(rng.integers(9, 15)) if options == 2 else int(rng.integers(7, 10))
    return population(seed, int(rng.integers(5, 8)), people, int(rng.choice([2, 2, 3])), options)


def as_listed(system: System, table: Table, counts: IntArray) -> IntArray:
    """A table of the system in the order of the profiles of the office."""
    order = {tuple(system.cell(row)[name] for name in table.schema.names): row for row in range(len(system.codes))}
    cells = [tuple("xyzuvw"[code] for code in row) for row in table.votes[0].codes.tolist()]
    return system.listed(counts)[[order[cell] for cell in cells]]


@pytest.mark.parametrize("seed", seeds(0, 8, 400))
def test_certificates_agree_with_every_possible_table(seed: int) -> None:
    table = small(seed)
    tables, system = every_table(table), known_of(table)
    target = Target(beta=0.05, kappa=3, tau=seed % 2)
    limits = target.limits(table.totals.tolist(), int(table.roll[0].counts.sum()))
    proof, truth = certify(system, limits), disclosed(table, tables, target)
    possible = {each.tobytes() for each in tables}
    assert all(as_listed(system, table, counts).tobytes() in possible for counts in proof.tables)
    assert all((tuple(sorted(cell.cell.items())), cell.option) in truth for cell in proof.exposed), seed
    if proof.holds and not proof.linear:
        most = proof.checked["largest set of fewer axes"]
        checked = {(cell, o) for cell, o in truth if 2 <= len(cell) <= most or len(cell) == len(table.schema.names)}
        assert not checked, seed


@pytest.mark.parametrize("options", [2, 3])
def test_mended_tables_are_possible_ones(options: int) -> None:
    found = 0
    for seed in seeds(0, 8, 100):
        table = small(seed) if options == 2 else population(seed, 5, 9, 2, 3)
        system = known_of(table)
        rounder = Rounder(system)
        possible = {each.tobytes() for each in every_table(table)}
        assert rounder.possible
        rng = np.random.default_rng(seed)
        mender = MarginRepair(system, rounder.exchanges, rounder.least, rng)
        for _ in range(4):
            assert system.people is not None
            counts = mender.mend(
                rounder.near(rng.random(system.size) * np.repeat(system.people, system.n_free_options))
            )
            if counts is not None:
                assert as_listed(system, table, counts).tobytes() in possible
                found += 1
    assert found >= 8


def test_sets_of_changes_leave_every_margin_or_mend_it() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (10, 400))
    keys = rng.integers(0, 2**64, size=(10, 3), dtype=np.uint64)[np.arange(10)[:, None], codes]
    lost = [3, 7], [200, 300]  # what two people take up and two others drop is to be made up for
    goal = keys[:, lost[0]].sum(axis=1, dtype=np.uint64) - keys[:, lost[1]].sum(axis=1, dtype=np.uint64)
    sets = Birthday(keys, np.arange(10, 200), np.arange(205, 400), goal, rng).search(2**14)
    assert len(sets.taken)
    for taken, dropped in zip(sets.taken, sets.dropped, strict=True):
        assert len(set(taken.tolist())) == len(taken)
        for block in codes:
            change = np.bincount(block[taken], minlength=3) - np.bincount(block[dropped], minlength=3)
            assert (change == np.bincount(block[lost[0]], minlength=3) - np.bincount(block[lost[1]], minlength=3)).all()


def test_goals_out_of_reach_have_no_sets() -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 2**64, size=(40, 30), dtype=np.uint64)
    goal = np.ones(40, dtype=np.uint64)
    assert not len(Birthday(keys, np.arange(15), np.arange(15, 30), goal, rng).search(2**12).taken)
    assert not len(Birthday(keys, np.arange(0), np.arange(30), goal, rng).search(2**12).taken)


@pytest.mark.slow
@pytest.mark.parametrize("options", [2, 3])
def test_all_profiles_of_twelve_axes_are_shown_open_by_integer_tables(options: int) -> None:
    table = population(5, 12, 600, 3, options)
    system = known_of(table)
    limits = Target(tau=0, kappa=10).limits(table.totals.tolist(), 600)
    proof = certify(system, limits)
    assert proof.holds
    assert proof.linear == 0
    assert all(system.admits(counts) for counts in proof.tables)
    listed = np.stack([system.listed(counts) for counts in proof.tables])
    if options == 2:
        assert (listed.min(axis=0) < listed.max(axis=0)).all()
    else:  # of three, a table in which nobody of a profile chose an option is enough
        assert (listed.min(axis=0) == 0).all()
    rounder = Rounder(system)
    assert can_mend(rounder.ranges, rounder.exchanges)
    some = some_table(system)
    assert some is not None
    assert system.admits(some)


def test_reach_counts_axes_by_the_roll() -> None:
    rng = np.random.default_rng(1)
    many = rng.integers(0, 3, (40, 500))
    kept = within_reach(many, np.random.default_rng(2))
    assert 10 <= len(kept) < 30
    assert kept[:8] == list(range(8))
    assert within_reach(many[:8], rng) == list(range(8))
    dense = np.array(list(product(range(2), repeat=10))).T
    assert within_reach(dense, rng) == list(range(10))
    wide = np.concatenate([many[:10], [np.arange(500)]])
    assert within_reach(wide, rng) == list(range(11))
