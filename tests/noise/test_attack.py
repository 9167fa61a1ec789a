"""Attacks on noisy tables, held against the truth of simulated releases with fixed seeds."""

import functools
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import in_process
from safemargin.core import Generator, InputError, IntArray, PublishedTable, frozen, numpy_generator
from safemargin.io import read_tidy
from safemargin.noise.attack import attack
from safemargin.noise.bounded import exploiting, revealing
from safemargin.noise.calculators import gaussian_success, reveal_chance, reveal_risk
from safemargin.noise.differencing import changes, nested
from safemargin.noise.laws import keyed_gap_law
from safemargin.noise.layout import Recovered, estimated_variance, lay_out
from safemargin.noise.linear import averaged, averaging, fitting
from safemargin.noise.noise_law import named_law
from safemargin.noise.perturb import perturb
from safemargin.samplers import SIMULATED, bounded_law, noise_of, reference_ptable, request

pytestmark = pytest.mark.full


@functools.cache
def _categories(axis: str, size: int) -> tuple[frozenset[str], ...]:
    return tuple(frozenset([f"{axis}{at}"]) for at in range(size))


def noisy_table(name: str, axes: Sequence[str], counts: IntArray, printed: IntArray | None) -> PublishedTable:
    """All cells of an array of counts, exact or as printed with noise."""
    codes = np.stack(np.unravel_index(np.arange(counts.size), counts.shape), axis=1) if axes else np.zeros((1, 0), int)
    exact = printed is None
    return PublishedTable(
        name,
        tuple(axes),
        tuple(_categories(axis, size) for axis, size in zip(axes, counts.shape, strict=True)),
        frozen(codes, len(axes)),
        (),
        frozen(np.full(counts.size, -1)),
        frozen(counts.ravel() if exact else np.zeros(counts.size)),
        frozen(counts.ravel() if exact else np.full(counts.size, 2**53)),
        ("exact" if exact else "noised",) * counts.size,
        noisy=None if printed is None else frozen(printed.ravel()),
    )


def drawn(rng: Generator, shape: Sequence[int], bound: int, variance: float) -> IntArray:
    law = bounded_law(bound, variance)
    return rng.choice(np.arange(-bound, bound + 1), p=law, size=shape).astype(np.int64)


def release(
    rng: Generator, joint: IntArray, axes: str, bound: int, variance: float, tables: Sequence[str]
) -> tuple[list[PublishedTable], dict[str, IntArray]]:
    """Margins of a table with the same noise wherever a margin is printed, and the true margins."""
    found, truth = [], {}
    for kept in tables:
        true = joint.sum(axis=tuple(at for at, axis in enumerate(axes) if axis not in kept))
        truth[kept] = true
        found.append(noisy_table(kept or "total", list(kept), true, true + drawn(rng, true.shape, bound, variance)))
    return found, truth


def true_count(truth: dict[str, IntArray], one: Recovered) -> int:
    kept = "".join(axis for axis, _ in one.cell)
    return int(truth[kept][tuple(int(name.removeprefix(axis)) for axis, name in one.cell)])


def every_margin(axes: str) -> list[str]:
    return ["".join(chosen) for size in range(len(axes) + 1) for chosen in itertools.combinations(axes, size)]


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "paper"), [(10, 741), (5, 725)])
def test_averaging_succeeds_as_predicted(bound: int, paper: int) -> None:
    """A thousand areas, each broken down by a hundred variables of ten categories: t = 100, k = 1000, k/t^2 = 0.1.

    The paper finds 741 and 725 of 1,000 means right where 73.6 % are predicted. Here 2,000 are tried; five standard
    deviations are allowed, and what whole sums change (0.6 %).
    """
    rng = numpy_generator(bound)
    areas, right, ratios = 1000, 0, set()
    for _ in range(2):
        true = rng.integers(20, 200, size=(areas, 10))
        tables = []
        for place in range(100):
            counts = rng.permuted(true, axis=1)
            tables.append(
                noisy_table(f"{place}", ["a", f"v{place}"], counts, counts + drawn(rng, counts.shape, bound, 2))
            )
        means = averaged(lay_out(tables), ["a"])
        order = np.argsort(means.codes[:, 0])
        right += int((np.abs(means.means[order] - true.sum(axis=1)) < 0.5).sum())
        ratios |= set(means.ratios.round(12).tolist())
    predicted = gaussian_success(0.1, 2)
    allowed = 5 * math.sqrt(predicted * (1 - predicted) / 2000) + 0.006
    assert ratios == {0.1}
    assert abs(right / 2000 - predicted) < allowed
    assert abs(paper / 1000 - predicted) < 0.03


