"""Every certificate verifies, every false claim fails, and what is proved is what exhaustion finds."""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brute import Fiber, TooMany, Unlimited, published
from cases import margin, situation, town
from evidence import seeds
from safemargin.bounds.bound import infer
from safemargin.bounds.build import build_system
from safemargin.bounds.certificate import Dual, parse
from safemargin.bounds.check import Checker, Fault, check
from safemargin.bounds.duals import DualObjective, Facts
from safemargin.bounds.proof import prove_intervals
from safemargin.bounds.system import System
from safemargin.bounds.verification import KIND, Verification
from safemargin.checker import NOT_CHECKED
from safemargin.core import UNBOUNDED, InputError, Onlooker, PublishedTable, Target

pytestmark = pytest.mark.full

MARGINS = json.loads((Path(__file__).parent.parent / "vectors" / "margins.json").read_text())
CZECH = MARGINS["czech"]
CZECH_BOUNDS = MARGINS["czech_bounds"]
FAKE_SAFE = MARGINS["fake_safe"]
GAP = MARGINS["gap"]

COMPOSITIONS = ("joint", "sizes", "none")
Files = list[tuple[str, PublishedTable]]
Document = dict[str, Any]


def made(
    tables: list[PublishedTable], onlooker: Onlooker, target: tuple[str, ...] | None = None, **more: Any
) -> tuple[Document, Files]:
    """The certificate of all intervals as it comes out of a file, and the tables with their roles."""
    exposure = infer(tables, onlooker, target=target)
    document = prove_intervals(tables, onlooker, exposure, [], target=Target(tau=1, kappa=10), **more).document()
    files = [("table", table) for table in tables]
    files += [("roll", table) for table in onlooker.roll] + [("fact", table) for table in onlooker.facts]
    return json.loads(json.dumps(document)), files


def random_case(seed: int, composition: str, options: int) -> tuple[Document, Files, Onlooker]:
    _, tables, onlooker = situation(seed, composition, options)
    rng = np.random.default_rng([seed, 9])
    axes = list(dict.fromkeys(axis for table in tables for axis in table.axes))
    target = tuple(axis for axis in axes if rng.random() < 0.6) if rng.random() < 0.4 else None
    document, files = made(tables, onlooker, target or None)
    return document, files, onlooker


def fails(document: Document, files: Files) -> bool:
    """Whether the claims alone, seal aside, are refused."""
    try:
        return not check(parse(document), files).holds
    except InputError:
        return True


def known_of(document: Document, files: Files) -> System:
    by = {role: tuple(table for mine, table in files if mine == role) for role in ("table", "roll", "fact")}
    return build_system(by["table"], Onlooker(roll=by["roll"], facts=by["fact"]), document["slack"])


def compare(seed: int, composition: str, options: int) -> bool:
    """Whether a case was small enough to be compared with exhaustion; fails if anything is wrong or not proved."""
    document, files, onlooker = random_case(seed, composition, options)
    found = check(parse(document), files)
    assert found.failures == (), seed
    assert found.proved + found.unlimited == 2 * len(document["cells"]), seed
    try:
        fiber = Fiber([table for role, table in files if role == "table"], onlooker)
    except (TooMany, Unlimited):
        return False
    cells = fiber.cells(document["target"])
    for entry in document["cells"]:
        values = fiber.values(cells[tuple(entry["cell"].values())], entry.get("option", ""))
        assert (entry["lower"]["value"], entry["upper"]["value"]) == (values[0], values[-1]), (seed, entry)
    return True


@pytest.mark.parametrize("options", [1, 2, 3])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_all_ends_are_proved_and_are_what_exhaustion_finds(composition: str, options: int) -> None:
    assert sum(compare(seed, composition, options) for seed in seeds(0, 10, 25)) > 3


@pytest.mark.slow
@pytest.mark.parametrize("options", [1, 2, 3])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_all_ends_are_proved_in_many_more_cases(composition: str, options: int) -> None:
    for seed in seeds(2000, 15, 300):
        compare(seed, composition, options)


def test_czech_autoworkers_are_proved() -> None:
    table = np.array(CZECH).reshape((2,) * 6)
    tables = []
    for face in ("BF", "ABCE", "ADE"):
        axes = tuple("ABCDEF".index(letter) for letter in face)
        sums = table.sum(axis=tuple(a for a in range(6) if a not in axes))
        rows = [
            (tuple(f"{a}{c}" for a, c in zip(face, at, strict=True)), None, int(n)) for at, n in np.ndenumerate(sums)
        ]
        tables.append(published(face, list(face), rows))
    document, files = made(tables, Onlooker())
    found = check(parse(document), files)
    assert (found.failures, found.proved, found.outer, found.search) == ((), 128, 0, 0)
    lower, upper = (np.array(ends).reshape((2,) * 6) for ends in CZECH_BOUNDS["[BF][ABCE][ADE]"])
    for entry in document["cells"]:
        place = tuple(int(entry["cell"][axis][1]) for axis in "ABCDEF")
        assert (entry["lower"]["value"], entry["upper"]["value"]) == (lower[place], upper[place])


