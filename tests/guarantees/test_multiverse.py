"""Admissible ranges, inequality invariants and budgets by universe, each against a loop over the definition."""

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import safemargin
from safemargin.core import InputError, Limit, Population
from safemargin.guarantees.compare import compare
from safemargin.guarantees.guarantee_file import document, guarantee_from
from safemargin.guarantees.implication import implies
from safemargin.guarantees.refinement import determined

PEOPLE = {"distance": "add_remove", "unit": "person"}
GQ = "group quarters"


def counting(most: int, epsilon: object, **more: Any) -> dict[str, Any]:
    """Data sets with up to `most` people, of which the number is published with probability 1/2, else nothing."""
    data = {
        f"N={n}": {"records": [["a"]] * n, "law": {str(n): "1/2", "nothing": "1/2"} if n < 2 else {"nothing": 1}}
        for n in range(most + 1)
    }
    guarantee = {"mechanism": "count", "change": PEOPLE, "budget": {"epsilon": epsilon}, **more.pop("guarantee", {})}
    return {"variables": ["kind"], "data": data, "guarantee": guarantee, **more}


def test_only_admissible_values_have_universes() -> None:
    """N from 2 up never shows its number: the claim of 0 holds there, and nowhere else."""
    everywhere = safemargin.guarantee.verify(counting(4, 0))
    assert everywhere.verdict == "violated" and everywhere.loss == math.inf
    some = {"population": {"name": "towns", "limits": [{"counts": "persons", "at_least": 2}]}}
    found = safemargin.guarantee.verify(counting(4, 0, guarantee=some))
    assert found.verdict == "tight" and found.to_json()["not_admissible"] == 2
    assert "2 data sets outside the admissible range" in found.to_text()
    none = {"population": {"name": "towns", "limits": [{"counts": "persons", "at_least": 9, "at_most": 10}]}}
    with pytest.raises(InputError, match="no data set is admissible"):
        safemargin.guarantee.verify(counting(4, 0, guarantee=none))


def test_wider_ranges_are_stronger() -> None:
    def claim(*limits: dict[str, Any]) -> Any:
        base = {"mechanism": "m", "change": PEOPLE, "budget": {"epsilon": 1}}
        return guarantee_from({**base, "population": {"name": "towns", "limits": list(limits)}}, "here")

    wide, narrow = (
        claim({"counts": "persons", "at_least": 1}),
        claim({"counts": "persons", "at_least": 5, "at_most": 9}),
    )
    assert implies(wide, narrow).answer is True and implies(claim(), wide).answer is True
    assert implies(narrow, wide).answer is None and implies(wide, claim()).answer is None
    assert compare(wide, narrow).block("population").standing == "stronger"
    assert compare(narrow, wide).block("population").standing == "weaker"
    other = claim({"counts": "persons", "by": ["state"], "at_most": 3})
    assert compare(other, wide).block("population").standing == "unknown"
    assert guarantee_from(document(narrow), "again") == narrow
    assert narrow.population == Population("towns", limits=(Limit("persons", (), 5, 9),))
    assert str(narrow.population.limits[0]) == "number of persons: 5 to 9"


