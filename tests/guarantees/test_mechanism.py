"""Mechanisms in files, held against the guarantees claimed for them."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest

from commands import Run, in_process
from oracles import swap_law
from safemargin.core import InputError, TooLargeError
from safemargin.guarantees.exact import Holds
from safemargin.guarantees.swap_law import stratum, universe
from safemargin.guarantees.verify import Verified, check_mechanism, read_mechanism
from swap_vectors import EXACT

Entry = dict[str, Any]
GUARANTEE: Entry = {"mechanism": "m", "change": {"distance": "hamming", "unit": "person"}}
Verify = Callable[[Entry], Verified]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def verify(tmp_path: Path) -> Verify:
    def verified(entry: Entry) -> Verified:
        path = tmp_path / "mechanism.json"
        path.write_text(json.dumps(entry))
        return check_mechanism(read_mechanism(path))

    return verified


def one(records: object, law: dict[str, object]) -> Entry:
    return {"records": records, "law": law}


def claimed(**changes: object) -> Entry:
    return {**GUARANTEE, **changes}


@pytest.mark.parametrize("text", ["1,1,1|1,1,1", "2,1|2,1", "2,2|2,2"])
def test_swapping_from_a_file(verify: Verify, text: str) -> None:
    """Two margins as invariants of the guarantee give the universe; the loss is the brute-forced one."""
    held, swapped = (tuple(map(int, side.split(","))) for side in text.split("|"))
    tables = universe(stratum(held, swapped))
    data = {
        f"x{n}": one(list(map(list, table)), {str(z): str(p) for z, p in swap_law(table, Fraction(1, 10)).items()})
        for n, table in enumerate(tables)
    }
    invariants = [{"counts": "persons", "by": ["h"]}, {"counts": "persons", "by": ["s"]}]
    entry = {"variables": ["h", "s"], "data": data, "guarantee": claimed(invariants=invariants, budget={"epsilon": 4})}
    found = verify(entry)
    assert found.verdict is Holds.HOLDS and found.loss == pytest.approx(EXACT[text][1][1], abs=6e-6)
    assert [(loss.size, loss.neighbours) for loss in found.losses.values()] == [(len(tables), 0)]
    open_ = verify({**entry, "guarantee": claimed(invariants=invariants[:1], budget={"epsilon": 4})})
    assert open_.loss == found.loss, "no data set with other swapped values is listed"


def test_toy_census(verify: Verify) -> None:
    """Three people, two states, two values: publishing state counts is free where they are fixed, and never else."""
    people = [list(person) for person in product("01", "01")]
    data = {
        str(n): one(list(three), {str(sum(int(state) for state, _ in three)): 1})
        for n, three in enumerate(combinations_with_replacement(people, 3))
    }
    entry: Entry = {"variables": ["state", "value"], "data": data}
    fixed = verify({**entry, "guarantee": claimed(invariants=[{"counts": "persons", "by": ["state"]}])})
    assert fixed.verdict is None and fixed.loss == 0 and len(fixed.losses) == 4
    assert sum(loss.neighbours for loss in fixed.losses.values()) == 120 - 80
    broken = verify({**entry, "guarantee": claimed(budget={"epsilon": 1000})})
    assert broken.verdict is Holds.VIOLATED and broken.loss == math.inf and broken.pair is not None
    (whole,) = broken.losses.values()
    assert whole.neighbours == 120
    somebody = [{"counts": "persons", "by": ["state"], "at_least": 1}]
    assert len(verify({**entry, "guarantee": claimed(invariants=somebody)}).losses) == 3
    everything = verify({**entry, "guarantee": claimed(invariants=[{"counts": "persons", "by": ["state", "value"]}])})
    assert everything.is_trivial and everything.loss == 0


def test_order_gives_all_away_and_imputed_records_do_not(verify: Verify) -> None:
    data = {"ab": one([["a", "no"], ["b", "no"]], {"ab": 1}), "ba": one([["b", "no"], ["a", "no"]], {"ba": 1})}
    entry = {"variables": ["name", "imputed"], "data": data, "guarantee": claimed(budget={"epsilon": 9})}
    assert verify(entry).loss == math.inf
    data = {"a": one([["a", "yes"]], {"a": 1}), "b": one([["b", "yes"]], {"b": 1})}
    entry = {"variables": ["name", "imputed"], "data": data}
    assert verify({**entry, "guarantee": claimed()}).loss == math.inf
    frozen = claimed(change={"distance": "frozen", "unit": "person"}, budget={"epsilon": 0})
    assert verify({**entry, "guarantee": frozen}).verdict is Holds.TIGHT


def test_other_distances_measures_and_universes(verify: Verify) -> None:
    law = [{"yes": "3/4", "no": "1/4"}, {"yes": "1/2", "no": "1/2"}, {"yes": "1/4", "no": "3/4"}]
    data = {f"x{n}": one([["a"]] * n, each) for n, each in enumerate(law)}
    added = claimed(change={"distance": "add_remove", "unit": "person"}, budget={"epsilon": math.log(2)})
    entry = {"variables": ["name"], "data": data}
    assert verify({**entry, "guarantee": added}).verdict is Holds.TIGHT
    overlapping = {"low": ["x0", "x1"], "high": ["x1", "x2"]}
    found = verify({**entry, "guarantee": added, "universes": overlapping})
    assert set(found.losses) == {"low", "high"} and found.loss == pytest.approx(math.log(2))
    rho = {**added, "measure": "zcdp", "budget": {"rho_squared": "1/10"}}
    squared = verify({**entry, "guarantee": rho})
    assert squared.verdict is Holds.VIOLATED and squared.pair is not None and 0.1 < squared.loss < math.log(2) ** 2 / 2
    assert verify({**entry, "guarantee": {**rho, "budget": {"rho_squared": 1}}}).verdict is Holds.HOLDS


def test_too_many_pairs_are_refused(verify: Verify) -> None:
    data = {str(n): one([[str(n)]], {"o": 1}) for n in range(80)}
    entry: Entry = {"variables": ["a"], "data": data}
    with pytest.raises(TooLargeError, match="3,160 pairs of data sets to compare; at most 3,000 are"):
        verify({**entry, "guarantee": claimed(measure="zcdp")})
    assert verify({**entry, "guarantee": claimed()}).loss == 0


GOOD: Entry = {
    "variables": ["a"],
    "data": {"x": one([["1"]], {"o": 1}), "y": one([["2"]], {"o": "1/2", "p": "1/2"})},
    "guarantee": claimed(budget={"epsilon": 1}),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": 1}, "colour: unknown key"),
        ({"data": {}}, "data: must not be empty"),
        ({"data": {"x": {"records": []}}}, "data.x.law is missing"),
        ({"data": {"x": one([["1", "2"]], {"o": 1})}}, "every record needs 1 values"),
        ({"data": {"x": one([], {"o": "1/2"})}}, r"data.x: law: probabilities .* sum to 1/2"),
        ({"data": {"x": one([], {"o": "some"})}}, "data.x.law.o = 'some': must be a number"),
        ({"variables": "a"}, "variables = 'a': must be a list"),
        ({"guarantee": 3}, "guarantee: must be a section with keys"),
        ({"universes": {"u": ["z"]}}, "universes.u: there is no data set 'z'"),
        ({"guarantee": claimed(invariants=["secret"])}, "secret: cannot be computed from records"),
        ({"guarantee": claimed(invariants=[{"counts": "p", "by": ["b"]}])}, "there is no variable 'b'; they are a"),
        ({"guarantee": claimed(change={"distance": "exchange"})}, "must be hamming, add_remove or frozen"),
        ({"guarantee": claimed(change={"distance": "frozen"})}, "needs a variable 'imputed'"),
        ({"guarantee": claimed(measure="none")}, "only pure and zcdp"),
    ],
)
def test_bad_files_are_named(verify: Verify, change: Entry, message: str) -> None:
    with pytest.raises(InputError, match=message):
        verify({**GOOD, **change})


def test_the_function_reads_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mechanism.json"
    assert run("guarantee", "verify", path).code == 2
    path.write_text("{")
    assert "is not JSON" in run("guarantee", "verify", path).err
    path.write_text(json.dumps(GOOD))
    ran = run("guarantee", "verify", path)
    assert ran.code == 0 and "the output p is possible from y only" in " ".join(ran.out.split())
    found = run("guarantee", "verify", path, "--json").document
    assert (found["verdict"], found["loss"], found["protects"]) == ("violated", "infinite", True)
    assert found["witness"] == {"one": "y", "other": "x", "output": "p", "ratio": "infinite"}
    path.write_text(json.dumps({**GOOD, "guarantee": claimed(measure="zcdp", budget={"rho_squared": 1})}))
    assert "infinite found" in run("guarantee", "verify", path).out
