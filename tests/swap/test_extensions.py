"""Extensions of permutation swapping: their bounds against losses from the definition, and files that use them.

The laws here are written from the words of the extensions, with fractions and all permutations; they share no code with
what draws.
"""

import math
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy.stats import chi2

import safemargin
from safemargin.core import InputError, TooLargeError
from safemargin.guarantees.swap_loss import response_factor, swap_epsilon, varied_epsilon, visible_epsilon
from safemargin.swap import permutation
from safemargin.swap.permutation import CellRates, Stratified, swap, swap_visibly
from safemargin.swap.reading import PREFIX
from swap_files import swap_file

pytestmark = pytest.mark.full

Records = tuple[tuple[int, int], ...]
Law = dict[Records, Fraction]

MARGINS = [((1, 1), (1, 1)), ((2, 1), (2, 1)), ((2, 1), (1, 1, 1)), ((2, 2), (2, 2)), ((1, 1, 1), (1, 1, 1))]
FOUR = [((2, 1, 1), (2, 1, 1)), ((1, 1, 1, 1), (1, 1, 1, 1)), ((3, 1), (2, 2))]


def tables_with(held: tuple[int, ...], swapped: tuple[int, ...]) -> list[Records]:
    """All tables with these margins, as sorted records."""
    rows = [value for value, number in enumerate(held) for _ in range(number)]
    values = [value for value, number in enumerate(swapped) for _ in range(number)]
    return sorted({tuple(sorted(zip(rows, order, strict=True))) for order in permutations(values)})


def moves(records: Records, rates: list[Fraction]) -> Iterator[tuple[Records, Fraction, bool]]:
    """Every permutation: the table it leads to, its probability up to one factor, and whether it moves anybody."""
    size = len(records)
    derangements = Counter(frozenset(i for i in range(size) if g[i] != i) for g in permutations(range(size)))
    for g in permutations(range(size)):
        moved = frozenset(i for i in range(size) if g[i] != i)
        chance = math.prod((rates[i] if i in moved else 1 - rates[i] for i in range(size)), start=Fraction(1))
        end = tuple(sorted((records[i][0], records[g[i]][1]) for i in range(size)))
        yield end, chance / derangements[moved], bool(moved)


def law_of(records: Records, rates: list[Fraction], admits: Callable[[Records, bool], bool]) -> Law:
    law: Law = {}
    for end, chance, moved in moves(records, rates):
        if admits(end, moved):
            law[end] = law.get(end, Fraction(0)) + chance
    whole = sum(law.values())
    return {end: chance / whole for end, chance in law.items()}


def apart(one: Records, other: Records) -> int:
    return (Counter(one) - Counter(other)).total()


def loss(laws: dict[Records, Law], distance: Callable[[Records, Records], int] = apart) -> float:
    """The largest log ratio of the chances of one output, per record that differs."""
    worst = 0.0
    for x, y in product(laws, repeat=2):
        if x != y:
            assert laws[x].keys() == laws[y].keys()
            ratio = max(laws[x][end] / laws[y][end] for end in laws[x])
            worst = max(worst, math.log(ratio) / distance(x, y))
    return worst


@pytest.mark.parametrize(("held", "swapped"), MARGINS + FOUR)
def test_rates_by_record_keep_to_the_bound(held: tuple[int, ...], swapped: tuple[int, ...]) -> None:
    for least, most in ((Fraction(1, 10), Fraction(4, 10)), (Fraction(1, 2), Fraction(9, 10)), (Fraction(1, 3),) * 2):
        steps = [least + (most - least) * h / max(1, len(held) - 1) for h in range(len(held))]
        laws = {x: law_of(x, [steps[h] for h, _ in x], lambda end, moved: True) for x in tables_with(held, swapped)}
        assert loss(laws) <= varied_epsilon(least, most, sum(held)) + 1e-12
    assert varied_epsilon("0.3", "0.3", 7) == swap_epsilon("0.3", 7)  # type: ignore[arg-type]