def three(margins: tuple[list[list[int]], ...]) -> list[PublishedTable]:
    tables = []
    for axes, values in zip(("xy", "xz", "yz"), margins, strict=True):
        rows = [
            ((f"{axes[0]}{i}", f"{axes[1]}{j}"), None, n) for i, row in enumerate(values) for j, n in enumerate(row)
        ]
        tables.append(published(axes, list(axes), rows))
    return tables


def test_what_only_a_search_found_is_not_called_proved() -> None:
    document, files = made(three(FAKE_SAFE[0]), Onlooker())
    found = check(parse(document), files)
    searched = [e[end] for e in document["cells"] for end in ("lower", "upper") if e[end]["shown_by"] == "search"]
    assert found.outcome == NOT_CHECKED and not found.failures, "what only a search found is not shown by the files"
    assert found.search == len(searched) > 0 and found.proved + found.search == 144
    assert all(end["outer"] != end["value"] for end in searched)
    assert any("not proved by the certificate" in line for line in found.lines())
    searched[0]["outer"] = searched[0]["value"]
    assert fails(document, files)
    searched[0]["shown_by"] = "dual"
    assert fails(document, files)


def test_a_gap_is_no_obstacle_to_its_ends() -> None:
    document, files = made(three(GAP), Onlooker())
    assert check(parse(document), files).proved == 144


def test_interrupted_proofs_are_refused_for_what_they_lack_only() -> None:
    rng = np.random.default_rng(4)
    place = town(rng, axes=3, options=1, people=30, fill=1.0)
    pairs = [margin(place, pair) for pair in (place.axes[:2], place.axes[1:], place.axes[::2])]

    for most in (1, 20, 80):

        def stop(step: str, done: int, total: int, most: int = most) -> None:
            if done >= most:
                raise KeyboardInterrupt

        document, files = made(pairs, Onlooker(), progress=stop)
        found = check(parse(document), files)
        lacking = [failure for failure in found.failures if "has no proof" in failure or "no tables show" in failure]
        assert lacking == list(found.failures) != []
        ends = sum("has no proof" in failure for failure in lacking)
        assert found.proved + found.outer + found.search + ends == 2 * found.cells


def test_an_end_that_nothing_limits() -> None:
    tables = [published("xy", ["x", "y"], [(("a", "c"), None, 3), (("a", "d"), None, None), (("b", "c"), None, 2)])]
    document, files = made(tables, Onlooker())
    found = check(parse(document), files)
    assert (found.failures, found.unlimited, found.proved) == ((), 1, 7)
    limited = next(e for e in document["cells"] if e["upper"]["value"] is not None)
    limited["upper"] = {"value": None, "shown_by": "no limit"}
    assert fails(document, files)


Change = Callable[[Document, np.random.Generator], object]


def _pick(document: Document, rng: np.random.Generator) -> dict[str, Any]:
    ends = [e[end] for e in document["cells"] for end in ("lower", "upper") if e[end]["value"] is not None]
    return ends[int(rng.integers(len(ends)))]


def change_value(document: Document, rng: np.random.Generator) -> object:
    _pick(document, rng)["value"] += int(rng.choice([-1, 1]))
    return True


def drop_cell(document: Document, rng: np.random.Generator) -> object:
    return document["cells"].pop(int(rng.integers(len(document["cells"]))))


def repeat_cell(document: Document, rng: np.random.Generator) -> object:
    return document["cells"].append(document["cells"][0]) or True


def rename_cell(document: Document, rng: np.random.Generator) -> object:
    entry = document["cells"][int(rng.integers(len(document["cells"])))]
    return entry["cell"].update(zz="zz") or True


def drop_tables(document: Document, rng: np.random.Generator) -> object:
    document["tables"] = []
    return True


def drop_dual(document: Document, rng: np.random.Generator) -> object:
    return _pick(document, rng).pop("dual")


def swap_options(document: Document, rng: np.random.Generator) -> object:
    document["options"].reverse()
    return len(document["options"]) > 1


def swap_categories(document: Document, rng: np.random.Generator) -> object:
    document["categories"][0].reverse()
    return len(document["categories"][0]) > 1


def count_verdicts_wrongly(document: Document, rng: np.random.Generator) -> object:
    document["verdict"]["counts"]["open"] += 1
    return True


