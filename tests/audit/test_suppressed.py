"""Other tools' outputs under attack: every suppressed count that a reader can work out is found, and no other."""

import csv
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from safemargin.audit.attack import attack
from safemargin.audit.findings import Finding
from safemargin.bounds import Targets, build_system, settle
from safemargin.core import Onlooker, Publication, PublishedTable, Target
from safemargin.io import read_published

pytestmark = pytest.mark.full

TRUTH = Path(__file__).parent.parent.parent.parent / "shared" / "truth" / "sdc"
VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "frequency_tables.json").read_text())
MUN_ATTACKED = {tuple(row["cell"]): (row["lower"], row["upper"]) for row in VECTORS["mun_intervals"]}
OUTPUTS = sorted(TRUTH.glob("out_*.csv"))


def found_in(tables: Sequence[PublishedTable]) -> tuple[int, tuple[Finding, ...]]:
    """How many suppressed counts were looked at, and those that follow."""
    attempt = next(
        one
        for one in attack(Publication(tuple(tables), Target(kappa=10, tau=0))).attempts
        if one.attack == "suppressed"
    )
    return attempt.looked_at, attempt.findings


def as_tau_argus(path: Path, name: str, hidden: set[tuple[str, ...]]) -> Path:
    """A table with its margins in the layout of tau-ARGUS; empty cells have the status E."""
    axes, counts = VECTORS["inputs"][name].values()
    leaves = list(axes.values())
    base = np.array(counts, dtype=np.int64).reshape([len(part) for part in leaves])
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*axes, "one", "freq", "cost", "status", "lower", "upper"])
        for cell in product(*(["Total", *part] for part in leaves)):
            picks = [
                slice(None) if label == "Total" else part.index(label) for label, part in zip(cell, leaves, strict=True)
            ]
            count = int(base[tuple(picks)].sum())
            status = "M" if cell in hidden else "S" if count else "E"
            writer.writerow([*cell, f"{count}.0", count, count, status, 1, 1])
    return path


def intervals(tables: Sequence[PublishedTable]) -> dict[tuple[str, ...], tuple[int, int]]:
    """The interval of every suppressed count, by its labels."""
    system = build_system(tables, Onlooker())
    rows = [row for row, (table, at) in enumerate(system.sources) if table.status[at] == "suppressed"]
    targets = Targets(system.rows[rows], np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.int64))
    settled = settle(system, targets)
    found = {}
    for at, row in enumerate(rows):
        table, place = system.sources[row]
        found[tuple(sorted(table.cell(place).values()))] = (int(settled.lower[at]), int(settled.upper[at]))
    return found


def test_intervals_of_what_tau_argus_suppresses(tmp_path: Path) -> None:
    tables = read_published([as_tau_argus(tmp_path / "mun.csv", "mun", set(MUN_ATTACKED))])
    wanted = {tuple(sorted({*cell} - {"Total"})): ends for cell, ends in MUN_ATTACKED.items()}
    assert intervals(tables) == wanted
    looked_at, findings = found_in(tables)
    assert looked_at == 11
    assert [(finding.lower, finding.cell) for finding in findings] == [
        (6, {"mun": "k2"}),
        (1, {"mun": "k5"}),
        (1, {"mun": "k2", "inj": "none"}),
        (3, {"mun": "k3", "inj": "serious"}),
        (1, {"mun": "k5", "inj": "serious"}),
    ]


@pytest.mark.parametrize("tool", VECTORS["r8x6x5_suppressed"])
def test_patterns_of_a_three_way_table(tool: str, tmp_path: Path) -> None:
    count, wanted, mask = VECTORS["r8x6x5_suppressed"][tool].values()
    axes = VECTORS["inputs"]["r8x6x5"]["axes"]
    cells = list(product(*(["Total", *categories] for categories in axes.values())))
    bits = f"{int(mask, 16):0{len(cells)}b}"
    hidden = {cell for cell, bit in zip(cells, bits, strict=True) if bit == "1"}
    looked_at, findings = found_in(read_published([as_tau_argus(tmp_path / "table.csv", "r8x6x5", hidden)]))
    assert (looked_at, len(findings)) == (count, wanted)


@pytest.mark.data
@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.stem)
def test_every_stored_output(path: Path) -> None:
    """As many exact recoveries, and the same intervals, as the stored attacks found."""
    instance, tool = path.stem.removeprefix("out_").split("__")
    with (TRUTH / "summary_attack.csv").open() as file:
        wanted = {(row["inst"], row["tool"]): row for row in csv.DictReader(file)}
    tables = read_published([path])
    looked_at, findings = found_in(tables)
    if (instance, tool) in wanted:
        row = wanted[instance, tool]
        assert (looked_at, len(findings)) == (int(row["suppressed"]), int(row["posInt_exact"]))
    attack = TRUTH / f"attack_{instance}__{tool}.csv"
    if attack.exists():
        found = intervals(tables)
        with attack.open() as file:
            for row in csv.DictReader(file):
                labels = tuple(sorted({text for name, text in row.items() if name in tables[-1].axes} - {"Total"}))
                lower, upper = found[labels]
                assert lower == float(row["pos_lo"])
                assert upper == float(row["pos_up"]) if row["pos_up"] else upper > 10**9