def test_confidence_is_what_it_says() -> None:
    """Among counts that averaging is x % sure of, x % are right."""
    rng = numpy_generator(3)
    sure, right = [], []
    for _ in range(30):
        joint = rng.integers(5, 60, size=(4, 3, 5, 2))
        tables, truth = release(rng, joint, "abcd", 5, 0.5, every_margin("abcd"))
        for one in averaging(lay_out(tables), 0.5):
            sure.append(one.confidence)
            right.append(one.value == true_count(truth, one))
    trials = len(sure)
    spread = math.sqrt(sum(each * (1 - each) for each in sure))
    assert trials > 5000 and abs(sum(right) - sum(sure)) < 5 * spread
    surest = [one for one, each in zip(right, sure, strict=True) if each > 0.7]
    assert len(surest) > 300 and np.mean(surest) > 0.7


def test_fitting_is_least_squares_and_as_sure_as_it_is_right() -> None:
    """The estimates of a release are those of least squares, and the guesses right as often as they should be."""
    rng = numpy_generator(13)
    sure, right, means = [], [], []
    for attempt in range(25):
        joint = rng.integers(5, 60, size=(4, 3, 2))
        tables, truth = release(rng, joint, "abc", 5, 0.5, every_margin("abc"))
        found = fitting(lay_out(tables), 0.5)
        for one in found:
            sure.append(one.confidence)
            right.append(one.value == true_count(truth, one))
        means += [one.value == true_count(truth, one) for one in averaging(lay_out(tables), 0.5)]
        if attempt == 0:
            rows, printed = [], []
            for table in tables:
                assert table.noisy is not None
                printed += table.noisy.tolist()
                for cell in np.ndindex(tuple(len(groups) for groups in table.groups)):
                    row = np.zeros(joint.shape)
                    row[tuple(cell[table.axes.index(a)] if a in table.axes else slice(None) for a in "abc")] = 1
                    rows.append(row.ravel())
            solved = np.linalg.lstsq(np.array(rows), np.array(printed), rcond=None)[0].reshape(joint.shape)
            finest = {one.cell: one.value for one in found if len(one.cell) == 3}
            assert [max(0, value) for value in np.rint(solved).ravel().astype(int)] == list(finest.values())
    assert abs(sum(right) - sum(sure)) < 5 * math.sqrt(sum(each * (1 - each) for each in sure))
    assert sum(right) > sum(means), "it beats averaging"


def test_the_variance_is_estimated_from_what_is_printed() -> None:
    rng = numpy_generator(8)
    tables, _ = release(rng, rng.integers(5, 60, size=(10, 8, 6)), "abc", 5, 2.0, every_margin("abc"))
    assert estimated_variance(lay_out(tables)) == pytest.approx(2.0, rel=0.2)


def test_a_margin_printed_twice_with_the_same_noise_counts_once() -> None:
    rng = numpy_generator(4)
    tables, _ = release(rng, rng.integers(5, 60, size=(3, 2)), "ab", 3, 1.0, ["a", "ab"])
    again = [*tables, tables[0]]
    assert averaged(lay_out(again), ["a"]).ratios == pytest.approx(averaged(lay_out(tables), ["a"]).ratios)
    fresh, _ = release(rng, rng.integers(5, 60, size=(3, 2)), "ab", 3, 1.0, ["a"])
    assert (averaged(lay_out([*tables, *fresh]), ["a"]).ratios < averaged(lay_out(tables), ["a"]).ratios).all()


