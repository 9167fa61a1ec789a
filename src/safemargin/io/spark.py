"""Tables in Spark: rows are counted and summed on a cluster; labels and codes come from DuckDB, as for any file.

Only distinct rows and their sums come to this process, and nothing is downloaded.
"""

import glob
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from safemargin.core import InputError
from safemargin.io.duck import DuckSource, connected, literal, open_counts
from safemargin.io.files import check_names, csv_header, require_file, suffix
from safemargin.io.places import Address, Stamps, check_unchanged, stamped
from safemargin.io.rows import Profiles, check_columns
from safemargin.io.spark_session import LOCAL, checked_master, session, watched

T = TypeVar("T")

ODD = '^\\s*"|[\\r\\n\ufffd]'
"""What values hold where a quote does not end, on which Spark reads on and DuckDB refuses the file, and where bytes are
not UTF-8, of which Spark makes one sign, so that different values would become one."""


@dataclass(frozen=True)
class SparkFrame:
    """A table inside a session: column i is called `c{i}`; `odd` says that a row of a CSV file cannot be trusted."""

    path: Path
    spark: Any
    frame: Any
    names: tuple[str, ...]

    def column(self, name: str) -> str:
        """What a column is called in the frame."""
        return f"c{self.names.index(name)}"

    def kind(self, name: str) -> str:
        """The type of a column, such as `string` or `double`."""
        return str(self.frame.schema[self.column(name)].dataType.typeName())

    def collected(self, keys: Sequence[str], sums: Sequence[str] = (), frame: Any = None) -> Any:
        """Rows by `keys` (SQL, as `c0 as k0`), their number `n`, and further `sums`, as an Arrow table."""
        from pyspark.sql import functions

        asked = [functions.expr(text) for text in ("count(*) as n", "bool_or(odd) as odd", *sums)]
        frame = self.frame if frame is None else frame
        counted = frame.groupBy(*(functions.expr(key) for key in keys)).agg(*asked).toArrow()
        if any(counted.column("odd").to_pylist()):
            raise InputError(
                f"{self.path}: a value holds a line end or an odd quote; use engine = 'duckdb' for such CSV"
            )
        return counted.drop_columns("odd")


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

        def count(table: SparkFrame) -> DuckSource:
            names = tuple(dict.fromkeys([*columns, *(name for name in optional if name in table.names)]))
            keys = [f"{table.column(name)} as k{place}" for place, name in enumerate(names)]
            return open_counts(self.path, names, table.collected(keys))

        return self.run(columns, count)

    def run(self, columns: Sequence[str], work: Callable[[SparkFrame], T]) -> T:
        """What `work` makes of the table in a session, unless the table lacks `columns` or changes meanwhile."""
        check_unchanged(self.stamps)
        try:
            with session(self.path, self.master) as spark:
                done = watched(spark, self.path, self.master, lambda: self._run(spark, columns, work))
        except InputError:
            check_unchanged(self.stamps)  # says more than what Spark makes of a file that changed
            raise
        check_unchanged(self.stamps)
        return done

    def _run(self, spark: Any, columns: Sequence[str], work: Callable[[SparkFrame], T]) -> T:
        frame = self._frame(spark)
        names = self.csv[0] if self.csv else tuple(frame.columns)
        check_names(self.path, list(names))
        check_columns(self.path, names, columns)
        before = None if self.stamps else _listing(spark, frame)
        places = [f"c{place}" for place in range(len(names))]
        # All columns are looked at, since a quote that does not end swallows rows wherever it stands.
        odd = " or ".join(f"coalesce({place}, '') rlike r'{ODD}'" for place in places) if self.csv else "false"
        done = work(SparkFrame(self.path, spark, frame.toDF(*places).selectExpr("*", f"{odd} as odd"), names))
        if before is not None and _listing(spark, self._frame(spark)) != before:
            raise InputError(f"{self.path}: changed while it was read; run again when nobody writes it")
        return done

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
    if parts and suffix(parts[0]) != ".parquet":
        raise InputError(f"{path}: Spark reads folders of Parquet files; name one CSV file, or use engine = 'duckdb'")
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
