"""Counting with Spark: one GROUP BY over all columns on a cluster; labels and codes come from DuckDB, as for any file.

Only distinct rows and their numbers come to this process. Workers run no Python, and nothing is downloaded.
"""

import glob
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from safemargin.core import InputError, TooLargeError, memory_limit, without_memory_limit
from safemargin.io.csv_text import csv_header
from safemargin.io.duck import DuckSource, connected, literal, open_counts
from safemargin.io.files import Profiles, check_columns, check_names, require_file, suffix
from safemargin.io.places import Address, Stamps, check_unchanged, stamped

T = TypeVar("T")

LOCAL = "local[*]"
"""Without a master, Spark runs in one process on all cores of this machine."""
MASTERS = re.compile(r"local(\[(\*|[0-9]+)(,[0-9]+)?\])?|yarn|k8s://\S+|spark://[^\s/,:]+:[0-9]+(,[^\s/,:]+:[0-9]+)*")
REACHED = 5
"""Seconds in which a master must answer."""
PATIENCE = 60
"""Seconds for which a cluster may be without any worker: Spark itself would wait for ever."""
POLLED = 0.2
"""Seconds between two looks at the cluster."""
ODD = '^\\s*"|[\\r\\n\ufffd]'
"""What values hold where a quote does not end, on which Spark reads on and DuckDB refuses the file, and where bytes are
not UTF-8, of which Spark makes one sign, so that different values would become one."""

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
LAUNCH = {"spark.app.name": "safemargin", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


@dataclass(frozen=True)
class SparkSource:
    """Files that Spark can scan: Parquet or CSV on disks that every worker sees, or Parquet at an address.

    `path` is what messages call them; `base` is the folder whose subfolders such as `year=2024` are columns.
    """

    path: Path
    files: tuple[str, ...]
    master: str = LOCAL
    base: str | None = None
    csv: tuple[tuple[str, ...], str] | None = None
    stamps: Stamps = ()

    def profiles(self, columns: tuple[str, ...], values: Collection[str] = ()) -> Profiles:
        """Distinct rows of `columns`; those in `values` may hold any number of different texts."""
        return self.counted(columns).profiles(columns, values)

    def counted(self, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> DuckSource:
        """Distinct rows of `columns`, and of those in `optional` that there are, as a table that DuckDB can scan."""
        check_unchanged(self.stamps)
        try:
            with session(self.path, self.master) as spark:
                work = partial(self._counted, spark, columns, optional)
                names, counted = _watched(spark, self.path, self.master, work)
        except InputError:
            check_unchanged(self.stamps)  # says more than what Spark makes of a file that changed
            raise
        check_unchanged(self.stamps)
        return open_counts(self.path, names, counted)

    def _counted(self, spark: Any, columns: tuple[str, ...], optional: tuple[str, ...]) -> tuple[tuple[str, ...], Any]:
        """The columns that there are, and their distinct rows as an Arrow table with columns k0, k1, ... and n."""
        from pyspark.sql import functions

        frame = self._frame(spark)
        names = self.csv[0] if self.csv else tuple(frame.columns)
        check_names(self.path, list(names))
        check_columns(self.path, names, columns)
        columns = tuple(dict.fromkeys([*columns, *(name for name in optional if name in names)]))
        fields = {name: f"c{place}" if self.csv else name for place, name in enumerate(names)}
        keys = [frame[_quoted(fields[name])].alias(f"k{place}") for place, name in enumerate(columns)]
        before = None if self.stamps else _listing(spark, frame)
        # All columns are looked at, since a quote that does not end swallows rows wherever it stands.
        odd = " or ".join(f"coalesce(c{place}, '') rlike r'{ODD}'" for place in range(len(names) if self.csv else 0))
        sums = (functions.expr("count(*) as n"), functions.expr(f"bool_or({odd or 'false'}) as odd"))
        counted = frame.groupBy(*keys).agg(*sums).toArrow()
        if any(counted.column("odd").to_pylist()):
            raise InputError(
                f"{self.path}: a value holds a line end or an odd quote; use engine = 'duckdb' for such CSV"
            )
        if before is not None and _listing(spark, self._frame(spark)) != before:
            raise InputError(f"{self.path}: changed while it was read; run again when nobody writes it")
        return columns, counted

    def _frame(self, spark: Any) -> Any:
        """The table; the files at an address must have the same columns, since Spark takes an absent one for empty."""
        if self.csv is not None:
            names, delimiter = self.csv
            # FAILFAST: a row of another length ends the job. multiLine: a quoted value may hold a line end.
            options = {"header": "true", "sep": delimiter, "quote": '"', "escape": '"', "mode": "FAILFAST"}
            options |= {"multiLine": "true", "enforceSchema": "true", "encoding": "UTF-8", "maxCharsPerColumn": "-1"}
            schema = ", ".join(f"c{place} string" for place in range(len(names)))
            return spark.read.options(**options).schema(schema).csv(list(self.files))
        reader = spark.read if self.base is None else spark.read.option("basePath", self.base)
        frame = reader.parquet(*self.files)
        known = None
        for file in () if self.stamps else sorted(frame.inputFiles()):
            found = [(field.name, field.dataType) for field in spark.read.parquet(_escaped(unquote(file))).schema]
            known = known or found
            if found != known:
                raise InputError(f"{self.path}: {Path(unquote(file)).name} has other columns than the other files")
        return frame


def open_spark(path: Path, parts: tuple[Path, ...] | None, master: str | None = None) -> SparkSource:
    """A CSV or Parquet file, or the Parquet files in `parts`, that every worker of the cluster can read."""
    if parts is not None and not parts:
        raise InputError(f"{path}: there is no Parquet file in it, or none with such a name")
    for file in parts or (path,):
        require_file(file)
    stamps = stamped(parts or (path,))
    files = tuple(_escaped(f"file://{file.resolve()}") for file in parts or (path,))
    master = checked_master(master)
    if parts is not None:
        _check_alike(path, parts)
        return SparkSource(path, files, master, _base(parts), None, stamps)
    if suffix(path) == ".parquet":
        return SparkSource(path, files, master, None, None, stamps)
    if suffix(path) in (".csv", ".tsv", ".txt"):
        names, delimiter, above = csv_header(path)
        if above:
            raise InputError(f"{path}: Spark reads no CSV file with lines above the header; remove them")
        return SparkSource(path, files, master, None, (tuple(names), delimiter), stamps)
    raise InputError(f"{path}: Spark reads .parquet and .csv; use engine = 'duckdb' for {suffix(path)!r}")


def _check_alike(path: Path, parts: tuple[Path, ...]) -> None:
    """Refuse files with different columns: Spark takes a column that a file lacks for empty values."""
    files = ", ".join(literal(glob.escape(str(part))) for part in parts)
    kinds = "name, type, converted_type, logical_type"
    with connected(path, parts=parts) as database:
        listed = f"select file_name, list_sort(list(({kinds})::varchar)) as k from parquet_schema([{files}]) group by 1"
        query = f"select min(file_name) from ({listed}) group by k order by count(*)"
        other, *same = database.execute(query).fetchall()
    if same:
        raise InputError(f"{path}: {Path(other[0]).name} has other columns than the other files")


def open_lake(address: Address, master: str | None = None) -> SparkSource:
    """Parquet files at an address that the file systems of the cluster know, such as `hdfs://` or `s3a://`."""
    return SparkSource(address.shown, (address.url,), checked_master(master))


def checked_master(master: str | None) -> str:
    """The address of a cluster, if it is one."""
    if master is not None and not MASTERS.fullmatch(master):
        raise InputError(f"master = {master[:60]!r}: must be spark://HOST:PORT, yarn, k8s://..., local[4] or local[*]")
    return master or LOCAL


@contextmanager
def session(path: Path, master: str) -> Iterator[Any]:
    """A session of Spark: that of the calling program, if there is one, or a new one that ends here."""
    try:
        with warnings.catch_warnings():  # Spark warns of versions of pandas, which is not used here
            warnings.simplefilter("ignore", FutureWarning)
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
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            with without_memory_limit():
                gateway = launch_gateway(conf, quiet)
        except Exception:
            raise InputError("engine = 'spark': Java did not start Spark; it must be version 17 or later") from None
    else:
        gateway = SparkContext._gateway
    try:
        return SparkSession(SparkContext(conf=conf, gateway=gateway))
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


def _watched(spark: Any, path: Path, master: str, work: Callable[[], T]) -> T:
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


def _workers(spark: Any) -> int:
    """Executors that run now; the list has this process, too."""
    try:
        return len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1
    except Exception:  # the context was stopped: the job ends with an error of its own
        return 0


def _explained(path: Path, master: str, error: BaseException) -> BaseException:
    """One line from what Spark reports, which may quote a record, so only names of errors are repeated."""
    if isinstance(error, InputError | KeyboardInterrupt):
        return error
    text = str(error)
    if "MALFORMED_RECORD" in text or "MalformedRecord" in text or "MALFORMED_CSV" in text:
        return InputError(f"{path}: is not valid CSV: a row has more or fewer values than the header")
    if "maxResultSize" in text or "OutOfMemoryError" in text:
        return TooLargeError(f"{path}: the combinations of its values do not fit in memory; use fewer axes")
    if "stopped SparkContext" in text or "shut down" in text or "unresponsive" in text or "Master removed" in text:
        return InputError(f"master = {master!r}: the cluster ended before the rows were counted; run again")
    if "PATH_NOT_FOUND" in text or "No FileSystem for scheme" in text or "UNABLE_TO_INFER_SCHEMA" in text:
        return InputError(f"{path}: there is no Parquet file there that this Spark can read")
    # The last cause that Java names is the nearest to the reason.
    names = re.findall(r"(?:^|Caused by: |: )([\w.]+\.(\w+(?:Exception|Error)))\b", text)
    said = names[-1][1] if names else type(error).__name__
    return InputError(f"{path}: Spark could not count its rows ({said}); its log has the details")


def _listing(spark: Any, frame: Any) -> list[tuple[str, int, int]]:
    """The files of a table with their sizes and times, as the file system of the cluster has them."""
    files = []
    for name in sorted(frame.inputFiles()):
        place = spark._jvm.org.apache.hadoop.fs.Path(unquote(name))
        status = place.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).getFileStatus(place)
        files.append((name, int(status.getLen()), int(status.getModificationTime())))
    return files


def _base(parts: tuple[Path, ...]) -> str | None:
    """The folder above the first one that is called like `year=2024`."""
    for folder in reversed(parts[0].resolve().parents):
        if "=" in folder.name:
            return f"file://{folder.parent}"
    return None


def _escaped(name: str) -> str:
    """A name whose signs mean nothing in a pattern of Hadoop."""
    return re.sub(r"([*?{}\[\]\\])", r"\\\1", name)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
