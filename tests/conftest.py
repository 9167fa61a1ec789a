"""What several test files share: fixed Hypothesis runs, the tiers, the browser, and the public data sets."""

import functools
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts jobs in the background with it ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Several processes run tests side by side: threads of linear algebra beside them only wait for a core, and burn CPU.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
os.environ["COLUMNS"] = "120"  # whatever terminal there is, and in processes that run tests side by side too

# Typer reads the signatures of all commands of a group again at every call, which takes longer than most calls.
typer.main.get_params_from_function = functools.cache(typer.main.get_params_from_function)

ROOT = Path(__file__).parent.parent
# Programs that tests start find the code beside the tests, whichever checkout is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
# Bytecode is kept, whatever the environment says: without it every worker compiles all tests (12 CPU s each), and every
# program that a test starts compiles the package.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
DATA = ROOT.parent / "shared" / "data"


LONG = 1.5
"""CPU seconds from which on a test belongs to the third tier, and carries the marker `slow`; `pytest --costs` names
those without it. The second tier, `full`, is the rest of files in which many tests take more than a few hundredths."""
LONGEST = (
    "test_faults_of_parties.py",
    "test_faults_everywhere.py",
    "test_spark.py",
    "test_workbench.py",
    "test_exit_codes.py",
    "test_docs.py",
    "test_question_enumeration.py",
    "test_independent.py",
    "test_examples.py",
    "test_crash.py",
    "test_questions.py",
    "test_election.py",
)
"""Files with tests of the third tier come after all others, and of them these first, which take longest, so that no
worker begins one when the others have ended."""
MEASURED, TIER = "cpu seconds", "tier"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="Write tests/golden again.")
    parser.addoption("--costs", action="store_true", help="Say what the tests take, in CPU s with their processes.")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--costs") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Costs())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that read the data sets where there are none; quick files first, then those with slow tests, the
    longest of these before the others.
    """
    absent = pytest.mark.skip(reason="the data sets are not beside the checkout")
    for item in items:
        item.user_properties.append((TIER, _tier(item)))
        if not DATA.is_dir() and item.get_closest_marker("data"):
            item.add_marker(absent)
    place = {name: number for number, name in enumerate(LONGEST)}
    slow = {item.path for item in items if _tier(item) == "third"}
    items.sort(key=lambda item: (item.path in slow, place.get(item.path.name, len(place))))


def _tier(item: pytest.Item) -> str:
    marked = [name for name in ("slow", "statistical", "browser") if item.get_closest_marker(name)]
    return "third" if marked else "second" if item.get_closest_marker("full") else "first"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure the CPU seconds of a test with the processes that it starts, and its share of fixtures."""
    before = _cpu_seconds()
    item.user_properties.append((MEASURED, before))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    started = dict(item.user_properties)[MEASURED]
    item.user_properties.remove((MEASURED, started))
    item.user_properties.append((MEASURED, _cpu_seconds() - started))
    return (yield)


def _cpu_seconds() -> float:
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + below.ru_utime + below.ru_stime


class _Costs:
    """Collects what the tests report, from all processes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.tiers: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            known = dict(report.user_properties)
            self.seconds[report.nodeid], self.tiers[report.nodeid] = known[MEASURED], known[TIER]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What each tier takes, the costliest tests, and those that want a marker."""
        terminalreporter.section("costs")
        for tier in ("first", "second", "third"):
            taken = [seconds for name, seconds in self.seconds.items() if self.tiers[name] == tier]
            terminalreporter.line(f"{tier} tier: {len(taken)} tests, {sum(taken):.0f} CPU s")
        ordered = sorted(self.seconds.items(), key=lambda each: -each[1])
        for number, (name, seconds) in enumerate(ordered):
            wanted = seconds >= LONG and self.tiers[name] != "third"
            if number < 40 or wanted:
                terminalreporter.line(f"{seconds:7.2f} {name}{' (mark it slow)' if wanted else ''}")


RELEASE = "safemargin.release.release"


def pytest_collection_finish() -> None:
    """What other choices would publish is not computed: it takes four times what the release takes.

    A test that looks at it has the marker `alternatives`, or its name says so. Programs that tests start, and calls
    with `alternatives=True`, compute it always.
    """
    if RELEASE in sys.modules:  # not imported for tests that have no use for it
        sys.modules[RELEASE].WORK = 0  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def fixture_alternatives(request: pytest.FixtureRequest) -> Iterator[None]:
    """Computed in full, so that a slow machine shows the same."""
    wanted = request.node.get_closest_marker("alternatives") or "alternatives" in request.node.name
    with pytest.MonkeyPatch.context() as patch:  # one of its own: that of the test is undone in the usual order
        if wanted and RELEASE in sys.modules:
            patch.setattr(sys.modules[RELEASE], "WORK", 10**12)
        yield


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages come without pictures, as where the drawing library does not start: for tests that look at other things."""
    monkeypatch.setattr("safemargin.ui.charts._Drawer.draw", lambda *_: "")


@pytest.fixture(scope="session")
def data_sets() -> Path:
    """The folder of public data sets; use with the marker `data`."""
    return DATA


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's executable; its absence is a failure in CI and a skip elsewhere."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        message = "Chromium is not installed"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server from Debian's package, on a socket in a temporary folder."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").exists() else []
    if not places:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(f"/tmp/safemargin-postgres-{os.getpid()}")
    folder.mkdir(mode=0o777)
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "user": user, "cwd": folder}
    data = folder / "data"
    subprocess.run([places[-1] / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], check=True, **quiet)
    command = [places[-1] / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="]
    server = subprocess.Popen(command, **quiet)
    try:
        for _ in range(6_000):
            ready = subprocess.run([places[-1] / "pg_isready", "-h", folder, "-U", "postgres"], **quiet)
            if ready.returncode == 0:
                break
            time.sleep(0.05)
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which is no part of this project: `npm install --no-save axe-core` fetches it."""
    found = Path(os.environ.get("NODE_MODULES", "node_modules"), "axe-core", "axe.min.js")
    if not found.is_file():
        pytest.skip("axe-core is not installed: npm install --no-save axe-core")
    return found.read_text(encoding="utf-8")