def test_exact_counts_need_no_mean() -> None:
    rng = numpy_generator(4)
    joint = rng.integers(5, 60, size=(3, 2))
    tables, _ = release(rng, joint, "ab", 3, 1.0, ["ab"])
    exact = noisy_table("a", ["a"], joint.sum(axis=1), None)
    layout = lay_out([exact, *tables])
    assert averaged(layout, ["a"]).means.tolist() == joint.sum(axis=1).tolist()
    assert {one.cell for one in averaging(layout, 1.0, [("a",)])} == set()


def test_revealing_finds_the_bound_as_often_as_predicted() -> None:
    """The bound is disclosed by 20 counts with two parts each at the rate of Eq. 11, and never overstated."""
    bound, variance, tries = 2, 1.0, 100
    rng = numpy_generator(6)
    disclosed = 0
    for _ in range(tries):
        joint = rng.integers(10, 50, size=(20, 2))
        tables, _ = release(rng, joint, "ab", bound, variance, ["a", "ab"])
        found = revealing(lay_out(tables), variance)
        assert found.least <= bound and found.tuples == 20
        disclosed += found.least == bound
    predicted = reveal_risk(reveal_chance(bound, variance), 20)
    assert abs(disclosed - tries * predicted) < 5 * math.sqrt(tries * predicted * (1 - predicted))


def test_much_noise_reveals_a_bound_with_confidence() -> None:
    rng = numpy_generator(2)
    tables, _ = release(rng, rng.integers(10, 50, size=(5000, 2)), "ab", 2, 1.5, ["a", "ab"])
    found = revealing(lay_out(tables), 1.5)
    assert (found.least, found.tuples) == (2, 5000) and found.confidence > 0.99


def test_what_exploiting_recovers_is_true() -> None:
    rng = numpy_generator(12)
    total = 0
    for _ in range(40):
        joint = rng.integers(0, 30, size=(30, 2))
        tables, truth = release(rng, joint, "ab", 2, 1.9, ["a", "ab"])
        found = exploiting(lay_out(tables), 2)
        assert all(one.value == true_count(truth, one) and one.confidence == 1 for one in found)
        total += len(found)
    assert total > 50


def test_the_example_of_the_paper() -> None:
    """F = 3, M = 2 and T = 11 with a bound of 2 are 5, 4 and 9."""
    parts = noisy_table("sex", ["s"], np.array([5, 4]), np.array([3, 2]))
    layout = lay_out([parts, noisy_table("total", [], np.array(9), np.array(11))])
    assert sorted(one.value for one in exploiting(layout, 2)) == [4, 5, 9]
    assert revealing(layout, 1.0).least == 2
    with pytest.raises(InputError, match="the nearest bound is larger"):
        exploiting(layout, 1)


def merged(table: PublishedTable, groups: Sequence[str]) -> PublishedTable:
    return PublishedTable(
        table.name,
        table.axes,
        (tuple(frozenset(group.split(" | ")) for group in groups),),
        *(table.codes, table.options, table.option, table.lower, table.upper, table.status),
        noisy=table.noisy,
    )


def test_nested_categories_give_their_difference() -> None:
    wide = merged(noisy_table("wide", ["a"], np.array([30, 5]), np.array([31, 5])), ["x | y", "z"])
    narrow = merged(noisy_table("narrow", ["a"], np.array([28, 5]), np.array([28, 6])), ["x", "z"])
    (one,) = nested(lay_out([wide, narrow]), 0.25)
    assert (one.labels, one.value) == ({"a": "y"}, 3)
    law = bounded_law(9, 0.25)  # a difference of two is right if both noises agree
    assert one.confidence == pytest.approx(float(law @ law), rel=1e-6)