def test_inequalities_are_invariants_by_their_indicator() -> None:
    """Eq. 2.4 of the paper: group quarters are at most as many as the persons in them, in each of two blocks."""
    data, truth = {}, {}
    for a, b, p, q in product(range(2), range(2), range(3), range(3)):
        name = f"{a}{b}{p}{q}"
        records = [["1", GQ]] * a + [["2", GQ]] * b + [["1", "person"]] * p + [["2", "person"]] * q
        truth[name] = (a <= p, b <= q)
        data[name] = {"records": records, "law": {str(truth[name]): 1}}
    cells = [f"{block}/{kind}" for block in (1, 2) for kind in ("person", GQ)]
    indicator = {"sums": "records", "cells": cells, "rows": [[1, -1, 0, 0], [0, 0, 1, -1]], "at_least": 0}
    claim = {"mechanism": "indicator", "change": PEOPLE, "budget": {"epsilon": 0}, "invariants": [indicator]}
    value: dict[str, Any] = {"variables": ["block", "kind"], "data": data, "guarantee": claim}
    found = safemargin.guarantee.verify(value)
    assert found.verdict == "tight" and len(found.losses) == len(set(truth.values())) == 4
    sizes = sorted(loss.size for loss in found.losses.values())
    assert sizes == sorted(list(truth.values()).count(each) for each in set(truth.values()))
    value["guarantee"] = {**claim, "invariants": [{**indicator, "rows": [[1, -1, 0, 0]]}]}
    assert safemargin.guarantee.verify(value).verdict == "violated"  # one of the two is no longer fixed
    exact = {key: indicator[key] for key in ("sums", "cells", "rows")}
    sums, signs = (guarantee_from({**claim, "invariants": [each]}, "here") for each in (exact, indicator))
    assert determined(signs.invariants[0], sums.invariants, Population()).answer is True
    assert determined(sums.invariants[0], signs.invariants, Population()).answer is None
    assert guarantee_from(document(signs), "again") == signs
    assert str(signs.invariants[0]) == "whether 2 sums of records are at least 0"
    value["guarantee"] = {**claim, "invariants": [{**indicator, "cells": ["1", "2", "3", "4"]}]}
    with pytest.raises(InputError, match=r"cell '1': needs a value of each variable, or \*"):
        safemargin.guarantee.verify(value)
    with pytest.raises(InputError, match="at_least = 0: must be at least 1"):
        guarantee_from({**claim, "invariants": [{"counts": "persons", "at_least": 0}]}, "here")


def test_budgets_differ_by_universe(tmp_path: Path) -> None:
    """Randomised response with another rate where two people are asked; each universe is held to its own budget."""

    def law(answers: str, lie: Fraction) -> dict[str, str]:
        chances = {
            "".join(out): math.prod((1 - lie if a == b else lie for a, b in zip(answers, out, strict=True)))
            for out in product("yn", repeat=len(answers))
        }
        return {out: str(Fraction(chance)) for out, chance in chances.items()}

    lies = {1: Fraction(1, 3), 2: Fraction(1, 10)}
    data = {
        "".join(answers): {"records": [[a] for a in answers], "law": law("".join(sorted(answers)), lies[size])}
        for size in (1, 2)
        for answers in product("yn", repeat=size)
        if list(answers) == sorted(answers)
    }
    base = {
        "mechanism": "response",
        "invariants": [{"counts": "persons"}],
        "change": {"distance": "hamming", "unit": "p"},
    }
    value: dict[str, Any] = {"variables": ["answer"], "data": data, "guarantee": {**base, "budget": {"epsilon": 2.2}}}
    one, two = math.log(2), math.log(9)
    assert safemargin.guarantee.verify(value).verdict == "holds"
    tight = {**value, "budgets": {"n": {"epsilon": one}, "ny": {"epsilon": two}}}
    found = safemargin.guarantee.verify(tight)
    assert found.verdict == "tight"
    assert [entry["claimed"] for entry in found.to_json()["universes"].values()] == pytest.approx([one, two])
    broken = {**value, "budgets": {"y": {"epsilon": 0.5}}}
    path = tmp_path / "mechanism.json"
    path.write_text(json.dumps(broken))
    found = safemargin.guarantee.verify(path)
    assert (
        found.verdict == "violated" and found.worst == "y" and "a budget for each universe claimed" in found.to_text()
    )
    assert found.loss == pytest.approx(two)  # the largest loss is elsewhere, and within its budget
    with pytest.raises(InputError, match=r"budgets\.x: there is no such universe"):
        safemargin.guarantee.verify({**value, "budgets": {"x": {"epsilon": 1}}})
    with pytest.raises(InputError, match=r"budgets\.n: a pure guarantee needs 'epsilon'"):
        safemargin.guarantee.verify({**value, "budgets": {"n": {"rho_squared": 1}}})
    zcdp = {**value, "guarantee": {**base, "measure": "zcdp", "budget": {"rho_squared": 9}}}
    assert safemargin.guarantee.verify(zcdp).verdict == "holds"
    limited = safemargin.guarantee.verify({**zcdp, "budgets": {"n": {"rho_squared": "1/100"}}})
    assert limited.verdict == "violated" and limited.worst == "y"
