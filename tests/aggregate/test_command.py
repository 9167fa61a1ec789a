"""The command group as a user calls it."""

import json
from pathlib import Path

import pytest

from commands import Run, in_process
from evidence import EVERYTHING
from safemargin.aggregate.answers import read_answers
from safemargin.aggregate.backends import BACKENDS
from safemargin.aggregate.sum import sum as aggregate_sum, write_tally
from safemargin.core import InputError

CLIENTS = "50000" if EVERYTHING else "10000"
BITS = "client,q1,q2\na,1,0\nb,1,1\nc,0,1\nd,1,0\ne,1,1\nf,0,0\n"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def bits(tmp_path: Path) -> Path:
    path = tmp_path / "bits.csv"
    path.write_text(BITS)
    return path


@pytest.mark.parametrize(
    "backend", [name for name in BACKENDS if not name.startswith("prio3-") and name != "polyveil-scalar"]
)
def test_sum(run: Run, bits: Path, backend: str) -> None:
    ran = run("aggregate", "sum", str(bits), "--backend", backend, "--json")
    document = json.loads(ran.out)
    assert ran.code == 0 and document["totals"] == {"q1": 4, "q2": 3}
    assert (document["clients"], document["backend"]) == (6, backend) and document["bytes_per_client"] > 0