def test_two_releases_of_almost_the_same_people() -> None:
    """One person comes. With the same noise for the same people, all that changes is theirs, and it is averaged."""
    rng = numpy_generator(21)
    tries, hits, claims = 80, 0, 0.0
    for _ in range(tries):
        joint = rng.integers(5, 40, size=(6, 2, 4))
        later = joint.copy()
        later[2, 1, 3] += 1
        before, then = release(rng, joint, "abc", 5, 0.5, every_margin("abc"))
        fresh, truth = release(rng, later, "abc", 5, 0.5, every_margin("abc"))
        now = []
        for kept, old, new in zip(truth, before, fresh, strict=True):
            assert old.noisy is not None and new.noisy is not None
            printed = np.where((truth[kept] != then[kept]).ravel(), new.noisy, old.noisy)
            now.append(noisy_table(old.name, old.axes, truth[kept], printed))
        for one in changes(lay_out(now), lay_out(before), named_law("gaussian", 0.5)):
            mine = {"a": "a2", "b": "b1", "c": "c3"}
            assert all(mine[axis] == name for axis, name in one.cell), "nothing is claimed where nothing changed"
            if one.cell == (("b", "b1"),):
                hits += one.value == 1
                claims += one.confidence
    assert abs(hits - claims) < 5 * math.sqrt(tries) / 2
    assert hits > 0.5 * tries


def test_releases_must_have_the_same_cells() -> None:
    one = lay_out([noisy_table("a", ["a"], np.array([4, 5]), np.array([4, 6]))])
    other = lay_out([noisy_table("b", ["b"], np.array([4, 5]), np.array([4, 6]))])
    with pytest.raises(InputError, match="different categories"):
        changes(one, other, named_law("gaussian", 1.0))


def test_files_with_noise_are_read(tmp_path: Path) -> None:
    path = tmp_path / "sex.csv"
    path.write_text("sex,count,status\nF,-1,noised\nM,7,noised\nX,3,exact\n")
    table = read_tidy(path)
    assert table.noisy is not None and table.noisy.tolist() == [-1, 7, 0]
    layout = lay_out([table])
    assert layout.blocks[0].values.tolist() == [-1, 7, 3] and layout.blocks[0].noised.tolist() == [1, 1, 0]
    path.write_text("sex,count,status\nF,1.5,noised\nM,7,noised\n")
    assert read_tidy(path).noisy is None
    with pytest.raises(InputError, match="no table has noisy counts"):
        lay_out([read_tidy(path)])


def test_what_cannot_be_averaged_is_named() -> None:
    layout = lay_out([noisy_table("a", ["a"], np.array([4, 5]), np.array([4, 6]))])
    with pytest.raises(InputError, match="there is no axis 'z'"):
        averaged(layout, ["z"])
    with pytest.raises(InputError, match="too few to infer the variance"):
        estimated_variance(layout)
    assert revealing(layout, 1.0).tuples == 0


def test_all_attacks_together_against_the_truth() -> None:
    rng = numpy_generator(30)
    tables, truth = release(rng, rng.integers(3, 60, size=(6, 2, 3, 4)), "abcd", 3, 0.2, every_margin("abcd"))
    found = attack(tables)
    assert found.estimated and found.variance == pytest.approx(0.2, rel=0.4)
    assert found.revealed.least <= 3
    sure = found.sure(0.9)
    right = sum(one.value == true_count(truth, one) for one in sure)
    assert len(sure) > 20 and right / len(sure) > 0.85
    assert list(found.attacks) == ["averaging", "fitting", "exploiting", "differencing", "successive"]
    with pytest.raises(InputError, match="bound = 0: does not explain the tables"):
        attack(tables, bound=0)
    with pytest.raises(InputError, match="variance = 0: must be positive"):
        attack(tables, variance=0)