def state_another_rule(document: Document, rng: np.random.Generator) -> object:
    document["verdict"]["rule"] += " Or not."
    return True


@pytest.mark.parametrize(
    "change",
    [
        change_value,
        drop_cell,
        repeat_cell,
        rename_cell,
        drop_tables,
        drop_dual,
        swap_options,
        swap_categories,
        count_verdicts_wrongly,
        state_another_rule,
    ],
)
def test_a_false_claim_fails_even_under_a_new_seal(change: Change) -> None:
    tried = 0
    for composition in COMPOSITIONS:
        for seed in range(6):
            document, files, _ = random_case(seed, composition, 1 + seed % 3)
            if change(document, np.random.default_rng(seed)):
                tried += 1
                assert fails(document, files), (composition, seed)
    assert tried > 4


def naive(system: System, places: list[int], way: int, dual: Dual) -> Fraction | None:
    """The limit by definition, in fractions over the dense matrix."""
    matrix = system.rows.toarray()
    value = Fraction(0)
    rest = [Fraction(way * (v in places)) for v in range(system.size)]
    for row, number in dual.rows.items():
        weight = Fraction(number, dual.denominator)
        end = int(system.upper[row] if weight > 0 else system.lower[row])
        if weight and end >= UNBOUNDED:
            return None
        value += weight * end
        rest = [d - weight * int(a) for d, a in zip(rest, matrix[row], strict=True)]
    for profile, number in dual.people.items():
        assert system.people is not None
        value += Fraction(number, dual.denominator) * int(system.people[profile])
        for v in range(profile * system.n_free_options, (profile + 1) * system.n_free_options):
            rest[v] -= Fraction(number, dual.denominator)
    for v, d in enumerate(rest):
        if d > 0 and system.high[v] >= UNBOUNDED:
            return None
        value += max(d * int(system.low[v]), d * int(system.high[v])) if d else 0
    return value


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_changed_duals_and_tables_fail_unless_they_still_prove(composition: str) -> None:
    """Each multiplier and each count is changed in turn; what is accepted must be true by another computation."""
    refused = 0
    for seed in range(8):
        document, files, _ = random_case(seed, composition, 1 + seed % 3)
        system = known_of(document, files)
        rng = np.random.default_rng(seed)
        for _ in range(12):
            changed = copy.deepcopy(document)
            end = _pick(changed, rng)
            rows = end["dual"]["rows"]
            rows[str(int(rng.integers(len(system.lower))))] = int(rng.choice([-2, -1, 1, 3]))
            end["dual"]["denominator"] = int(rng.choice([1, 1, 2, 7]))
            good = _is_true(system, changed, end)
            assert fails(changed, files) is not good, (seed, end)
            refused += not good
        for _ in range(6 if document["tables"] else 0):
            changed = copy.deepcopy(document)
            table = changed["tables"][int(rng.integers(len(changed["tables"])))]
            at = int(rng.integers(system.size))
            counts = dict(table)
            counts[at] = counts.get(at, 0) + int(rng.choice([1, 2]))
            table[:] = sorted(counts.items())
            if not system.admits(np.array([counts.get(v, 0) for v in range(system.size)])):
                assert fails(changed, files), seed
                refused += 1
    assert refused > 50


def _is_true(system: System, document: Document, end: dict[str, Any]) -> bool:
    """Whether the dual of one end, all else being right, proves its value."""
    claim = next(c for c in document["cells"] if c["lower"] is end or c["upper"] is end)
    upwards = claim["upper"] is end
    columns = [system.axes.index(axis) for axis in document["target"]]
    cell = [
        system.categories[c].index(claim["cell"][axis]) for c, axis in zip(columns, document["target"], strict=True)
    ]
    inside = [p for p, codes in enumerate(system.codes.tolist()) if [codes[c] for c in columns] == cell]
    option = system.options.index(claim.get("option", ""))
    last = system.reference and option == len(system.options) - 1
    units = range(system.n_free_options) if last else [option]
    offset = sum(int(system.people[p]) for p in inside) if last and system.people is not None else 0
    sign = -1 if last else 1
    dual = parse(document).claims[document["cells"].index(claim)]
    proof = (dual.upper if upwards else dual.lower).dual
    assert proof is not None
    limit = naive(
        system, [p * system.n_free_options + u for p in inside for u in units], sign if upwards else -sign, proof
    )
    if limit is None:
        return False
    shown = offset + floor(limit) if upwards else offset - floor(limit)
    return shown <= end["value"] if upwards else shown >= end["value"]


