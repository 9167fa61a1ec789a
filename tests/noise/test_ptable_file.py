"""p-table files: every form is read and written, and what is wrong is said with the nearest that is right."""

from pathlib import Path

import numpy as np
import pytest

from cell_key_vectors import PTABLES
from safemargin.core import InputError
from safemargin.noise.ptable import NoiseLaws
from safemargin.noise.ptable_file import ons_text, ptable_text, read_ptable
from safemargin.samplers import KeyTable, PTable, key_table, ptable, reference_ptable, request


def written(tmp_path: Path, text: str, name: str = "table.csv") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_forms_are_those_of_the_tools(tmp_path: Path) -> None:
    table = reference_ptable(request(2, "1.05", 1), free=[3])
    assert ptable_text(table, "r").splitlines()[:4] == [
        "i,j,p,v,p_int_lb,p_int_ub,type",
        "0,0,1,0,0,1,all",
        "1,0,0.50833333,-1,0,0.50833333,all",
        "1,2,0.475,1,0.50833333,0.98333333,all",
    ]
    assert ptable_text(table, "tau-argus").splitlines()[:3] == [
        "i;j;p;v;p_int_ub",
        "0;0;1;0;1",
        "1;0;0.50833333;-1;0.50833333",
    ]
    for form in ("r", "tau-argus", "parts"):
        again = read_ptable(written(tmp_path, ptable_text(table, form)))
        assert isinstance(again, PTable)
        for mine, theirs in zip(again.rows, table.rows, strict=True):
            assert mine.printed == theirs.printed
    with pytest.raises(InputError, match="form = sas: must be one of r, tau-argus, parts, ons"):
        NoiseLaws(table).write(tmp_path / "table.sas", "sas")


def test_exact_tables_survive_as_parts(tmp_path: Path) -> None:
    table, _ = ptable(request(5, 2, 2))
    assert read_ptable(written(tmp_path, ptable_text(table, "parts"))) == table
    near = read_ptable(written(tmp_path, ptable_text(table, "r")))
    assert isinstance(near, PTable)
    assert near.matrix == pytest.approx(table.matrix, abs=2e-15)


def test_what_the_reference_writes_is_read(tmp_path: Path) -> None:
    """Its probabilities are differences of doubles; ends of keys may be named lb and ub."""
    lines = ["i,j,p,v,lb,ub,type"]
    for count, law in PTABLES[5, "2", 0].items():
        end = 0.0
        for v, p in law.items():
            before, end = end, round(end + p, 8)
            lines.append(f"{count},{count + v},{end - before!r},{v},{before},{end},all")
    table = read_ptable(written(tmp_path, "\n".join(lines) + "\n"))
    assert isinstance(table, PTable) and table.bound == 5 and table.js == 0
    assert table.rows[1].probabilities == pytest.approx(list(PTABLES[5, "2", 0][1].values()), abs=1e-8)


@pytest.mark.slow
def test_the_ons_form(tmp_path: Path) -> None:
    table, _ = ptable(request(3, 1))
    keyed = key_table(table)
    text = ons_text(keyed)
    assert text.startswith("pcv,ckey,pvalue\n1,0,") and text.count("\n") == 750 * 256 + 1
    again = read_ptable(written(tmp_path, text))
    assert isinstance(again, KeyTable) and again.repeat == 250 and again.modulus == 256
    assert np.array_equal(again.values, keyed.values)


def test_a_rule_that_is_biased_on_purpose(tmp_path: Path) -> None:
    """Counts below 10 become 0 and others are rounded to fives, as in the 10-5 rule of the ONS."""
    lines = ["pcv,ckey,pvalue"]
    for count in range(1, 13):
        for key in range(4):
            lines.append(f"{count},{key},{-count if count < 10 else round(count / 5) * 5 - count}")
    path = written(tmp_path, "\n".join(lines) + "\n")
    with pytest.raises(InputError, match="count 1: the noise has mean -1, so it is biased; no law"):
        read_ptable(path)
    found = read_ptable(path, biased=True)
    assert isinstance(found, KeyTable) and found.values[12].tolist() == [-2, -2, -2, -2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "i,j,p,v\n0,0,1,0\n1,0,0.4,-1\n1,2,0.4,1\n",
            "count 1: the probabilities add up to 0.8, not 1; divide",
        ),
        (
            "i,j,p,v\n0,0,1,0\n1,0,0.6,-1\n1,2,0.4,1\n",
            "count 1: the noise has mean -0.2, so it is biased; the nearest .* is -1: 0.50000000, 1: 0.50000000",
        ),
        ("i,j,p,v\n0,0,1,0\n1,1,-0.1,0\n1,2,1.1,1\n", "line 3: p = -0.1: is negative; the nearest is 0"),
        ("i,j,p,v\n0,0,1,0\n1,3,1,0\n", "line 3: j = 3 but i \\+ v = 1"),
        ("i,j,p,v\n0,0,1,0\n1,1,half,0\n", "line 3: p = 'half': is not a number"),
        ("i,j,p,v\n0,0,1,0\n1,1.5,1,.5\n", "line 3: v = .5: must be an integer"),
        ("i,j,p,v\n0,0,1,0\n2,2,1,0\n", "has no row for a count of 1"),
        ("i,j,p,v\n0,0,1,0\n1,1,.5,0\n1,1,.5,0\n", "line 4: count 1 has noise 0 twice"),
        ("i,j,p,v\n0,0,1,0\n1,2,.5,1\n1,0,.5,-1\n", "line 4: count 1: the noise must ascend"),
        (
            "i,j,p,v,p_int_ub\n0,0,1,0,1\n1,0,.5,-1,.4\n1,2,.5,1,1\n",
            "line 3: p = .5 but .* nearest is p = 0.4",
        ),
        ("i,v,p_int_ub\n0,0,1\n1,-1,.7\n1,1,.5\n", "line 4: p_int_ub = .5 is below the end before it"),
        ("i,j,p,v,type\n0,0,1,0,even\n", "type = 'even': only tables for counts"),
        ("a,b\n1,2\n", "is not a p-table"),
        ("pcv,ckey,pvalue\n1,0,0\n2,0,0\n2,1,0\n", "pcv = 1, ckey = 1: there is no such row"),
        ("pcv,ckey,pvalue\n1,0,0\n1,0,0\n", "line 3: pcv = 1, ckey = 0: is negative or listed twice"),
        ("pcv,ckey,pvalue\n1,99999,0\n", "at most 10000 and 65535"),
        ("count,noise,parts,total\n0,0,1,1\n1,-1,1,3\n1,1,1,3\n", "count 1: the parts add up to 2, not 3"),
        ("count,noise,parts,total\n0,0,1,1\n1,-1,1,2\n1,-1,1,2\n1,1,1,2\n", "line 4: count 1 has noise -1 twice"),
        ("count,noise,parts,total\n0,0,1,1\n1,-1,1,9\n1,1,1,2\n", "line 4: count 1 has total 2, and 9 before"),
        ("count,noise,parts,total\n0,0,1,1\n1,-2,1,2\n1,2,1,2\n", "table.csv: count 1: noise -2 makes it negative"),
        ("i,j,p,v\n", "table.csv: has no rows"),
        (f"pcv,ckey,pvalue\n1,0,0\n1,1,{10**30}\n", "line 3: pvalue = 1000.*: noise is at most 10000"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_ptable(written(tmp_path, text))
