"""CPU seconds and memory of releases of skewed, correlated people, beside the bare query in DuckDB.

    python benchmarks/bench_skewed.py FOLDER [--case 1000000,4,5 200000,4,2,640 ...] [--before SOURCES]

Columns have 40, 10, 8, 6, 5, 3, 4 and 2 categories, each half as frequent as the one before half its number (Zipf), and
three of ten people have in every column a category that follows from the first. Answers are skewed in the same way
(with `even`: all alike) and follow the first and the last column a little. A case is PEOPLE,AXES,OPTIONS; a fourth
number replaces the 40. Data are kept in FOLDER as Parquet. The query and the command `safemargin release` run in
processes of their own, start-up and all threads included: CPU seconds, ratio, peak memory, groups that are exact.
`--before` takes the `src` of another checkout and measures it in turn.
"""

import argparse
import cProfile
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

SIZES = (40, 10, 8, 6, 5, 3, 4, 2)
CASES = (
    "200000,4,2",
    "200000,4,5",
    "200000,4,10",
    "200000,4,5,even",
    "200000,4,10,even",
    "200000,4,2,160",
    "200000,4,2,640",
    "200000,6,2",
    "200000,6,5",
    "200000,6,10",
    "1000000,4,2",
    "1000000,4,5",
    "1000000,6,2",
    "1000000,6,5",
    "1000000,8,2",
)
SLOPES = (
    ("rows", "200000,4,2", "1000000,4,2", lambda case: case.people),
    ("profiles", "1000000,4,2", "1000000,8,2", None),
    ("answers", "200000,6,2", "200000,6,10", lambda case: case.options),
    ("categories", "200000,4,2", "200000,4,2,640", lambda case: case.first),
)
"""What grows from one case to another, all else alike."""
HEAD = (
    "| data | profiles | query, CPU s | {}release: CPU s, ratio, memory | exact groups, rule |",
    "|---|---|---|{}---|---|",
)
FOLLOWS = 0.3
"""Share of the people whose category follows from that of the first column."""
LIMIT = 200
"""Seconds after which a run is stopped."""


@dataclass(frozen=True)
class Case:
    """People, axes, options, categories of the first axis, and whether answers are equally frequent."""

    people: int
    axes: int
    options: int
    first: int = SIZES[0]
    even: bool = False

    @classmethod
    def read(cls, text: str) -> "Case":
        """The case that a text such as `200000,4,10,even` names."""
        parts = text.split(",")
        return cls(*(int(part) for part in parts if part != "even"), even="even" in parts)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of every axis."""
        return (self.first, *SIZES[1 : self.axes])

    @property
    def by(self) -> list[str]:
        """Names of the columns."""
        return [f"k{axis}" for axis in range(self.axes)]

    def __str__(self) -> str:
        shown = " x ".join(map(str, self.sizes))
        return f"{self.people:,} people, {shown}, {self.options} {'even ' * self.even}answers"


def zipf(rng: np.random.Generator, size: int, people: int) -> np.ndarray:
    """Categories as frequent as one over their rank."""
    weights = 1 / np.arange(1, size + 1)
    return rng.choice(size, people, p=weights / weights.sum())


def write_people(folder: Path, case: Case, seed: int = 1) -> Path:
    """The file of a case; written once."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"skewed_{case.people}_{case.axes}_{case.options}"
    path = folder / f"{name}{f'_{case.first}' * (case.first != SIZES[0])}{'_even' * case.even}.parquet"
    if path.exists():
        return path
    rng = np.random.default_rng(seed)
    first = zipf(rng, case.first, case.people)
    columns = [first]
    for size in case.sizes[1:]:
        columns.append(np.where(rng.random(case.people) < FOLLOWS, first % size, zipf(rng, size, case.people)))
    base = np.zeros(case.options) if case.even else -np.log(np.arange(1, case.options + 1))
    lean = rng.normal(0, 0.4, (case.first, case.options))[first]
    lean = lean + rng.normal(0, 0.3, (case.sizes[-1], case.options))[columns[-1]]
    chosen = (base + lean + rng.gumbel(size=(case.people, case.options))).argmax(axis=1)
    table = {f"k{axis}": _labels("c", codes) for axis, codes in enumerate(columns)}
    pyarrow.parquet.write_table(pyarrow.table({**table, "answer": _labels("a", chosen)}), path)
    return path


def _labels(letter: str, codes: np.ndarray) -> pyarrow.Array:
    names = np.array([f"{letter}{code:02d}" for code in range(int(codes.max()) + 1)])
    return pyarrow.array(names[codes])


BARE = """
import sys, duckdb
columns = ", ".join(sys.argv[2:])
duckdb.connect().execute(f"select {columns}, count(*) from '{sys.argv[1]}' group by all").fetchnumpy()
"""
"""What the peer runs."""


