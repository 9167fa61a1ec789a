"""Checks of `aggregate` from the definitions, written without its source: only the command line is called."""

import csv
import io
import itertools
import json
import math
import random
import struct
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BSpline

from commands import Run, in_process
from evidence import EVERYTHING

pytestmark = pytest.mark.full

BACKENDS = ["shares", "shamir", "polyveil", "polyveil-compressed", "polyveil-two-layer", "polyveil-shuffled"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def document(run: Run, *arguments: object) -> Any:
    ran = run("aggregate", *arguments, "--json")
    assert ran.code == 0 and ran.err == ""
    return json.loads(ran.out)


# Totals


def random_file(path: Path, rng: random.Random, clients: int, names: list[str], largest: int) -> dict[str, int]:
    rows = [{name: rng.randint(0, largest) for name in names} for _ in range(clients)]
    columns = [*names[:1], "client", *names[1:]]  # the column of the clients need not be the first
    text = io.StringIO()
    writer = csv.writer(text, quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer.writerow(columns)
    for number, row in enumerate(rows):
        writer.writerow([f'c,"{number}"' if name == "client" else row[name] for name in columns])
    path.write_bytes(text.getvalue().encode("utf-8"))
    return {name: sum(row[name] for row in rows) for name in names}


@pytest.mark.parametrize("backend", BACKENDS)
def test_totals_are_plain_sums(run: Run, tmp_path: Path, backend: str) -> None:
    rng = random.Random(backend)
    odd = ["a,b", 'say "yes"', "größer", " space ", "=1+1", "total", "Client", "0", "two\nlines", "x" * 300]
    for clients, names, largest in (
        (3, ["q"], 1),
        (17, odd, 1),
        (40, odd[:3], 6),
        (5, [f"q{i}" for i in range(30)], 1),
    ):
        path = tmp_path / "answers.csv"
        totals = random_file(path, rng, clients, names, largest)
        found = document(run, "sum", path, "--backend", backend)
        assert (found["totals"], found["clients"], found["backend"]) == (totals, clients, backend)
        assert all(type(total) is int for total in found["totals"].values())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("answer", ["0", "1"])
def test_totals_at_the_ends(run: Run, tmp_path: Path, backend: str, answer: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("q1,q2\n" + f"{answer},{answer}\n" * 50)
    assert document(run, "sum", path, "--backend", backend)["totals"] == {
        "q1": 50 * int(answer),
        "q2": 50 * int(answer),
    }


# The law of a decoy, of the noise, and delta


def law_of_a_decoy(n: int) -> list[Fraction]:
    """How many odd rows a uniform permutation of 2n sends to even columns, by enumeration."""
    counts = Counter(sum(s[i] % 2 for i in range(0, 2 * n, 2)) for s in itertools.permutations(range(2 * n)))
    return [Fraction(counts[x], math.factorial(2 * n)) for x in range(n + 1)]


def closed_law(n: int) -> list[Fraction]:
    return [Fraction(math.comb(n, x) ** 2, math.comb(2 * n, n)) for x in range(n + 1)]


def test_law_of_a_decoy() -> None:
    assert all(law_of_a_decoy(n) == closed_law(n) for n in (1, 2, 3))
    assert [24 * p for p in law_of_a_decoy(2)] == [4, 16, 4]


def density(n: int, decoys: int, points: np.ndarray) -> np.ndarray:
    """Density of sum w_i X_i off its atoms: given the X_i it is the normalised B-spline with them as knots."""
    law, total = closed_law(n), np.zeros_like(points)
    for drawn in itertools.combinations_with_replacement(range(n + 1), decoys):
        if drawn[0] == drawn[-1]:
            continue
        weight = float(math.prod(law[x] for x in drawn)) * math.factorial(decoys)
        weight /= math.prod(math.factorial(m) for m in Counter(drawn).values())
        spline = BSpline.basis_element(np.array(drawn, float), extrapolate=False)
        total += weight * (decoys - 1) / (drawn[-1] - drawn[0]) * np.nan_to_num(spline(points))
    return total


def delta_of(n: int, decoys: int, epsilon: float) -> float:
    """delta(epsilon) of one masked number, largest over all pairs of sums that differ."""
    atoms = float(sum(p**decoys for p in closed_law(n)))
    step = 1 / (8 * (4 * n - 1))
    points = np.arange(-1.0, n + 1.0, step / 50) + step / 100
    p = density(n, decoys, points)
    assert abs(p.sum() * step / 50 + atoms - 1) < 1e-3
    worst = 0.0
    for differ in range(1, n + 1):
        moved = round(differ / (4 * n - 1) / (step / 50))
        other = np.concatenate([p[moved:], np.zeros(moved)]), np.concatenate([np.zeros(moved), p[: len(p) - moved]])
        worst = max([worst, *(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) * step / 50 for q in other)])
    return atoms + worst


@pytest.mark.parametrize(
    ("n", "decoys", "delta"), [(1, 20, 0.2), (2, 9, 0.05), (2, 12, 0.02), (3, 4, 0.1), (3, 7, 0.02), (4, 5, 0.05)]
)
def test_valid_epsilon(run: Run, n: int, decoys: int, delta: float) -> None:
    found = document(run, "privacy", "--bits", n, "--weights", decoys, "--delta", delta)
    floor = float(sum(p**decoys for p in (law_of_a_decoy(n) if n < 4 else closed_law(n))))
    assert found["valid"]["delta_floor"] == pytest.approx(floor, rel=1e-9)
    epsilon = found["valid"]["epsilon"]
    assert delta_of(n, decoys, epsilon) == pytest.approx(delta, rel=0.02)
    assert epsilon > 0.05 and delta_of(n, decoys, epsilon - 0.05) > delta


def test_no_epsilon_where_supports_differ(run: Run) -> None:
    """With one bit and 20 decoys atoms weigh 2e-6, but numbers below 1/4 come from 0 only: delta stays above 1e-3."""
    found = document(run, "privacy", "--bits", 1, "--weights", 20, "--delta", 1e-3)["valid"]
    assert delta_of(1, 20, 50.0) > 1e-3 > found["delta_floor"]
    assert found["epsilon"] is None and "atoms" not in found["reason"]


@pytest.mark.slow
def test_shuffling_is_not_claimed_where_local_deltas_add_up(run: Run) -> None:
    """All clients' atoms together, 1000 x 8.5e-9, exceed delta: no bound for approximate guarantees applies."""
    found = document(run, "privacy", "--bits", 100, "--weights", 9, "--delta", 1e-6, "--clients", 1000)["valid"]
    assert 1000 * found["delta_floor"] > 1e-6 and found["shuffled_epsilon"] is None


@pytest.mark.parametrize(("n", "decoys", "delta"), [(1, 9, 1e-6), (2, 5, 1e-3), (10, 9, 1e-6)])
def test_no_epsilon_below_the_floor(run: Run, n: int, decoys: int, delta: float) -> None:
    found = document(run, "privacy", "--bits", n, "--weights", decoys, "--delta", delta)
    assert float(sum(p**decoys for p in closed_law(n))) > delta
    assert found["valid"]["epsilon"] is None and found["valid"]["shuffled_epsilon"] is None and found["valid"]["reason"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "decoys", "epsilon"), [(100, 7, 0.405), (100, 9, 0.454), (10, 20, 2.506), (10, 50, 4.639)]
)
def test_epsilon_of_the_specification(run: Run, n: int, decoys: int, epsilon: float) -> None:
    assert document(run, "privacy", "--bits", n, "--weights", decoys)["valid"]["epsilon"] == pytest.approx(
        epsilon, abs=6e-4
    )


# The paper's figures from its formulas


def gauss_delta(epsilon: float, mu: float) -> float:
    low, high = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return (math.erfc(low / math.sqrt(2)) - math.exp(epsilon) * math.erfc(high / math.sqrt(2))) / 2


@pytest.mark.slow
@pytest.mark.parametrize(("n", "decoys", "clients"), [(100, 9, 1000), (100, 50, 100), (10, 20, 10_000), (30, 5, 500)])
def test_figures_of_the_paper(run: Run, n: int, decoys: int, clients: int) -> None:
    delta = 1e-6
    paper = document(run, "privacy", "--bits", n, "--weights", decoys, "--delta", delta, "--clients", clients)["paper"]
    alpha, variance = 1 / (4 * n), 1 / 4 + (n - 1) / (2 * (2 * n - 1))
    sigma = (1 - alpha) * math.sqrt(variance / decoys)
    ratio, remainder = alpha * n / sigma, math.sqrt(n / decoys)
    radius = n * math.sqrt(math.log(4 / delta) / (2 * variance))
    rho, mu = decoys / 8, 2 * alpha * n * math.sqrt(decoys) / (1 - alpha)
    order = 1 + math.sqrt(8 * math.log(1 / delta) / decoys)
    local = paper["gaussian_epsilon"]
    expected = {
        "sigma": sigma,
        "signal_to_noise": ratio,
        "berry_esseen_remainder": remainder,
        "epsilon_eq_77": ratio**2 / 2 + ratio * radius,
        "epsilon_eq_79": ratio**2 / 2 + ratio * math.sqrt(2 * math.log(4 / delta)) + 2 * remainder,
        "mmse_eq_87": 1 / (1 + alpha**2 * n / 4 / sigma**2),
        "mmse_eq_88": 1 / (1 + decoys / (31.9 * n)),
        "renyi_order": order,
        "renyi_epsilon": order * decoys / 8 + math.log(1 / delta) / (order - 1),
        "zcdp_epsilon": rho + 2 * math.sqrt(rho * math.log(1 / delta)),
        "gaussian_mu": mu,
        "shuffled_epsilon_eq_96": math.log1p(math.tanh(local / 2) * math.sqrt(14 * math.log(2 / delta) / clients)),
    }
    assert {name: paper[name] for name in expected} == pytest.approx(expected, rel=1e-6)
    assert gauss_delta(local, mu) == pytest.approx(delta, rel=1e-4)
    assert paper["sound"] is False
    weights = (2 * n - 1) ** 2 + 1
    slope = 4 * n**2 * math.sqrt(math.log(16 * n**2 / delta) / (2 * weights)) / ((2 * n - 1) / (4 * n**2 * weights))
    assert (paper["full"]["weights"], paper["full"]["slope"]) == pytest.approx((weights, slope), rel=1e-9)
    assert paper["full"]["alpha"] == pytest.approx(0.8 / slope, rel=1e-3)


# Attacks on the matrix variant, simulated from the definition


def matrix_rates(n: int, decoys: int, clients: int) -> dict[str, np.ndarray]:
    rng, alpha = np.random.default_rng(7), 1 / (4 * n)
    rates: dict[str, list[float]] = {"zeros": [], "threshold": [], "feasibility": []}
    size, rows = 2 * n, np.arange(2 * n)
    for _ in range(clients):
        bits = rng.integers(0, 2, n)
        matrix = np.zeros((size, size))
        np.add.at(matrix, (rows, rows ^ np.repeat(bits, 2)), alpha)
        for weight in rng.dirichlet(np.ones(decoys)) * (1 - alpha):
            matrix[rows, rng.permutation(size)] += weight
        even = rows[::2]
        ones = np.stack([matrix[even, even + 1], matrix[even + 1, even]])
        noughts = np.stack([matrix[even, even], matrix[even + 1, even + 1]])
        guess = ones.sum(0) > noughts.sum(0)
        rates["zeros"].append((matrix == 0).mean())
        rates["threshold"].append((guess == bits).mean())
        one, nought = ones.min(0) >= alpha - 1e-12, noughts.min(0) >= alpha - 1e-12
        rates["feasibility"].append(
            (np.where(one & ~nought, True, np.where(nought & ~one, False, guess)) == bits).mean()
        )
    return {name: np.array(values) for name, values in rates.items()}


@pytest.mark.parametrize(("n", "decoys", "trials"), [(10, 20, 120), (10, 2, 200), (20, 9, 100)])
@pytest.mark.statistical
def test_attack_rates(run: Run, n: int, decoys: int, trials: int) -> None:
    found = document(run, "attack", "--variant", "full", "--bits", n, "--weights", decoys, "--trials", trials)
    named = {attack["name"]: attack for attack in found["attacks"]}
    for name, mine in matrix_rates(n, decoys, 400).items():
        error = mine.std() * math.sqrt(1 / 400 + 1 / trials)
        assert abs(named[name]["rate"] - mine.mean()) < 5.5 * error + 1e-9, name
        low, high = named[name]["interval"]
        assert low <= named[name]["rate"] <= high
        assert high - low == pytest.approx(2 * 1.96 * mine.std() / math.sqrt(trials), rel=0.5, abs=0.02)
    assert named["clustering"]["rate"] > 0.97


# Malformed inputs

BAD = {
    "ragged, short": b"a,b\n1,0\n1\n0,0\n1,1\n",
    "ragged, long": b"a,b\n1,0\n1,0,1\n0,0\n1,1\n",
    "word": b"a\n1\nyes\n0\n",
    "fraction": b"a\n1\n0.5\n0\n",
    "whole float": b"a\n1\n1.0\n0\n",
    "exponent": b"a\n1\n1e0\n0\n",
    "negative": b"a\n1\n-1\n0\n",
    "underscore": b"a\n1\n1_0\n0\n",
    "not a number": b"a\n1\nnan\n0\n",
    "empty value": b"a,b\n1,0\n,1\n0,0\n",
    "huge": b"a\n1\n" + b"9" * 5000 + b"\n0\n",
    "beyond 64 bits": b"a\n1\n18446744073709551617\n0\n",
    "other digits": "a\n1\n\u0665\n0\n".encode(),
    "one client twice": b"client,a\nx,1\ny,0\nx,1\nz,0\n",
    "column twice": b"a,a\n1,0\n1,0\n1,0\n",
    "column without a name": b"a,\n1,0\n1,0\n1,0\n",
    "empty": b"",
    "blank": b"\n\n\n",
    "header only": b"a,b\n",
    "two clients": b"a\n1\n0\n",
    "no question": b"client\nx\ny\nz\n",
    "NUL": b"a\n1\n\x000\n0\n",
    "NUL in the header": b"a\x00b\n1\n0\n1\n",
    "not UTF-8": b"\xff\xfea\n1\n0\n1\n",
    "Latin-1": b"gr\xf6\xdfer\n1\n0\n1\n",
    "binary": bytes(range(256)) * 4,
    "quote that does not end": b'a\n"1\n0\n1\n',
    "client without a name": b"client,a\n,1\n,0\nz,1\n",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["sum", "views"])
def test_malformed_inputs(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(BAD[name])
    more = ("--tally", "tally.csv", "--ledger", "ledger.json") if command == "sum" else ()
    ran = run("aggregate", command, "in.csv", "--out", "page.html", *more, "--json")
    assert ran.code == 2 and ran.out == "" and "Traceback" not in ran.err
    assert ran.err.count("\n") == 1 and ran.err.endswith("\n") and len(ran.err) < 400
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_no_file(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("good.csv").write_text("a\n1\n0\n1\n")
    for arguments in (
        ["sum", "absent.csv"],
        ["sum", "folder"],
        ["views", "folder"],
        ["sum", "good.csv", "--backend", "other"],
        ["sum", "good.csv", "--tally", "folder"],
        ["sum", "good.csv", "--ledger", "folder"],
        ["sum", "good.csv", "--least", "2"],
        ["sum", "good.csv", "--least", "4"],
        ["sum", "good.csv", "--client", "a"],
        ["sum", "good.csv", "--earlier", "absent.csv"],
        ["privacy", "--delta", "0"],
        ["privacy", "--delta", "nan"],
        ["privacy", "--delta", "2"],
        ["attack", "--variant", "other"],
        ["rehearse", "--clients", "2"],
        ["rehearse", "--dropouts", "1.5"],
        ["rehearse", "--dropouts", "nan"],
    ):
        ran = run("aggregate", *arguments, "--json")
        assert ran.code == 2 and ran.out == "" and ran.err and "Traceback" not in ran.err, arguments
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "good.csv"]


def test_byte_order_mark(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes("\ufeffclient,a\r\nx,1\r\ny,0\r\nz,1\r\n".encode())
    assert document(run, "sum", path)["totals"] == {"a": 2}


# Views


def seen(run: Run, path: Path) -> list[np.ndarray]:
    views = document(run, "views", path, "--backend", "shares")["views"][:2]
    return [
        np.array([struct.unpack("<8I", bytes.fromhex(line)) for line in view["first"]], np.uint32) for view in views
    ]


@pytest.mark.statistical
def test_one_share_says_nothing_and_two_say_all(run: Run, tmp_path: Path) -> None:
    """Both together give the answers. Alone, every bit of a share is a fair coin, whatever the answers are.

    Four samples times 32 bits, each at 6.5 standard deviations: less than 1e-8 of false alarm.
    """
    shares: dict[tuple[int, int], list[np.ndarray]] = {}
    for answer, _ in itertools.product((0, 1), range(40)):
        path = tmp_path / f"{answer}.csv"
        path.write_text(",".join(f"q{i}" for i in range(8)) + "\n" + (",".join([str(answer)] * 8) + "\n") * 3)
        one, other = seen(run, path)
        assert one.shape == (3, 8) and (one + other == answer).all()
        shares.setdefault((answer, 0), []).append(one)
        shares.setdefault((answer, 1), []).append(other)
    for values in shares.values():
        ones = (np.concatenate(values).reshape(-1, 1) >> np.arange(32) & 1).sum(0)
        many = sum(part.size for part in values)
        assert (abs(ones - many / 2) < 6.5 * math.sqrt(many) / 2).all()


def test_coalitions(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n1,0\n1,1\n0,1\n")
    everything = "every answer of every client"
    for backend, alone, together in (
        ("shares", [], ["aggregator 1 + aggregator 2"]),
        ("polyveil", ["server"], ["server + shuffler"]),
        ("polyveil-compressed", ["server"], ["server + shuffler"]),
        ("polyveil-two-layer", [], ["aggregator + noise aggregator"]),
        ("polyveil-shuffled", [], ["noise aggregator + shuffler", "aggregator + noise aggregator"]),
    ):
        coalitions = document(run, "views", path, "--backend", backend)["coalitions"]
        found = {name for name, learns in coalitions.items() if learns == everything and name.count("+") < 2}
        assert found == {*alone, *together}, backend


def test_views_count_bits_that_are_certain(run: Run, tmp_path: Path) -> None:
    """A masked bit below 1/4 is 0 and beyond 3/4 is 1: the view must not say that nothing is certain."""
    path = tmp_path / "in.csv"
    path.write_text("a,b,c,d\n" + "1,0,1,0\n" * 3)
    for _ in range(5):
        found = document(run, "views", path, "--backend", "polyveil-shuffled")
        shown = [struct.unpack("<4q", bytes.fromhex(line)) for line in found["views"][0]["first"]]
        unit = 2**20
        certain = [(value < unit, value > 3 * unit) for row in shown for value in row]
        assert not any(nought for nought, _ in certain[0::2]) and not any(one for _, one in certain[1::2])
        assert found["coalitions"]["shuffler"].startswith(f"{sum(map(any, certain))} of 12 bits for certain")
        assert [(view["role"], view["messages"]) for view in found["views"][2:]] == [
            ("aggregator", 3),
            ("server, from the roles", 2),
        ]


# Sessions


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS if EVERYTHING else ["polyveil", "polyveil-compressed"])
def test_rehearsal(run: Run, backend: str) -> None:
    """The other backends are rehearsed in `test_session.py` too."""
    found = document(
        run, "rehearse", "--clients", 200, "--bits", 10, "--backend", backend, "--dropouts", 0.1, "--seed", 5
    )
    assert (found["exact"], found["lost"], found["doubled"]) == (True, 0, 0)
    assert found["counted"] + found["dropped"] == 200 and found["dropped"] > 0 and found["restarts"] > 0
