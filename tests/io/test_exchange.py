"""PX and SDMX-CSV, in and out: every count, and how it was published, comes back."""

import random
from pathlib import Path

import pytest

import safemargin
from safemargin.core import InputError, Target
from safemargin.io import WRITERS, read_published
from safemargin.verify.published import _comparable, _rows

NO_TOTALS = pytest.mark.filterwarnings("ignore:.*has no total:UserWarning")
"""Only regions have one, and a warning says that of the others."""
PX = """CHARSET="ANSI";
AXIS-VERSION="2013";
CODEPAGE="iso-8859-15";
TITLE="Befolkning; efter region, ålder";
TITLE[en]="Population by region";
STUB="region";
HEADING="ålder","kön";
VALUES("region")="Totalt","Norr",
"Sö"
"der";
VALUES("ålder")="0-17","18+";
VALUES("kön")="män","kvinnor";
ELIMINATION("region")="Totalt";
ELIMINATION("kön")=YES;
NOTE="a note; with a semicolon";
DATA=
9 ".." 7 8
4 "." 3 "-"
5 6 4 8;
"""


@NO_TOTALS
def test_a_px_file_of_an_office(tmp_path: Path) -> None:
    (tmp_path / "t.px").write_bytes(PX.encode("iso-8859-15"))
    tables = {table.axes: table for table in read_published([tmp_path / "t.px"])}
    assert set(tables) == {("region", "ålder", "kön"), ("ålder", "kön")}
    total = tables["ålder", "kön"]
    assert total.status == ("exact", "suppressed", "exact", "exact") and total.lower[[0, 2, 3]].tolist() == [9, 7, 8]
    joint = tables["region", "ålder", "kön"]
    cells = {
        tuple(joint.cell(row).values()): (int(joint.lower[row]), status) for row, status in enumerate(joint.status)
    }
    assert cells["Norr", "18+", "kvinnor"] == (0, "exact") and cells["Söder", "0-17", "kvinnor"] == (6, "exact")
    assert cells["Norr", "0-17", "kvinnor"][1] == "suppressed"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("5 6 4 8;", "5 6 4;", "DATA: has 11 values, and the variables have 12 combinations"),
        ("5 6 4 8;", "5 6 4 8 9;", "DATA: has more values"),
        ("5 6 4 8;", "5 6 4 8", "is no statement of a PX file"),
        ("iso-8859-15", "utf-8", "CODEPAGE = 'utf-8'"),
        ("iso-8859-15", "klingon", "CODEPAGE = 'klingon'"),
        ('STUB="region";\nHEADING="ålder","kön";', "", "STUB and HEADING name no variable"),
        ('HEADING="ålder","kön"', 'HEADING="ålder","ålder"', "'ålder' occurs twice"),
        ('VALUES("kön")="män","kvinnor"', 'VALUES("kön")="män","män"', "must name every category"),
        ("DATA=", 'KEYS("region")=VALUES;\nDATA=', "KEYS"),
        ("5 6 4 8;", "5 6 4 8.5;", "is not a whole number"),
    ],
)
@NO_TOTALS
def test_wrong_px_files_are_refused_in_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in PX
    (tmp_path / "t.px").write_bytes(PX.replace(old, new).encode("iso-8859-15"))
    with pytest.raises(InputError) as refused:
        read_published([tmp_path / "t.px"])
    assert words in str(refused.value) and "t.px" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("protect", ["auto", "noise"])
def test_what_a_release_writes_reads_the_same_in_every_format(tmp_path: Path, protect: str) -> None:
    draw = random.Random(4)
    rows = [{"site": f"s{draw.randrange(9)}", "vote": draw.choice(["yes", "no"])} for _ in range(900)]
    rows += [{"site": "s9", "vote": "yes"}] * 90 + [{"site": "s8", "vote": "yes"}] * 100
    made = safemargin.release(
        rows,
        answer="vote",
        by=["site"],
        protect=protect,
        target=Target(kappa=10, tau=0),
        outputs={"formats": ["csv", "px", "sdmx.csv"]},
    )
    published = made.write(tmp_path / "out") / "published"
    assert not safemargin.verify(published).failures
    (plain,) = read_published([published / "site.csv"])
    assert {"auto": "suppressed", "noise": "noised"}[protect] in plain.status
    for ending in ("px", "sdmx.csv"):
        (table,) = read_published([published / f"site.{ending}"])
        shown = [
            {
                (tuple(each.cell(row).values()), each.options[each.option[row]]): (
                    int(each.lower[row]),
                    int(each.upper[row]),
                    0 if each.noisy is None else int(each.noisy[row]),
                    status,
                )
                for row, status in enumerate(each.status)
            }
            for each in (plain, table)
        ]
        assert shown[0] == shown[1], ending


def test_a_px_file_is_data_for_a_release(tmp_path: Path) -> None:
    rows = [
        {"site": site, "vote": vote, "count": 40 + len(site) * len(vote), "status": "exact"}
        for site in ("A", "BB", "CCC")
        for vote in ("yes", "no")
    ]
    (tmp_path / "votes.px").write_bytes(WRITERS["px"](rows))
    made = safemargin.release(
        tmp_path / "votes.px", answer="vote", by=["site"], count="count", target=Target(kappa=10, tau=0)
    )
    assert made.certificate.certified and sum(row["count"] for row in rows) == sum(made.tables["total"]["count"])


def test_a_format_that_prints_other_rows_is_found(tmp_path: Path) -> None:
    rows = [
        {"site": site, "option": vote, "count": n, "status": "exact"}
        for site in "AB"
        for n, vote in ((3, "y"), (4, "n"))
    ]
    sparse: list[dict[str, object]] = [
        *rows[1:],
        {"site": "A | C", "option": "y", "count": None, "status": "suppressed"},
    ]
    for name, write in {"px": WRITERS["px"], "sdmx.csv": WRITERS["sdmx.csv"], "csv": WRITERS["csv"]}.items():
        (tmp_path / f"t.{name}").write_bytes(write(sparse))
        (tmp_path / f"u.{name}").write_bytes(write(rows))
    scratch = tmp_path / "scratch"
    files = sorted(path for path in tmp_path.iterdir())
    scratch.mkdir()
    read = {path.name: _comparable(_rows(path.name, path.read_bytes(), scratch)) for path in files}
    for stem in "tu":
        assert len({repr(rows) for name, rows in read.items() if name.startswith(stem)}) == 1
    assert read["t.px"] != read["u.px"]


def test_a_label_that_px_cannot_hold_is_named() -> None:
    with pytest.raises(InputError, match="PX file cannot hold this label"):
        WRITERS["px"]([{"site": 'A "B"', "count": 3, "status": "exact"}])