def test_three_singletons_in_a_row(tmp_path: Path) -> None:
    """sdcTools/UserSupport 135: of a row of 10, 7 and 0 are printed, so three counts of at least one are all one."""
    path = tmp_path / "singletons.csv"
    path.write_text(
        "var1,var2,Freq,sdcStatus\nTotal,Total,21,s\nTotal,A,2,u\nTotal,B,1,u\nTotal,H,7,s\nTotal,M,3,s\nTotal,W,8,s\n"
        "1,Total,10,s\n1,A,1,u\n1,B,1,u\n1,H,7,s\n1,M,1,u\n1,W,0,s\n2,Total,11,s\n2,A,1,u\n2,B,0,s\n2,H,0,s\n2,M,2,u\n"
        "2,W,8,s\n"
    )
    tables = read_published([path])
    _, findings = found_in(tables)
    exact = {tuple(finding.cell.values()): finding.lower for finding in findings}
    assert exact.items() >= {("1", "A"): 1, ("1", "B"): 1, ("1", "M"): 1}.items()
    assert (
        max(one.people_exposed for one in attack(Publication(tables, Target(kappa=10, tau=0))).attempts) == 6
    )  # those of A and M, and of B in row 1


@pytest.mark.parametrize(("last", "recovered"), [("FALSE", {"K": 3}), ("TRUE", {})])
def test_hierarchies_that_are_not_nested(last: str, recovered: dict[str, int], tmp_path: Path) -> None:
    """sdcTools/UserSupport 136: small less county-1 is K + N = 10; with N printed, K is 3."""
    path, county, group = tmp_path / "regions.csv", tmp_path / "county.hrc", tmp_path / "group.hrc"
    county.write_text("county-1\n@A\n@B\n@I\n@J\ncounty-2\n@K\n@L\n@M\n@N\n")
    group.write_text("small\n@A\n@B\n@I\n@J\n@K\n@N\nBIG\n@L\n@M\n")
    shown = {"BIG": 6, "county-1": 20, "county-2": 16, "small": 30, "Total": 36, "I": 8, "J": 8}
    hidden = {"A": 2, "B": 2, "K": 3, "L": 3, "M": 3}
    lines = [f"{name},{count},FALSE,FALSE" for name, count in shown.items()]
    lines += [f"{name},{count},TRUE,TRUE" for name, count in hidden.items()]
    path.write_text("\n".join(["region,n,primary,suppressed", *lines, f"N,7,FALSE,{last}"]) + "\n")
    _, findings = found_in(read_published([path], hierarchies={"region": [county, group]}))
    assert {finding.cell["region"]: finding.lower for finding in findings} == recovered


@pytest.mark.parametrize(
    ("total", "cells", "hidden", "exact"),
    [(0, "0 0 0", "110", [0, 0]), (15, "10 5 0 0", "0011", [0, 0]), (15, "10 3 1 1", "0011", [1, 1])],
)
def test_zeros_and_ones(total: int, cells: str, hidden: str, exact: list[int], tmp_path: Path) -> None:
    """sdcTools/UserSupport 194: where zeros are suppressed too they add up to nothing; else a two is two ones."""
    path = tmp_path / "line.csv"
    rows = [
        f"c{place},{count},{'u' if bit == '1' else 's'}"
        for place, (count, bit) in enumerate(zip(cells.split(), hidden, strict=True))
    ]
    path.write_text("\n".join(["cell,Freq,sdcStatus", f"Total,{total},s", *rows]) + "\n")
    _, findings = found_in(read_published([path]))
    assert [finding.lower for finding in findings] == exact


def test_difference_between_two_outputs_of_acro(tmp_path: Path) -> None:
    """Nursery data: 4,320 in the table of parents alone, 4,318 shown beside a suppressed cell, which is therefore 2."""
    (tmp_path / "output_0_0.csv").write_text(
        "recommendation,great_pret,pretentious,usual,All\n"
        "not_recom,1440.0,1440.0,1440.0,4320.0\npriority,858.0,1484.0,1924.0,4266.0\nrecommend,,,,\n"
        "spec_prior,2022.0,1264.0,758.0,4044.0\nvery_recom,,132.0,196.0,328.0\nAll,4320.0,4320.0,4318.0,12958.0\n"
    )
    (tmp_path / "output_1_0.csv").write_text("parents,count\ngreat_pret,4320\npretentious,4320\nusual,4320\n")
    together = [tmp_path / "output_0_0.csv", tmp_path / "output_1_0.csv"]
    _, alone = found_in(read_published(together[:1]))
    assert alone == ()
    _, findings = found_in(read_published(together))
    exact = {(finding.cell["recommendation"], finding.cell["parents"]): finding.lower for finding in findings}
    assert exact["recommend", "usual"] == 2