@pytest.mark.parametrize(("held", "swapped"), MARGINS + FOUR)
def test_redrawing_what_changes_nothing_keeps_to_the_bound(held: tuple[int, ...], swapped: tuple[int, ...]) -> None:
    exceeded = False
    for rate in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        laws = {
            x: law_of(x, [rate] * len(x), lambda end, moved, x=x: not moved or end != x)  # type: ignore[misc]
            for x in tables_with(held, swapped)
        }
        found = loss(laws)
        assert found <= visible_epsilon(rate, sum(held)) + 1e-12
        exceeded |= found > swap_epsilon(rate, sum(held))
    if (held, swapped) == ((2, 1), (2, 1)):
        assert exceeded  # the epsilon of Theorem 1 does not hold


@pytest.mark.parametrize(
    ("held", "swapped", "rate", "figure"),
    [((1, 1, 1, 1), (2, 2), "0.77", 2.06908), ((2, 2), (1, 1, 2), "0.3", 1.50666), ((2, 1), (2, 1), "0.5", None)],
)
def test_check_has_the_loss_of_what_swap_draws(
    held: tuple[int, ...], swapped: tuple[int, ...], rate: str, figure: float | None
) -> None:
    """Selection and permutation are drawn again together, in the check as in `swap_visibly`."""
    laws = {
        x: law_of(x, [Fraction(rate)] * len(x), lambda end, moved, x=x: not moved or end != x)  # type: ignore[misc]
        for x in tables_with(held, swapped)
    }
    found = safemargin.guarantee.check(held, swapped, rate, variant="no-vacuous")
    assert found.loss == pytest.approx(loss(laws), abs=1e-12)
    assert figure is None or round(found.loss, 5) == figure
    assert found.stated is not None and found.loss < found.stated and "which holds" in found.to_text()


def test_the_price_of_redrawing_grows_with_the_stratum() -> None:
    """Not an artefact of the bound: data with alike records become as rare as a selection of nobody."""
    losses = []
    for size in (3, 4, 5, 6):
        laws = {
            x: law_of(x, [Fraction(9, 10)] * size, lambda end, moved, x=x: not moved or end != x)  # type: ignore[misc]
            for x in tables_with((size - 1, 1), (size - 1, 1))
        }
        losses.append(loss(laws))
        assert losses[-1] > size * math.log(10) / 2 - 1
    assert losses == sorted(losses)


def test_an_exchange_nearby_after_one_in_the_stratum_costs_nothing() -> None:
    """Two stages: a permutation of the stratum, then one within areas (values 0 and 1, or 2) of what came out."""
    far, near = Fraction(3, 10), Fraction(4, 5)
    universe = tables_with((1, 1, 1), (1, 1, 1))

    def second(records: Records) -> Law:
        inside = [index for index, (_, value) in enumerate(records) if value < 2]
        swapped = list(records)
        one, other = inside
        swapped[one], swapped[other] = (records[one][0], records[other][1]), (records[other][0], records[one][1])
        both = near**2 + (1 - near) ** 2  # a selection of one is drawn again
        return {records: (1 - near) ** 2 / both, tuple(sorted(swapped)): near**2 / both}

    laws: dict[Records, Law] = {}
    for x in universe:
        laws[x] = {}
        for middle, chance in law_of(x, [far] * 3, lambda end, moved: True).items():
            for end, then in second(middle).items():
                laws[x][end] = laws[x].get(end, Fraction(0)) + chance * then
    once = {x: law_of(x, [far] * 3, lambda end, moved: True) for x in universe}
    assert loss(laws) <= loss(once) <= swap_epsilon(far, 3)
    assert len(set(laws[universe[0]].values())) > len(set(once[universe[0]].values()))  # no longer uniform


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_randomised_response_before_swapping_adds_its_epsilon(rate: Fraction) -> None:
    """Two held columns, of which the first is drawn anew: only the second, and what is swapped, stay exact."""
    swap_rate, values = Fraction(1, 3), 2
    # Records are (perturbed, held, swapped): all data with held values 0, 0, 1 and swapped values 0, 1, 1.
    data = sorted(
        {
            tuple(sorted(zip(first, (0, 0, 1), order, strict=True)))
            for first in product(range(values), repeat=3)
            for order in permutations((0, 1, 1))
        }
    )
    data = [x for x in data if {record[0] for record in x} == {0, 1}]  # which values occur is an invariant

    def law(x: tuple[tuple[int, int, int], ...]) -> Law:
        total: Law = {}
        for new in product(range(values), repeat=3):
            chance = Fraction(1)
            for value, (old, _, _) in zip(new, x, strict=True):
                chance *= rate / values + (1 - rate if value == old else 0)
            if chance:
                drawn = tuple((10 * value + held, swapped) for value, (_, held, swapped) in zip(new, x, strict=True))
                for end, then in law_of(drawn, [swap_rate] * 3, lambda end, moved: True).items():
                    total[end] = total.get(end, Fraction(0)) + chance * then
        return total

    laws = {x: law(x) for x in data}
    found = loss(laws, lambda one, other: (Counter(one) - Counter(other)).total())  # type: ignore[arg-type]
    bound = math.log(response_factor(rate, values)) + swap_epsilon(swap_rate, 3)
    assert 0 < found <= bound + 1e-12