def written(folder: Path, tables: Sequence[PublishedTable], truth: dict[str, IntArray] | None = None) -> list[Path]:
    found = []
    for table in tables:
        kept = "" if table.name == "total" else table.name
        rows = [",".join([*table.axes, "count", "status"])]
        for row in range(len(table.lower)):
            assert table.noisy is not None
            count = table.noisy[row] if truth is None else truth[kept].ravel()[row]
            status = "noised" if truth is None else "exact"
            rows.append(",".join([*table.cell(row).values(), str(count), status]))
        found.append(folder / f"{table.name}.csv")
        folder.mkdir(exist_ok=True)
        found[-1].write_text("\n".join(rows) + "\n")
    return found


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = in_process(monkeypatch, capsys)
    rng = numpy_generator(30)
    tables, truth = release(rng, rng.integers(3, 60, size=(6, 2, 3, 4)), "abcd", 3, 0.2, every_margin("abcd"))
    files, true = written(tmp_path / "noisy", tables), written(tmp_path / "true", tables, truth)
    given = [part for path in true for part in ("--truth", path)]
    ran = run("noise", "attack", *files, *given, "--variance", "0.2", "--json")
    document: Any = ran.document
    assert ran.code == 1 and document["value"] > 5
    sure = [one for one in document["details"]["attacks"]["averaging"] if one["confidence"] >= 0.95]
    assert sum(one["value"] == one["true"] for one in sure) >= 0.9 * len(sure)
    shown = run("noise", "attack", *files, *given, "--limit", "2")
    assert "estimated from the tables" in shown.out and "of all guesses should be right" in shown.out
    assert run("noise", "attack", *files, "--target", "a", "--target", "a,b", "--confidence", "1").code in (0, 1)
    assert "confidence = 2" in run("noise", "attack", *files, "--confidence", "2").err
    before = [part for path in files for part in ("--before", path)]
    same = run("noise", "attack", *files, *before, "--variance", "0.2", "--json").document["details"]
    assert same["attacks"]["changes"] == []  # type: ignore[index]
    known = run("noise", "attack", *files, "--variance", "0.2", "--bound", "3", "--limit", "1")
    assert known.code == 1 and "disclosed with 95 % confidence" in known.out and "exploiting: " in known.out
    assert "more" in known.out
    page = attack(files, variance=0.2).to_html()
    assert "Attacks on noisy tables" in page and all(f"{name}: " in page for name in ("averaging", "differencing"))


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_noise_by_keys_that_add_up(parts: int) -> None:
    """The law of a total less its parts, against drawn keys; totals of two parts are never right."""
    rng = numpy_generator(parts)
    law = bounded_law(5, 2.0)
    ends = np.cumsum(law)
    ends[-1] = 1
    keys = rng.random((100_000, parts))
    noise = np.searchsorted(ends, keys, side="right") - 5
    whole = np.searchsorted(ends, keys.sum(axis=1) % 1, side="right") - 5
    seen = np.bincount(whole - noise.sum(axis=1) + 5 * (parts + 1), minlength=10 * (parts + 1) + 1) / len(keys)
    expected = keyed_gap_law(law, parts)
    assert np.abs(seen - expected).max() < 5 * math.sqrt(0.25 / len(keys)) + 0.002
    if parts == 2:
        assert seen[15] == 0, "independent noise is right in 16 %"


def test_keys_that_add_up_are_recognised_and_disclose_no_wrong_bound() -> None:
    rng = numpy_generator(17)
    table = reference_ptable(request(5, 2))
    joint = rng.integers(20, 60, size=(600, 2))
    keys = rng.integers(0, SIMULATED.modulus, size=joint.shape)
    parts = noisy_table("ab", ["a", "b"], joint, joint + noise_of(table, joint, keys, SIMULATED))
    total = joint.sum(axis=1)
    whole = noisy_table("a", ["a"], total, total + noise_of(table, total, keys.sum(axis=1), SIMULATED))
    found = revealing(lay_out([whole, parts]), 2.0)
    assert found.keyed > 0.99 and found.least < 5 and found.confidence < 0.5
    fresh, _ = release(rng, joint, "ab", 5, 2.0, ["a", "ab"])
    assert revealing(lay_out(fresh), 2.0).keyed < 0.01


