"""Rows beyond the ceiling of memory are kept in a private folder, which goes however the process ends."""

import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

ROWS = 3_000_000
COUNTING = """
import os, sys, tempfile
from pathlib import Path
from safemargin.core import limit_memory
from safemargin.io import open_source
limit_memory("512MiB")
source = open_source(Path(sys.argv[1]))
with source.connected() as database:
    database.execute(f"create temp table t as select id, count(*) as n from {source.scan} group by all")
    print(database.execute("select count(*), sum(n) from t").fetchall()[0])
    (folder,) = Path(tempfile.gettempdir()).glob("safemargin-spilled-*")
    print(oct(folder.stat().st_mode & 0o777), sum(file.stat().st_size for file in folder.rglob("*")) > 2**20)
    sys.stdout.flush()
    if len(sys.argv) > 2:
        os.kill(os.getpid(), 9)
"""


@pytest.fixture(name="people", scope="module")
def fixture_people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Long ids, all different: more than half of the ceiling."""
    path = tmp_path_factory.mktemp("spill") / "people.parquet"
    duckdb.sql(f"copy (select md5(i::text) || md5((-i)::text) as id from range({ROWS}) t(i)) to '{path}'")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_rows_beyond_the_ceiling_spill_and_leave_nothing(people: Path, tmp_path: Path, killed: bool) -> None:
    warned = ["-W", "always::ResourceWarning"]
    command = [sys.executable, *warned, "-c", COUNTING, str(people), *(["kill"] if killed else [])]
    ran = subprocess.run(
        command, capture_output=True, text=True, env={"TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    )
    assert ran.stdout.splitlines() == [f"({ROWS}, {ROWS})", "0o700 True"], ran.stderr[-500:]
    assert ran.returncode == (-9 if killed else 0) and not ran.stderr
    for _ in range(3_000):  # the process that removes the rows of a killed one has to notice
        if not list(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_profiles_beyond_the_ceiling_are_one_line(tmp_path: Path) -> None:
    axes = ", ".join(f"('c' || hash(i + {axis}) % 50) as a{axis}" for axis in range(8))
    duckdb.sql(
        f"copy (select {axes}, ['yes', 'no'][1 + i % 2] as vote from range({ROWS}) t(i)) to '{tmp_path}/v.parquet'"
    )
    project = '[data]\nfile = "v.parquet"\nanswer = "vote"\n' + "".join(f"[axes.a{axis}]\n" for axis in range(8))
    (tmp_path / "project.toml").write_text(project)
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    command = [sys.executable, "-m", "safemargin", "release", "project.toml", "--out", "out", "--memory", "512MiB"]
    environment = {"TMPDIR": str(spilled), "PYTHONPATH": ":".join(sys.path)}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert ran.returncode == 2, ran.stderr[-500:]
    assert len(ran.stderr.strip().splitlines()) == 1 and "memory" in ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project.toml", "spilled", "v.parquet"]
    assert not list(spilled.iterdir())
