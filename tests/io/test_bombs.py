"""Files that are small and unpack to anything, or state a size that no table has: refused in a line, soon, in 1 GiB."""

import gzip
import os
import resource
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from evidence import EVERYTHING
from excel import write_xlsx
from safemargin.core import TooLargeError
from safemargin.io.workbook import check_workbook

SECONDS, BYTES = 5.0, 2**30
FAR = b'<row r="1048576"><c %sr=%sXFD1048576%s><v>1</v></c></row></sheetData>'


def nested(folder: Path) -> Path:
    (folder / "t.json").write_text("[" * 3_000_000 + "]" * 3_000_000)
    return folder / "t.json"


def nested_records(folder: Path) -> Path:
    (folder / "t.json").write_text('[{"a":' * 100_000 + "1" + "}]" * 100_000)
    return folder / "t.json"


def one_line(folder: Path) -> Path:
    (folder / "t.csv").write_bytes(b"a,1," * 15_000_000)
    return folder / "t.csv"


def one_field(folder: Path) -> Path:
    (folder / "t.csv").write_bytes(b'region,count\n"' + b"x" * 60_000_000 + b'",5\n')
    return folder / "t.csv"


def many_columns(folder: Path) -> Path:
    (folder / "t.csv").write_text(",".join(f"c{k}" for k in range(300_000)) + "\n" + ",".join("1" * 300_000) + "\n")
    return folder / "t.csv"


def packed_text(folder: Path) -> Path:
    with gzip.open(folder / "t.csv.gz", "wb", 9) as file:
        file.write(b"region,a,b\n")
        for _ in range(600):
            file.write(b"x,1,2\n" * 150_000)
    return folder / "t.csv.gz"


def endless_view(folder: Path) -> Path:
    endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select 'x' || n as region, n as a from r"
    with sqlite3.connect(folder / "t.sqlite") as base:
        base.execute(f"create view v as {endless}")
    base.close()
    return folder / "t.sqlite"


def dictionary(folder: Path) -> Path:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    codes = arrow.array([0] * 1_000_000, arrow.int32())
    region = arrow.DictionaryArray.from_arrays(codes, arrow.array(["x" * 1000]))
    parquet.write_table(arrow.table({"region": region, "a": codes}), folder / "t.parquet", compression="zstd")
    return folder / "t.parquet"


def _sheet(folder: Path, change: Callable[[bytes], bytes]) -> Path:
    plain = write_xlsx(folder / "plain.xlsx", {"A": [["Region", "a", "b"], ["N", 10, 20], ["S", 30, 40]]})
    path = folder / "t.xlsx"
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in source.namelist():
            content = source.read(name)
            packed.writestr(name, change(content) if name.endswith("sheet1.xml") else content)
    plain.unlink()
    return path


def far(folder: Path) -> Path:
    return _sheet(folder, lambda text: text.replace(b"</sheetData>", FAR % (b"", b'"', b'"')))


def far_in_apostrophes(folder: Path) -> Path:
    return _sheet(folder, lambda text: text.replace(b"</sheetData>", FAR % (b"", b"'", b"'")))


def far_after_others(folder: Path) -> Path:
    return _sheet(folder, lambda text: text.replace(b"</sheetData>", FAR % (b't="n"\n  s="1"\n ', b'"', b'"')))


def padded(folder: Path) -> Path:
    return _sheet(folder, lambda text: text + b" " * 300_000_000)


@pytest.mark.parametrize(
    "row",
    [
        b"<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>",
        b'<row r="1048576"><c s=">" r="XFD1048576"><v>1</v></c></row>',
        b'<x:row r="1048576"><x:c r="XFD1048576"><v>1</v></x:c></x:row>',
        b'<row r="1048576"><c ' + b" " * 3000 + b'r="XFD1048576"><v>1</v></c></row>',
        b'<row r="1048576">' + b"<c><v>1</v></c>" * 16384 + b"</row>",
    ],
)
def test_a_far_cell_is_seen_however_it_is_written(row: bytes, tmp_path: Path) -> None:
    """The library that reads workbooks would ask for the rectangle of all cells, and end the process."""
    path = _sheet(tmp_path, lambda text: text.replace(b"</sheetData>", row + b"</sheetData>"))
    with pytest.raises(TooLargeError, match="lie in a rectangle of 17,179,869,184"):
        check_workbook(path)
    check_workbook(_sheet(tmp_path, lambda text: text))


QUICK = (nested, nested_records, many_columns, far, far_in_apostrophes, far_after_others, endless_view)
SLOW = (one_line, one_field, packed_text, dictionary, padded)


@pytest.mark.slow
@pytest.mark.parametrize("make", [*QUICK, *(SLOW if EVERYTHING else SLOW[:1])])
def test_a_bomb_is_refused(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """CPU time and memory of the whole command, libraries included; CPU is limited, so that a test ends."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    path = make(tmp_path)
    with (tmp_path / "err.txt").open("w") as err:
        command = [sys.executable, "-m", "safemargin", "audit", str(path)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, preexec_fn=limit)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    said = (tmp_path / "err.txt").read_text()
    assert process.returncode == 2 and said.count("\n") == 1, said
    assert used.ru_maxrss * 1024 < BYTES
    assert used.ru_utime + used.ru_stime < 4 * SECONDS  # 5 s on an idle machine; a busy one counts more