def counted_by(names: Sequence[str], groups: Sequence[str], values: Sequence[int]) -> PublishedTable:
    """A table with one axis whose categories may be merged, all counts noised."""
    table = noisy_table(" ".join(names), [names[0]], np.array(values), np.array(values))
    return merged(table, groups)


def test_groups_of_different_width_on_one_axis_are_fitted_as_they_nest() -> None:
    """Least squares by hand: a + b is 101 both ways, c + d is 100 against 99, so that c and d are a third less."""
    narrow = counted_by(["x"], ["a", "b", "c", "d"], [30, 71, 48, 52])
    wide = counted_by(["x"], ["a | b", "c | d"], [101, 99])
    together = counted_by(["x"], ["a", "b", "c", "d", "a | b", "c | d"], [30, 71, 48, 52, 101, 99])
    truth = {"a": 30, "b": 71, "c": 48, "d": 52, "a | b": 101, "c | d": 99}
    for tables in ([narrow, wide], [wide, narrow], [together]):
        layout = lay_out(tables)
        assert {guess.labels["x"]: guess.value for guess in fitting(layout, 1.0)} == truth
        means = {guess.labels["x"]: guess for guess in averaging(layout, 1.0, [("x",)])}
        assert {name: guess.value for name, guess in means.items()} == truth
        # c | d: 99 with variance 1 and 100 with variance 2
        (total,) = averaging(layout, 1.0, [()])
        assert total.value == 200, "200 with variance 2, 201 with variance 4: nobody is counted twice"


def test_nested_tables_of_any_form_are_fitted_by_least_squares() -> None:
    """Against least squares over single categories, written out; gaps, exact counts and missing margins among them."""
    rng = numpy_generator(99)
    atoms = {"x": "abcd", "y": "uvw"}
    groups = {"x": ["a", "b", "c", "d", "a | b", "c | d", "b | c | d"], "y": ["u", "v", "w", "u | v"]}
    compared = 0
    for attempt in range(60):
        joint = rng.integers(20, 90, size=(4, 3))
        cells = [("x",), ("y",), ("x", "y"), ()]
        tables, rows, printed, keys, noisy = [], [], [], [], []
        for number, axes in enumerate(cells):
            if attempt % 4 == number:
                continue
            used = [
                sorted(rng.choice(groups[a], size=int(rng.integers(2, len(groups[a]) + 1)), replace=False))
                for a in axes
            ]
            lines = list(itertools.product(*used))
            exact = attempt % 3 == 0 and number == 1
            true = []
            for line in lines:
                row = np.ones((4, 3))
                for axis, name in zip(axes, line, strict=True):
                    inside = np.array([float(atom in name.split(" | ")) for atom in atoms[axis]])
                    row *= inside[:, None] if axis == "x" else inside[None, :]
                true.append(int((row * joint).sum()))
                rows.append(row.ravel())
                keys.append(tuple(zip(axes, line, strict=True)))
            shown = np.array(true) + (0 if exact else drawn(rng, (len(true),), 5, 2.0))
            printed += shown.tolist()
            noisy += [not exact] * len(true)
            table = noisy_table(f"{number}", [], np.zeros(()), np.zeros(()))
            codes = np.array(list(itertools.product(*(range(len(u)) for u in used)))).reshape(len(lines), len(axes))
            tables.append(
                PublishedTable(
                    table.name,
                    axes,
                    tuple(tuple(frozenset(name.split(" | ")) for name in names) for names in used),
                    frozen(codes, len(axes)),
                    (),
                    frozen(np.full(len(lines), -1)),
                    frozen(shown if exact else np.zeros(len(lines))),
                    frozen(shown if exact else np.full(len(lines), 2**53)),
                    ("exact" if exact else "noised",) * len(lines),
                    noisy=None if exact else frozen(shown),
                )
            )
        # Only what the tables list is unknown. Exact rows have so much weight that they hold.
        listed = [
            sorted({atom for key in keys for axis, name in key if axis == a for atom in name.split(" | ")})
            for a in "xy"
        ]
        kept = [x in listed[0] and y in listed[1] or not (listed[0] and listed[1]) for x in "abcd" for y in "uvw"]
        if not all(kept):
            continue
        layout = lay_out(tables)
        if layout.is_flat(layout.categories):
            continue
        weights = np.where(noisy, 1.0, 1e4)
        matrix, target = np.array(rows) * weights[:, None], np.array(printed) * weights
        solved = np.array(rows) @ np.linalg.lstsq(matrix, target, rcond=None)[0]
        spread = np.einsum(
            "ij,jk,ik->i", np.array(rows), np.linalg.pinv(matrix.T @ matrix, rcond=1e-12), np.array(rows)
        )
        guesses = {tuple(sorted(guess.cell)): guess for guess in fitting(layout, 2.0)}
        for key, estimate, ratio, free in zip(keys, solved, spread, noisy, strict=True):
            if not free or abs(estimate % 1 - 0.5) < 1e-3:
                continue
            guess = guesses[tuple(sorted(key))]
            assert guess.value == max(0, round(estimate))
            steps = np.arange(-40, 41) - (estimate - round(estimate))
            law = np.exp(-(steps**2) / (2 * max(2.0 * ratio, 1e-12)) + (steps[40] ** 2) / (2 * max(2.0 * ratio, 1e-12)))
            assert guess.confidence == pytest.approx(1 / law.sum(), rel=1e-3)
            compared += 1
    assert compared > 300