@pytest.mark.statistical
def test_redrawn_strata_follow_the_law() -> None:
    """Chi-square of 100,000 strata against the law from the definition; a false alarm is below one in a million."""
    number, rate = 100_000, Fraction(3, 5)
    records: Records = ((0, 0), (0, 0), (1, 1))
    law = law_of(records, [rate] * 3, lambda end, moved: not moved or end != records)
    held, swapped = (np.tile([record[part] for record in records], number) for part in (0, 1))
    cells = Stratified.of(np.repeat(np.arange(number), 3), swapped, np.ones(3 * number, dtype=np.int64))
    drawn = swap_visibly(cells, held, rate)
    after = swapped.copy()
    after[drawn.cell] = drawn.swapped
    ends = Counter(
        tuple(sorted(zip(held[i : i + 3].tolist(), after[i : i + 3].tolist(), strict=True)))
        for i in range(0, 3 * number, 3)
    )
    assert ends.keys() <= law.keys()
    square = sum((ends[end] - number * float(p)) ** 2 / (number * float(p)) for end, p in law.items())
    assert square < chi2.isf(1e-7, len(law) - 1)


def test_strata_that_hardly_ever_change_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "MOST_DRAWS", 3)
    held, swapped = np.zeros(500, dtype=np.int64), np.zeros(500, dtype=np.int64)
    held[0], swapped[1] = 1, 1
    cells = Stratified.of(np.zeros(500, dtype=np.int64), swapped, np.ones(500, dtype=np.int64))
    with pytest.raises(TooLargeError, match="nearly every exchange leaves the table as it is"):
        swap_visibly(cells, held, Fraction(1, 2))
    one = np.zeros(500, dtype=np.int64)
    assert len(swap_visibly(cells, one, Fraction(1, 2)).cell) == 0  # one held value: one table only


@pytest.fixture
def homes(tmp_path: Path) -> Path:
    path = tmp_path / "homes.csv"
    lines = [f"s{n % 2},k{n % 4 // 2},t{n % 8},{n % 3},{(0.1, 0.4)[n % 5 == 0]},r{n % 7 % 3}" for n in range(1_200)]
    path.write_text("\n".join(["state,county,tract,size,risk,race", *lines]) + "\n")
    return path