@pytest.mark.parametrize(
    "backend", [name for name in BACKENDS if not name.startswith("prio3-") and name != "polyveil-scalar"]
)
def test_counts(tmp_path: Path, backend: str) -> None:
    result = aggregate_sum([{"n": 3}, {"n": 0}, {"n": 7}, {"n": 1}], backend=backend)
    assert result.totals == {"n": 11} and result.largest == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1\n1\n2x\n0\n", "row 2, column 'q1': '2x'"),
        ("q1\n1\n-1\n0\n", "row 2, column 'q1': '-1'"),
        ("q1,q2\n1,0\n1\n0,0\n", "row 2 has 1 values, the header has 2"),
        ("client,q1\na,1\na,0\nb,1\n", "rows 1 and 2 are both of client 'a'"),
        ("q1,q1\n1,0\n1,1\n0,0\n", "column 'q1' is there twice"),
        ("client\na\nb\nc\n", "there is no question"),
        ("", "is empty"),
        ("q1\n1\n0\n", "2 clients: a sum needs at least 3"),
        ('q1\n"1\n0\n', "is not a CSV file"),
        ("q1\n99999999999999\n1\n1\n", "must be a whole number"),
        ("q1\n\u0661\n1\n1\n", "must be a whole number"),
    ],
)
def test_bad_input_is_one_line(run: Run, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    ran = run("aggregate", "sum", str(path))
    assert ran.code == 2 and message in ran.err and len(ran.err.strip().splitlines()) == 1


def test_sums_over_overlapping_sets_are_refused(run: Run, bits: Path, tmp_path: Path) -> None:
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("".join(BITS.splitlines(keepends=True)[:-1]))
    ran = run("aggregate", "sum", str(fewer), "--earlier", str(bits))
    assert ran.code == 2 and "the difference is about 1" in ran.err


def test_tally_for_a_project(tmp_path: Path) -> None:
    rows = [
        {"client": str(n), "young: yes": n % 2, "young: no": 1 - n % 2, "old: yes": 0, "old: no": 1} for n in range(5)
    ]
    result = aggregate_sum(rows)
    write_tally(result.totals, tmp_path / "age.csv", "age")
    assert (tmp_path / "age.csv").read_text() == "age,option,count\nyoung,yes,2\nyoung,no,3\nold,yes,0\nold,no,5\n"
    write_tally(aggregate_sum([{"yes": 1}, {"yes": 0}, {"yes": 1}]).totals, tmp_path / "total.csv")
    assert (tmp_path / "total.csv").read_text() == "option,count\nyes,2\n"
    with pytest.raises(InputError, match="category: option"):
        write_tally(aggregate_sum([{"yes": 1}] * 3).totals, tmp_path / "x.csv", "age")


def test_attack_and_privacy_documents(run: Run) -> None:
    ran = run("aggregate", "attack", "--bits", "4", "--weights", "5", "--trials", "20", "--json")
    names = [attack["name"] for attack in json.loads(ran.out)["attacks"]]
    assert names[0] == "zeros" and {"clustering", "hungarian", "birkhoff", "lattice", "learned classifier"} <= set(
        names
    )
    ran = run("aggregate", "privacy", "--bits", "10", "--weights", "20", "--clients", "100", "--json")
    document = json.loads(ran.out)
    assert document["valid"]["epsilon"] == pytest.approx(2.506, abs=0.002)
    assert document["paper"]["sound"] is False and document["exact"]["mass"] == pytest.approx(1, abs=1e-6)


def test_views(run: Run, bits: Path) -> None:
    document = json.loads(run("aggregate", "views", bits, "--backend", "polyveil-two-layer", "--json").out)
    assert document["coalitions"]["aggregator + noise aggregator"] == "every answer of every client"
    shares = json.loads(run("aggregate", "views", bits, "--backend", "shares", "--json").out)
    assert shares["coalitions"]["aggregator 1"].startswith("nothing")
    assert [view["bytes"] for view in shares["views"]] == [48, 48, 32]


def test_ledger_remembers_sets(run: Run, bits: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "sums.sqlite"
    assert run("aggregate", "sum", bits, "--ledger", ledger).code == 0
    assert run("aggregate", "sum", bits, "--ledger", ledger).code == 0
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("".join(BITS.splitlines(keepends=True)[:-1]))
    ran = run("aggregate", "sum", fewer, "--ledger", ledger)
    assert ran.code == 2 and "the difference is about 1" in ran.err


@pytest.mark.slow
def test_many_clients_in_one_process(run: Run) -> None:
    ran = run("aggregate", "rehearse", "--clients", CLIENTS, "--bits", "4", "--one-process", "--json")
    document = json.loads(ran.out)
    assert ran.code == 0 and document["exact"] and document["counted"] == int(CLIENTS)


def test_rows_and_files_give_the_same_answers(bits: Path) -> None:
    rows = [{"client": "a", "q1": 1, "q2": 0}, {"client": "b", "q1": 1, "q2": 1}]
    answers = read_answers(rows)
    assert answers.values.tolist() == read_answers(bits).values[:2].tolist()
    with pytest.raises(InputError, match="row 2 has other columns"):
        read_answers([{"q1": 1}, {"q2": 1}])


def test_pages(run: Run, bits: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("aggregate", "sum", str(bits), "--out", str(page)).code == 0
    assert "No single aggregator learns anything" in page.read_text()


def test_sums_with_proofs_of_categories_and_statistics(run: Run, bits: Path, tmp_path: Path) -> None:
    one = json.loads(run("aggregate", "sum", bits, "--backend", "prio3-statistic", "--weights", "3,-5", "--json").out)
    assert one["totals"] == {"3 q1 -5 q2": 3 * 4 - 5 * 3}
    some = run("aggregate", "sum", bits, "--backend", "prio3-some", "--most", "2", "--json")
    assert json.loads(some.out)["totals"] == {"q1": 4, "q2": 3}
    for wrong, match in (
        (["prio3-some", "--most", "1"], "at most 1"),
        (["prio3-one"], "must be exactly one"),
        (["prio3-statistic", "--weights", "1,2,3"], "3 weights for 2 questions"),
        (["prio3-some"], "says how many"),
    ):
        ran = run("aggregate", "sum", bits, "--backend", *wrong)
        assert ran.code == 2 and match in ran.err
    chosen = tmp_path / "one.csv"
    chosen.write_text("left,right\n1,0\n0,1\n1,0\n")
    document = json.loads(run("aggregate", "sum", chosen, "--backend", "prio3-one", "--json").out)
    assert document["totals"] == {"left": 2, "right": 1}
    assert "shift every total unseen" in document["dishonest"] and "proves" in document["validity"]


def test_views_of_proofs(run: Run, bits: Path) -> None:
    """Reports to both aggregators, what each gets from the other, and two sums: all of it, byte for byte."""
    document = json.loads(run("aggregate", "views", bits, "--json").out)
    assert [(view["role"], view["messages"], view["bytes"]) for view in document["views"]] == [
        ("aggregator 1", 6, 6 * 306),
        ("aggregator 2", 6, 6 * 162),
        ("aggregator 1, from aggregator 2", 6, 6 * 96),
        ("aggregator 2, from aggregator 1", 6, 6 * 96),
        ("server, from the roles", 2, 64),
    ]
    assert document["coalitions"]["aggregator 1 + aggregator 2"] == "every answer of every client"