def test_a_table_that_lacks_a_category_says_nothing_about_the_total() -> None:
    narrow = counted_by(["x"], ["a", "c"], [30, 48])
    wide = counted_by(["x"], ["a | b", "c | d"], [101, 99])
    (total,) = averaging(lay_out([narrow, wide]), 1.0, [()])
    assert total.value == 200
    assert exploiting(lay_out([narrow, wide]), 1) == []


def test_exploiting_uses_nested_groups() -> None:
    """a + b is at least 101 - 2 and at most 30 + 2 + 65 + 2: with a bound of 2 all of them are certain."""
    narrow = counted_by(["x"], ["a", "b", "c"], [30, 65, 50])
    wide = counted_by(["x"], ["a | b"], [101])
    assert {guess.labels["x"]: guess.value for guess in exploiting(lay_out([narrow, wide]), 2)} == {
        "a": 32,
        "b": 67,
        "a | b": 99,
    }


@pytest.mark.slow
def test_our_own_noised_tables_are_attacked_as_they_are(tmp_path: Path) -> None:
    """`perturb` marks its rows as noised; margins and hierarchies are read as such, and the variance is inferred."""
    rng = numpy_generator(5)
    ages = ["00s", "10s", "20s", "30s", "40s"]
    rows = [f"p{n},{'fm'[rng.integers(2)]},{ages[rng.integers(5)]},{'abcdef'[rng.integers(6)]},2" for n in range(6000)]
    (tmp_path / "people.csv").write_text("\n".join(["person,sex,age,area,weight", *rows]) + "\n")
    (tmp_path / "secret.key").write_bytes(bytes(range(32)))
    (tmp_path / "secret.key").chmod(0o600)
    (tmp_path / "age.hrc").write_text("young\n@00s\n@10s\nold\n@20s\n@30s\n@40s\n")
    noised = perturb(
        tmp_path / "people.csv",
        ["sex", "age", "area"],
        id="person",
        secret=tmp_path / "secret.key",
        variance=2,
        bound=5,
        weight="weight",
        hierarchies={"age": [tmp_path / "age.hrc"]},
    )
    noised.write(tmp_path / "out")
    table = tmp_path / "out/published/table.csv"
    found = attack([table], hierarchy=[f"age={tmp_path / 'age.hrc'}"])
    cells = 3 * 8 * 7
    assert len(found.attacks["fitting"]) == cells == noised.counts.size
    assert 1 < found.variance < 4 and found.revealed.least <= 5
    # True counts by who lies in the cell, from the records.
    people = [row.split(",")[1:4] for row in rows]
    errors = []
    for guess in found.attacks["fitting"]:
        wanted = {axis: set(name.split(" | ")) for axis, name in guess.cell}
        true = sum(
            all(value in wanted.get(axis, {value}) for axis, value in zip(("sex", "age", "area"), person, strict=True))
            for person in people
        )
        assert guess.printed is not None and abs(guess.printed - true) <= 5
        errors.append(guess.value - true)
    assert np.mean(np.square(errors)) < 2, "it is nearer to the truth than what is printed"