def test_both_computations_of_a_limit_agree_also_beyond_64_bits() -> None:
    rng = np.random.default_rng(8)
    for seed in range(30):
        document, files, _ = random_case(seed, COMPOSITIONS[seed % 3], 1 + seed % 3)
        system = known_of(document, files)
        checker, facts = Checker(system, parse({**document, "tables": []})), Facts(system)
        size = int(rng.choice([3, 1000]))
        rows = {int(r): int(rng.integers(-size, size)) for r in rng.choice(len(system.lower), 2)}
        people = {0: int(rng.integers(size))} if system.people is not None else {}
        dual = Dual(int(rng.integers(1, size)), rows, people)
        places, expected = [int(rng.integers(system.size))], None
        for scale in (1, 10**18):  # the second needs Python's integers
            large = Dual(
                dual.denominator * scale,
                {r: n * scale for r, n in rows.items()},
                {p: n * scale for p, n in people.items()},
            )
            expected = naive(system, places, 1, large)
            try:
                found: int | None = checker.limit(np.array(places), 1, large)
            except Fault as fault:
                assert expected is None, fault
                found = None
            assert found == (None if expected is None else floor(expected))
        goal = DualObjective(np.array(places), 1, 0)
        assert facts.limit(goal, dual) == (None if expected is None else floor(expected))
        assert facts.limit(goal, large) is None, "the prover leaves it at 64 bits"


def small() -> tuple[Document, Files]:
    """A certificate with everything in it: a roll, two options, duals, tables."""
    table = published("t.csv", ["a"], [(("x",), "yes", 3), (("y",), "yes", 4)], ["yes"])
    roll = published("roll.csv", ["a", "b"], [((a, b), None, 5) for a in "xy" for b in "uv"], measure="people")
    return made([table], Onlooker(roll=(roll,)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["tables"][0].append([10**6, 1]), "table 0 counts what does not exist"),
        (lambda d: d["tables"][0].append([0, 2**53]), "counts a variable twice|counts what does not exist"),
        (lambda d: d["cells"][0]["upper"]["dual"].update(people={"0": -1}), "uses people of profile 0"),
        (lambda d: d["cells"][0]["upper"]["dual"].update(people={"99": 1}), "uses people of profile 99"),
        (lambda d: d["cells"][0]["upper"]["dual"].update(rows={"99": 1}), "uses a limit that row 99 does not have"),
        (lambda d: d["cells"][0]["upper"]["dual"].update(rows={"01": 1}), "'01' is not the number of a row or profile"),
        (lambda d: d["cells"][0]["upper"]["dual"].update(rows=[]), "rows: .* is not an object"),
        (lambda d: d["cells"][0]["upper"]["dual"].pop("rows"), "has no 'rows'"),
        (lambda d: d["cells"][0]["upper"].update(shown_by="luck"), "shown_by 'luck' beside value"),
        (lambda d: d["cells"][0]["upper"].pop("shown_by"), "upper: has no"),
        (lambda d: d["cells"][0].update(upper=3), "upper: 3 is not an object"),
        (lambda d: d["tables"].append(3), "3 is not a list of pairs"),
        (lambda d: d["tables"].append([[0, 1], [0, 1]]), "a table counts a variable twice"),
        (lambda d: d["files"].append({"name": "f", "role": "friend", "sha256": ""}), "'friend': must be one of table"),
    ],
)
def test_a_certificate_that_proves_nothing_is_refused_with_a_reason(
    change: Callable[[Document], object], message: str
) -> None:
    document, files = small()
    assert check(parse(document), files).holds
    change(document)
    try:
        failures = "; ".join(check(parse(document), files).failures)
    except InputError as error:
        failures = str(error)
    assert re.search(message, failures), failures


def test_an_end_beyond_its_own_limit_is_refused() -> None:
    document, files = small()
    stated = parse(document)
    first, *others = stated.claims
    value = first.upper.value
    assert value is not None
    further = replace(first, upper=replace(first.upper, value=value + 1, witness=None))
    (failure, *_) = check(replace(stated, claims=(further, *others)), files).failures
    assert failure.endswith(f"upper end: {value + 1} is claimed beyond {value}")


def test_what_was_checked_is_said_in_words() -> None:
    lines = list(Verification(KIND, 2, cells=3, proved=1, outer=2, search=1, unlimited=1, slack=4).lines())
    assert lines == [
        "Not checked: nothing fails, but what was given does not show all that is stated.",
        "2 files: every hash matches.",
        "3 intervals, 0 integer tables, all checked:",
        "  1 end proved: nothing lies beyond, and a table attains it.",
        "  2 ends proved as limits; whether they can be attained is not shown.",
        "  1 end not proved by the certificate: a search closed the last gap.",
        "  1 end that no file limits.",
        "Every count may be off by 4, since the files disagree on totals.",
    ]