def test_files_with_rates_by_record(homes: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    found = swap_file(homes, out, ["tract"], ["state"], ["size", "risk"], rate_by="risk")
    assert found.guarantee.epsilon == pytest.approx(varied_epsilon("0.1", "0.4", 600))  # type: ignore[arg-type]
    assert found.guarantee.rate is None and "largest and the smallest odds" in found.guarantee.rule
    assert "0.1 to 0.4 by risk" in found.guarantee.statement
    with pytest.raises(InputError, match="column 'race' gives rates, so it must be held or matched"):
        swap_file(homes, out, ["tract"], ["state"], ["size"], rate_by="race")
    with pytest.raises(InputError, match="column 'race': 'r0': a rate must be a number between 0 and 1"):
        swap_file(homes, out, ["tract"], ["state"], ["race"], rate_by="race")
    with pytest.raises(InputError, match="a rate must be a number between 0 and 1"):
        swap_file(homes, out, ["tract"], ["state"], ["size"], rate_by="size")
    with pytest.raises(InputError, match="give one of"):
        swap_file(homes, out, ["tract"], ["state"], ["risk"], rate_by="risk", rate="0.1")


def test_rates_by_row_select_at_these_rates() -> None:
    """Rates of 0 and 1 decide: exactly the records with rate 1 are moved."""
    rows = np.arange(40)
    cells = Stratified.of(np.zeros(40, dtype=np.int64), rows, np.ones(40, dtype=np.int64))
    drawn = swap(cells, CellRates((Fraction(0), Fraction(1)), rows % 2))
    assert sorted(drawn.cell.tolist()) == list(range(1, 40, 2))
    assert sorted(drawn.swapped.tolist()) == list(range(1, 40, 2))


def test_files_without_vacuous_exchanges(homes: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    found = swap_file(homes, out, ["tract"], ["state", "county"], ["size"], rate="0.01", vacuous=False)
    assert found.guarantee.epsilon == pytest.approx(visible_epsilon("0.01", 300))  # type: ignore[arg-type]
    assert found.guarantee.epsilon >= 2 * swap_epsilon("0.01", 300)  # type: ignore[operator, arg-type]
    assert found.guarantee.rate is None and found.changed <= found.selected


def test_files_with_an_exchange_nearby(homes: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    plain = swap_file(homes, out, ["county", "tract"], ["state"], ["size"], rate="0.1")
    found = swap_file(
        homes, out, ["county", "tract"], ["state"], ["size"], rate="0.1", near=["county"], near_rate="0.6"
    )
    assert found.guarantee.epsilon == plain.guarantee.epsilon and found.changed > 2 * plain.changed
    before, after = (
        Counter(duckdb.sql(f"select state, county, tract from '{path}'").fetchall()) for path in (homes, out)
    )
    weighted = duckdb.sql(f"select state, county, tract, sum(count)::int from '{out}' group by all").fetchall()
    assert {row[:3]: row[3] for row in weighted} == dict(before) and after
    for wrong in ({"near": ["county"]}, {"near": ["county", "tract"], "near_rate": "0.1"}, {"near": ["size"]}):
        with pytest.raises(InputError, match="near"):
            swap_file(homes, out, ["county", "tract"], ["state"], ["size"], rate="0.1", **wrong)  # type: ignore[arg-type]


def test_files_perturbed_before_swapping(homes: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    found = swap_file(homes, out, ["tract"], ["state"], ["size", "race"], rate="0.1", perturb={"race": "0.5"})
    response = math.log(response_factor(Fraction(1, 2), 3))
    assert found.guarantee.epsilon == pytest.approx(swap_epsilon("0.1", 600) + response)  # type: ignore[arg-type]
    assert list(map(str, found.guarantee.invariants)) == [
        "number of persons by state x size",
        "number of persons by state x tract",
        "whether there are at least 1 persons by race",
    ]

    def table(path: Path, columns: str, weight: str) -> dict[object, object]:
        rows = duckdb.sql(f"select {columns}, sum({weight})::int from '{path}' group by all").fetchall()
        return {row[:-1]: row[-1] for row in rows}

    for columns in ("state, size::int", "state, tract"):
        assert table(homes, columns, "1") == table(out, columns, "count")
    assert table(homes, "state, race", "1") != table(out, "state, race", "count")
    for wrong, message in (
        ({"perturb": {"tract": "0.1"}}, "must be held"),
        ({"perturb": {"race": "0"}}, "above 0 and at most 1"),
        ({"perturb": {"race": "0.1"}, "imputed": "size"}, "cannot be combined"),
    ):
        with pytest.raises(InputError, match=message):
            swap_file(homes, out, ["tract"], ["state"], ["size", "race"], rate="0.1", **wrong)  # type: ignore[arg-type]


def test_columns_that_are_held_must_be_named(homes: Path) -> None:
    with pytest.raises(TypeError, match="hold"):
        safemargin.swap(homes, swapped=["tract"], rate="0.1")  # type: ignore[call-arg]


def test_what_is_published_is_put_in_words(homes: Path) -> None:
    found = safemargin.swap(homes, swapped=["tract"], match=["state"], hold=["size"], rate="0.01")
    text = found.to_text()
    assert "0 of 1,200 records are unique in the columns that are published" in " ".join(text.split())
    assert "e^11 = 59,500: after the publication, the odds between two such" in " ".join(text.split())
    assert found.to_json()["unique"] == 0
    rows = homes.read_text().splitlines()
    alone = 5
    homes.write_text("\n".join([*rows, *(f"s{n % 2},k0,t{n},{90 + n},0.1,r0" for n in range(alone))]) + "\n")
    found = safemargin.swap(homes, swapped=["tract"], match=["state"], hold=["size"], rate="0.01")
    assert f"{alone} of 1,205 records are unique in the columns" in " ".join(found.to_text().split())
    assert found.to_json()["unique"] == alone


KILLED = """
import os, signal, sys
import safemargin
from safemargin.swap.tables import Run
write = Run.write
def killed(self, *options):
    print(options[0] / write(self, *options), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
Run.write = killed
safemargin.swap(sys.argv[1], swapped=["tract"], match=["state"], hold=["size"], rate="0.1").write(sys.argv[2])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_run_leaves_nothing_that_the_next_one_does_not_remove(
    homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = tmp_path / "temporary"
    places.mkdir()
    environment = {**os.environ, "TMPDIR": str(places)}
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, str(homes), str(tmp_path / "out")],
        env=environment,
        capture_output=True,
        check=False,
    )
    left = Path(ran.stdout.decode().strip())
    assert ran.returncode == -signal.SIGKILL and left.exists() and left.parent.name.startswith(PREFIX)
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(tempfile, "tempdir", str(places))
    kept = safemargin.swap(homes, swapped=["tract"], match=["state"], hold=["size"], rate="0.1")
    assert not left.exists() and kept.space is not None
    other = safemargin.swap(homes, swapped=["tract"], match=["state"], hold=["size"], rate="0.1")
    assert kept.space.folder.exists() and other.space is not None  # in use: not removed
    kept.write(tmp_path / "out")


def test_the_exact_loss_of_small_strata_is_stated(tmp_path: Path) -> None:
    """Against all draws of every stratum; no smaller figure is stated where one stratum is larger."""
    strata = {"t1": "ax ay bx", "t2": "ax ax by by", "t3": "ax", "t4": "ax bx", "t5": "ax by cx ay"}
    rows = [f"{tract},{record[0]},{record[1]}" for tract, records in strata.items() for record in records.split()]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["tract,county,tenure", *rows, ""]))
    found = safemargin.swap(path, swapped=["county"], match=["tract"], hold=["tenure"], rate="0.3", form="records")
    worst = 0.0
    for records in strata.values():
        people = records.split()
        margins = [tuple(Counter(person[place] for person in people).values()) for place in (1, 0)]
        laws = {x: law_of(x, [Fraction(3, 10)] * len(x), lambda *_: True) for x in tables_with(*margins)}
        worst = max(worst, loss(laws) if len(laws) > 1 else 0.0)
    assert found.exact == pytest.approx(worst, abs=1e-9) and found.exact < found.guarantee.epsilon
    assert f"exact loss is {worst:.6g}" in " ".join(found.guarantee.remarks)
    path.write_text("\n".join(["tract,county,tenure", *rows, *["t6,a,x", "t6,b,y"] * 3, ""]))
    larger = safemargin.swap(path, swapped=["county"], match=["tract"], hold=["tenure"], rate="0.3", form="records")
    assert larger.exact is None