def test_an_axis_of_perturb_is_not_called_as_a_column_of_its_table(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("status,key\na,0.5\nb,0.25\n")
    with pytest.raises(InputError, match="cannot be called 'status'"):
        perturb(tmp_path / "people.csv", ["status"], record_key="key", variance=2, bound=5)


def noisy(axes: tuple[str, ...], cells: dict[tuple[str, ...], int]) -> PublishedTable:
    """A table of noised counts; a category may be several joined by ` | `."""
    names = [list(dict.fromkeys(cell[a] for cell in cells)) for a in range(len(axes))]
    size = len(cells)
    return PublishedTable(
        " x ".join(axes),
        axes,
        tuple(tuple(frozenset(name.split(" | ")) for name in own) for own in names),
        np.array([[names[a].index(cell[a]) for a in range(len(axes))] for cell in cells]).reshape(size, len(axes)),
        (),
        np.full(size, -1),
        np.zeros(size, dtype=np.int64),
        np.full(size, 2**40),
        ("noised",) * size,
        noisy=np.array(list(cells.values())),
    )


def test_areas_that_only_overlap_are_subtracted() -> None:
    """A town and squares of a grid: what the squares inside it leave of it, and what those around it add to it.

    By the definition: the town has the pieces p, q, r; the grid has p, q | s, r | t and u.
    """
    towns = noisy(("place",), {("p | q | r",): 100, ("s | t | u",): 60})
    grid = noisy(("place",), {("p",): 30, ("q | s",): 60, ("r | t",): 61, ("u",): 9})
    tested = {
        frozenset(guess.labels["place"].split(" | ")): guess
        for guess in attack([towns, grid], variance=0.01).attacks["differencing"]
    }
    assert tested[frozenset("qr")].value == 100 - 30  # inside the town, beyond the square inside it
    assert tested[frozenset("st")].value == (30 + 60 + 61) - 100  # around the town, and the other town beyond u
    assert frozenset("p") not in tested


def test_successive_denoising_goes_on_from_what_is_disclosed() -> None:
    """Annex B.4: counts that are sure become exact, and others follow; claims are right at least as often as said."""
    rng = numpy_generator(11)
    right, claimed = 0, 0.0

    def off(count: object) -> int:
        return int(count) + int(rng.integers(-1, 2))  # type: ignore[call-overload]

    for _ in range(80):
        true = rng.integers(20, 60, size=(2, 12))
        tables = [
            noisy(("a", "b"), {(f"a{i}", f"b{j}"): off(true[i, j]) for i, j in np.ndindex(2, 12)}),
            noisy(("b",), {(f"b{j}",): off(true[:, j].sum()) for j in range(12)}),
            noisy(("a",), {(f"a{i}",): off(true[i].sum()) for i in range(2)}),
            noisy((), {(): int(true.sum())}),
        ]
        for guess in attack(tables, variance=2 / 3, confidence=0.6).attacks.get("successive", ()):
            labels = guess.labels
            rows = slice(None) if "a" not in labels else int(labels["a"][1:])
            columns = slice(None) if "b" not in labels else int(labels["b"][1:])
            claimed += guess.confidence
            right += int(true[rows, columns].sum()) == guess.value
            assert guess.confidence >= 0.6
    assert claimed > 15 and right >= claimed - 3 * math.sqrt(claimed), (right, claimed)