def run(command: list[str], sources: Path | None = None) -> dict[str, float] | None:
    """CPU seconds and peak memory (GiB) of a command with all its threads; none if it was stopped after `LIMIT`."""
    given = {**os.environ, **({"PYTHONPATH": str(sources)} if sources else {})}
    given.pop("PYTHONDONTWRITEBYTECODE", None)
    limits = (resource.RLIMIT_CPU, (LIMIT, LIMIT))
    child = subprocess.Popen(
        command, env=given, stdout=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(*limits)
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        return None
    return {"seconds": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss / 2**20}


def query(path: Path, case: Case) -> dict[str, float]:
    """The bare query, in a process of its own."""
    found = run([sys.executable, "-c", BARE, str(path), *case.by, "answer"])
    assert found is not None
    return found


def release(path: Path, case: Case, sources: Path | None = None) -> dict[str, object] | None:
    """The command `safemargin release`, by this code or by that of another checkout, and what it publishes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        given = ["--answer", "answer", "--by", ",".join(case.by), "--out", str(out)]
        found = run([sys.executable, "-m", "safemargin", "release", str(path), *given], sources)
        if found is None:
            return None
        kept = json.loads((out / "confidential" / "plan.json").read_text(encoding="utf-8"))["kept"]
        rule = json.loads((out / "published" / "certificate.json").read_text(encoding="utf-8"))["rule"]["label"]
    exact, asked = (sum(axis[key] for axis in kept.values()) for key in ("exact", "asked"))
    return found | {"said": f"{exact} of {asked}, {rule}"}


def profile(path: Path, case: Case) -> None:
    """Where the time goes."""
    import safemargin
    from safemargin.core import Target

    with cProfile.Profile() as watched:
        safemargin.release(path, answer="answer", by=case.by, target=Target())
    watched.print_stats("tottime")


@dataclass(frozen=True)
class Measured:
    """A case with its profiles, the bare query, and the release by this code and by that of another checkout."""

    case: Case
    profiles: int
    bare: dict[str, float]
    made: dict[str, object] | None
    then: dict[str, object] | None = None
    is_beside: bool = False
    """Whether another checkout was measured."""

    def __str__(self) -> str:
        """A line of the table."""
        cells = [str(self.case), f"{self.profiles:,}", f"{self.bare['seconds']:.2f}"]
        cells += [_shown(self.then, self.bare)] * self.is_beside
        said = "" if self.made is None else str(self.made["said"])
        return "| " + " | ".join([*cells, _shown(self.made, self.bare), said]) + " |"


def measured(folder: Path, case: Case, before: Path | None = None) -> Measured:
    """Everything about a case."""
    path = write_people(folder, case)
    profiles = len(pyarrow.parquet.read_table(path, columns=case.by).group_by(case.by).aggregate([]))
    then = None if before is None else release(path, case, before)
    return Measured(case, profiles, query(path, case), release(path, case), then, before is not None)


def head(before: bool) -> str:
    """The head of the table."""
    return "\n".join(line.format(each * before) for line, each in zip(HEAD, ("before | ", "---|"), strict=True))


def exponents(found: list[Measured]) -> str:
    """How fast CPU seconds grow: the slope between two logarithms, 1 is linear; and what a profile costs."""
    by_name = {each.case: each for each in found if each.made is not None}
    parts = []
    for what, first, last, size in SLOPES:
        pair = [by_name.get(Case.read(name)) for name in (first, last)]
        if None in pair:
            continue
        sizes = [each.profiles if size is None else size(each.case) for each in pair]  # type: ignore[union-attr]
        seconds = [each.made["seconds"] for each in pair]  # type: ignore[union-attr,index]
        parts.append(f"{what} {np.log(seconds[1] / seconds[0]) / np.log(sizes[1] / sizes[0]):.2f}")
    costs = []
    for options in (2, 5, 10):
        here = by_name.get(Case.read(f"200000,6,{options}"))
        if here is not None:
            costs.append(f"{options} answers {1e6 * here.made['seconds'] / here.profiles:.0f}")  # type: ignore[index,operator]
    listed = f"Exponents: {', '.join(parts)}." if parts else ""
    return f"{listed} Microseconds per profile: {', '.join(costs)}." if costs else listed


def _shown(made: dict[str, object] | None, bare: dict[str, float]) -> str:
    if made is None:
        return f"stopped after {LIMIT}"
    return f"{made['seconds']:.1f}, {made['seconds'] / bare['seconds']:.1f}, {made['memory']:.2f} GiB"  # type: ignore[operator]


def table(folder: Path, cases: Sequence[str] = CASES, before: Path | None = None) -> str:
    """The table in Markdown, printed line by line as it is measured."""
    lines, found = head(before is not None).split("\n"), []
    for line in lines:
        print(line, flush=True)
    for text in cases:
        found.append(measured(folder, Case.read(text), before))
        lines.append(str(found[-1]))
        print(lines[-1], flush=True)
    lines += ["", exponents(found)]
    print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--case", nargs="+", default=CASES, help="PEOPLE,AXES,OPTIONS[,CATEGORIES][,even]")
    parser.add_argument("--before", type=Path, help="the folder `src` of another checkout")
    parser.add_argument("--profile", action="store_true")
    said = parser.parse_args()
    if said.profile:
        for text in said.case:
            profile(write_people(said.folder, Case.read(text)), Case.read(text))
    else:
        table(said.folder, said.case, said.before)
