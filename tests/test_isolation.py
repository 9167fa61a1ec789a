"""No file of the current folder is run as code, by any command that starts a process, nor by the workbench."""

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import SCRIPT
from safemargin.core import python_command, safe_children, safe_environment
from safemargin.io.statistics_file import as_texts
from safemargin.web.jobs import Jobs
from test_golden import FILES

SOURCE = Path(__file__).parent.parent / "src"
PLANTED = [
    *("collections", "cryptography", "duckdb", "encodings", "enum", "http", "json", "multiprocessing", "nacl", "numpy"),
    *("pickle", "pyarrow", "pydantic", "pyreadstat", "pyspark", "safemargin", "sitecustomize", "socket", "starlette"),
    *("typing", "usercustomize", "uvicorn", "vl_convert"),
]
"""Modules that a program of ours, or a library that it loads, would import from the current folder."""
CALLS = {
    "SPSS": "init votes.sav --answer answer --out first.toml",
    "Stata": "audit votes.dta",
    "charts": "release project.toml --out out",
    "sums": "aggregate rehearse --clients 4 --bits 4",
}


def plant(folder: Path) -> Path:
    """Files that leave a trace when they are run; the trace is named."""
    trace = folder / "trace"
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(trace)!r}, 'a').write({name!r} + chr(10))\n")
    return trace


@pytest.fixture(name="planted")
def fixture_planted(tmp_path: Path) -> Path:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    for name in ("votes.csv", "project.toml"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    frame = pandas.read_csv(tmp_path / "votes.csv")
    pyreadstat.write_sav(frame, str(tmp_path / "votes.sav"))
    pyreadstat.write_dta(frame, str(tmp_path / "votes.dta"))
    plant(tmp_path)
    return tmp_path


def test_what_is_planted_would_be_run(planted: Path) -> None:
    """The trap works: Python itself takes modules from the current folder."""
    subprocess.run([sys.executable, "-c", "import pyreadstat"], cwd=planted, check=True)
    assert "pyreadstat" in (planted / "trace").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_a_command_runs_no_file_of_the_current_folder(planted: Path, call: str) -> None:
    ran = subprocess.run([SCRIPT, *CALLS[call].split()], cwd=planted, capture_output=True, text=True, check=False)
    assert not (planted / "trace").exists(), (planted / "trace").read_text()
    assert ran.returncode in (0, 1, 3) and ran.stdout, ran.stderr
    if call == "charts":
        assert "<svg" in (planted / "out/confidential/report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_election_runs_no_file_of_the_current_folder(planted: Path) -> None:
    command = [SCRIPT, "election", "rehearse", "--voters", "20", "--out", "out"]
    ran = subprocess.run(command, cwd=planted, capture_output=True, text=True, check=False)
    assert not (planted / "trace").exists(), (planted / "trace").read_text()
    assert ran.returncode in (0, 1), ran.stderr


@pytest.mark.slow
def test_a_job_of_the_workbench_runs_no_file_of_its_folder(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the environment asks for the current folder."""
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}.{os.pathsep}")
    jobs = Jobs()
    job = jobs.start(("init", "votes.sav", "--answer", "answer", "--out", "new.toml"), planted, "Init", "data")
    while job.state == "running":
        time.sleep(0.02)
    assert job.state == "done", job.message
    assert not (planted / "trace").exists(), (planted / "trace").read_text()


def test_relative_folders_for_modules_are_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "inner", str(tmp_path)]))
    assert safe_environment()["PYTHONPATH"] == str(tmp_path)
    with safe_children():
        assert os.environ["PYTHONPATH"] == str(tmp_path) and os.environ["PYTHONSAFEPATH"] == "1"
    assert os.environ["PYTHONPATH"].startswith(os.pathsep) and "PYTHONSAFEPATH" not in os.environ
    assert python_command("-m", "x") == [sys.executable, "-P", "-m", "x"]


@pytest.mark.slow
def test_python_is_started_in_one_way_only() -> None:
    """A process that somebody adds goes through `core.processes`; nothing is unpickled, no text becomes code."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name not in ("processes.py", "spark_session.py") or path.parent.name == "aggregate":
            assert "sys.executable" not in text, path
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not names & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}, path
        called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert not called & {"eval", "exec", "compile"}, path
        started = [node for node in nodes if isinstance(node, ast.Call) and _is_start(node)]
        for node in started:
            words = {keyword.arg for keyword in node.keywords}
            assert "env" in words or "scratch" in path.name, (path, node.lineno)
            assert "shell" not in words, (path, node.lineno)


def _is_start(node: ast.Call) -> bool:
    function = node.func
    is_subprocess = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return is_subprocess and function.value.id == "subprocess" and function.attr in ("Popen", "run", "call")  # type: ignore[attr-defined]


def test_texts_of_a_statistics_file() -> None:
    nan = float("nan")
    assert as_texts([1.0, nan, 2.5, None, float("nan"), "a"], {1.0: "one"}) == [
        ["one", "", "2.5", "a"],
        [0, 1, 2, 1, 1, 3],
    ]
