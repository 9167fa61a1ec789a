"""A session on a cluster of Spark: started, watched and ended; what goes wrong is one line."""

import ast
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

from safemargin.core import (
    InputError,
    SafemarginError,
    TooLargeError,
    memory_limit,
    safe_children,
    without_memory_limit,
)

T = TypeVar("T")
Item = TypeVar("Item")

LOCAL = "local[*]"
"""Without a master, Spark runs in one process on all cores of this machine."""
MASTERS = re.compile(r"local(\[(\*|[0-9]+)(,[0-9]+)?\])?|yarn|k8s://\S+|spark://[^\s/,:]+:[0-9]+(,[^\s/,:]+:[0-9]+)*")
REACHED = 5
"""Seconds in which a master must answer."""
PATIENCE = 60
"""Seconds for which a cluster may be without any worker: Spark itself would wait for ever."""
POLLED = 0.2
"""Seconds between two looks at the cluster."""

# Rows must never be dropped, whatever the defaults of a cluster say; texts must be those that DuckDB reads.
SESSION = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
LAUNCH = {
    "spark.app.name": "safemargin",
    "spark.executorEnv.PYTHONSAFEPATH": "1",  # workers take no module from the folder they run in
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def checked_master(master: str | None) -> str:
    """The address of a cluster, if it is one."""
    if master is not None and not MASTERS.fullmatch(master):
        raise InputError(f"master = {master[:60]!r}: must be spark://HOST:PORT, yarn, k8s://..., local[4] or local[*]")
    return master or LOCAL


@contextmanager
def session(path: Path, master: str) -> Iterator[Any]:
    """A session of Spark: that of the calling program, if there is one, or a new one that ends here."""
    try:
        with quiet():
            import pyspark.testing.utils  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("pyspark is not installed; run: pip install 'safemargin[spark]'") from None
    running = SparkSession.getActiveSession()
    spark = _launched(path, master) if running is None else running.newSession()
    for key, value in SESSION.items():
        spark.conf.set(key, value)
    try:
        yield spark
    finally:
        if running is None:
            with suppress(Exception):  # a cluster that is gone does not answer
                spark.stop()


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of Spark about versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _launched(path: Path, master: str) -> Any:
    """A new session; the program that starts Spark writes nothing to our terminal."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    settings = {**LAUNCH, "spark.master": master}
    if (here := _own_address(master)) is not None:
        settings |= {"spark.driver.host": here, "spark.driver.bindAddress": here}
    if (limit := memory_limit()) is not None:
        settings["spark.driver.memory"] = f"{limit // 2**20}m"
    conf = SparkConf().setAll(list(settings.items()))
    if SparkContext._gateway is None:
        _require_java()
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            with without_memory_limit(), safe_children():
                gateway = launch_gateway(conf, silent)
        except Exception:
            raise InputError("engine = 'spark': Java did not start Spark; it must be version 17 or later") from None
    else:
        gateway = SparkContext._gateway
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        if master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # not another Python that happens to be found first
        return SparkSession(context)
    except Exception as error:
        raise _explained(path, master, error) from None


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")  # where it is set, Spark looks nowhere else
    if not (Path(home, "bin", "java").is_file() if home else shutil.which("java")):
        raise InputError("engine = 'spark': there is no Java; install Java 17 or later, or set JAVA_HOME")


def _own_address(master: str) -> str | None:
    """The address of this machine that a standalone master sees; Spark would guess one, and listen on all of them."""
    if master.startswith("local"):
        return "127.0.0.1"
    if not master.startswith("spark://"):
        return None
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        with (
            suppress(OSError, OverflowError, UnicodeError),
            socket.create_connection((host, int(port)), REACHED) as line,
        ):
            return str(line.getsockname()[0])
    raise InputError(f"master = {master!r}: no master answers there; start it, or correct the address")


def watched(spark: Any, path: Path, master: str, work: Callable[[], T]) -> T:
    """What `work` gives, unless the cluster has no worker for too long."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seen = time.monotonic()
    try:
        while thread.is_alive():
            thread.join(POLLED)
            if master.startswith("local") or _workers(spark):
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise InputError(f"master = {master!r}: the cluster has had no worker for {PATIENCE} seconds")
    except BaseException:
        with suppress(Exception):
            spark.sparkContext.cancelAllJobs()
        raise
    if errors:
        raise _explained(path, master, errors[0]) from None
    return results[0]


def in_tasks(path: Path, master: str | None, work: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """What `work`, a function of safemargin, makes of each item, in a task of its own on a cluster.

    Spark takes one result of each task, however often it runs one, and `collect` is the only action: what a task that
    died had made is seen by nobody. The results are in no plan or cache that Spark could compute again.
    """
    where = checked_master(master)
    with session(path, where) as spark:

        def run() -> list[T]:
            _send_code(spark.sparkContext)
            done: list[T] = spark.sparkContext.parallelize(items, len(items)).map(work).collect()
            return done

        return watched(spark, path, where, run)


def _send_code(context: Any) -> None:
    """Send all code of safemargin to the workers, where it goes before what is installed: they work as we would."""
    package = Path(__file__).parents[1]
    code = Path(context._temp_dir, f"{package.name}.zip")  # as long as the context: a later worker asks for it too
    before = sys.path[:]
    if not code.exists():
        with ZipFile(code, "w") as file:
            for source in sorted(package.rglob("*.py")):
                file.writestr(str(source.relative_to(package.parent)), _without_stub(source))
        context.addPyFile(str(code))
    sys.path[:] = before  # Spark would have this process import from there as well


def _without_stub(source: Path) -> str:
    """A file of code as workers load it: no stub is read from a zip file, so the names of a package are in the code."""
    text, stub = source.read_text(encoding="utf-8"), source.with_suffix(".pyi")
    if "attach_stub" not in text or source.name != "__init__.py":
        return text
    lines = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    names: dict[str, list[str]] = {}
    for line in lines:
        names.setdefault(line.module or "", []).extend(alias.name for alias in line.names)
    return text.replace("attach_stub(__name__, __file__)", f"attach_stub(__name__, submod_attrs={names!r})").replace(
        "attach_stub", "attach"
    )


def _workers(spark: Any) -> int:
    """Executors that run now; the list has this process, too."""
    try:
        return len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1
    except Exception:  # the context was stopped: the job ends with an error of its own
        return 0


def _explained(path: Path, master: str, error: BaseException) -> BaseException:
    """One line from what Spark reports, which may quote a record, so only names of errors are repeated."""
    # What our own code found: a check that failed must not be taken for a fault of the cluster.
    if isinstance(error, SafemarginError | AssertionError | KeyboardInterrupt | MemoryError):
        return error
    text = str(error)
    if "MALFORMED_RECORD" in text or "MalformedRecord" in text or "MALFORMED_CSV" in text:
        return InputError(f"{path}: is not valid CSV: a row has more or fewer values than the header")
    if "maxResultSize" in text or "OutOfMemoryError" in text:
        return TooLargeError(f"{path}: the combinations of its values do not fit in memory; use fewer axes")
    if "stopped SparkContext" in text or "shut down" in text or "unresponsive" in text or "Master removed" in text:
        return InputError(f"master = {master!r}: the cluster ended before its work was done; run again")
    absent = re.search(r"No module named '(\w+)", text)
    if absent or "PythonException" in text or "PYTHON_VERSION_MISMATCH" in text or "Cannot run program" in text:
        needed = dict.fromkeys(["numpy", "pyarrow", *(absent.groups() if absent else ())])
        python = f"Python {sys.version_info.major}.{sys.version_info.minor} with {' and '.join(needed)}"
        return InputError(f"master = {master!r}: its workers need {python}; set PYSPARK_PYTHON to one")
    if "PATH_NOT_FOUND" in text or "No FileSystem for scheme" in text or "UNABLE_TO_INFER_SCHEMA" in text:
        return InputError(f"{path}: there is no Parquet file there that this Spark can read")
    # The last cause that Java names is the nearest to the reason.
    names = re.findall(r"(?:^|Caused by: |: )([\w.]+\.(\w+(?:Exception|Error)))\b", text)
    said = names[-1][1] if names else type(error).__name__
    return InputError(f"{path}: Spark could not finish ({said}); its log has the details")
