"""The import law: `core < io, ui < engines < features < faces`. The table below is the architecture."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

SOURCE = Path(__file__).parent.parent / "src"
PACKAGE = SOURCE / "safemargin"

TIERS = [  # lowest first; parts of one tier do not import each other
    {"checker", "checker_tables", "checker_intervals"},  # the checker of certificates, which imports nothing of ours
    {"core"},
    {"io", "ui"},
    {"bounds", "guarantees", "samplers", "history", "parties"},
    {"release", "audit", "suppress", "noise", "swap", "topdown", "voting", "fiber", "aggregate", "election"},
    {"verify", "web", "guarantee"},
    {"cli"},
]
TIER = {part: tier for tier, row in enumerate(TIERS) for part in row}
ALLOWED = {("release", "audit"), ("release", "voting"), ("election", "release")}
"""Features that import another feature."""

BY_FACE = {"core", "io", "ui", "bounds", "guarantees", "samplers"}
"""Parts that others import as a package, never its modules, as soon as the package gives names."""

FACE = {"__init__", "__main__"}
"""Files on top of every part: the public names, and `python -m safemargin`."""

NEVER = {("audit", "samplers")}
"""An onlooker has what the public has, not the code that protects."""

SOURCES_OF_BITS = ("random", "secrets", "uuid", "numpy.random", "os.urandom", "os.getrandom")
EXTRAS = (
    "pyspark",
    "starlette",
    "cryptography",
    "gmpy2",
    "nacl",
    "rbcl",
    "psycopg",
    "pandas",
    "polars",
    "narwhals",
    "pyarrow",
    "Crypto",
)
NAMED_FOR_NOTHING = {"util", "utils", "helper", "helpers", "common", "misc"}


def part_of(path: Path, package: Path = PACKAGE) -> str:
    return path.relative_to(package).parts[0].removesuffix(".py")


def dotted(node: ast.expr) -> str:
    """`a.b.c` for a chain of attributes on a name, else nothing."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@lru_cache(maxsize=4)  # several questions are asked about one tree, and a walk takes as long as parsing
def nodes(tree: ast.AST) -> list[ast.AST]:
    return list(ast.walk(tree))


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str, str]]:
    """Every import statement with the full name it brings in and the local name it gives it."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name, alias.asname or alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import; write the full name"
            for alias in node.names:
                yield node, f"{node.module}.{alias.name}", alias.asname or alias.name


def used(tree: ast.AST) -> set[str]:
    """Full names of everything imported or reached through the attributes of an import."""
    local = {here: name for _, name, here in imports(tree)}
    names = {name for _, name, _ in imports(tree)}
    for node in nodes(tree):
        if isinstance(node, ast.Attribute):
            head, *rest = dotted(node).split(".")
            if head in local:
                names.add(".".join([local[head], *rest]))
    return names


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def parts_imported(tree: ast.AST, package: str = PACKAGE.name) -> set[str]:
    names = [name for _, name, _ in imports(tree)]
    assert package not in names, f"import the part of {package} that is meant"
    return {name.split(".")[1] for name in names if is_within(name, package)} - {"__version__"}


def is_lawful(part: str, other: str) -> bool:
    if (part, other) in NEVER or part not in TIER or other not in TIER:
        return False
    return TIER[other] < TIER[part] or (part, other) in ALLOWED


def behind_faces(tree: ast.AST, part: str, package: Path = PACKAGE) -> list[str]:
    """Modules of another part that a file imports although the part has a face."""
    names = {node.module if isinstance(node, ast.ImportFrom) else name for node, name, _ in imports(tree)}
    modules = {tuple(name.split(".")[1:3]) for name in names if name and name.startswith(f"{package.name}.")}
    return [
        f"imports {'.'.join(module)}, not {module[0]}"
        for module in sorted(modules)
        if len(module) == 2 and module[0] in BY_FACE - {part} and has_face(module[0], package)
    ]


@cache
def has_face(part: str, package: Path) -> bool:
    """Whether a package gives names of its own modules."""
    return (package / part / "__init__.pyi").exists()


def explanation(tree: ast.Module) -> int:
    """Lines of docstrings, of modules, classes, functions and fields: whoever explains more need not split a file."""
    texts = [
        body.value
        for node in ast.walk(tree)
        for body in (node.body if isinstance(getattr(node, "body", None), list) else [])
        if isinstance(body, ast.Expr) and isinstance(body.value, ast.Constant) and isinstance(body.value.value, str)
    ]
    return sum((text.end_lineno or text.lineno) - text.lineno + 1 for text in texts)


def faults(path: Path, package: Path = PACKAGE) -> list[str]:
    """What this file does that the architecture forbids."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    part = part_of(path, package)
    names = used(tree)
    broken = []
    if part not in FACE:
        if part not in TIER:
            return [f"{part} has no tier"]
        broken += [
            f"{part} imports {other}"
            for other in sorted(parts_imported(tree, package.name) - {part})
            if not is_lawful(part, other)
        ]
        broken += behind_faces(tree, part, package)
    if part != "samplers" and any(is_within(name, "opendp") for name in names):
        broken.append("uses opendp")
    if (part, path.name) != ("core", "randomness.py"):
        broken += [f"draws bits: {source}" for source in SOURCES_OF_BITS if any(is_within(n, source) for n in names)]
    functions = [node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    hidden = [name for function in functions for _, name, _ in imports(function) if is_within(name, package.name)]
    broken += [f"imports {name} inside a function" for name in hidden]
    if (lines := text.count("\n") - explanation(tree)) > (900 if part.startswith("checker") else 400):
        broken.append(f"has {lines} lines; split it by noun")
    if {*path.parts[len(package.parts) : -1], path.stem} & NAMED_FOR_NOTHING:
        broken.append("is named for nothing in particular")
    return broken


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_file_obeys_the_law(path: Path) -> None:
    assert faults(path) == []


@pytest.mark.parametrize(
    ("file", "line", "fault"),
    [
        ("core/x.py", "from safemargin.io.tidy import read_tidy", "core imports io"),
        ("bounds/x.py", "import safemargin.samplers.geometric", "bounds imports samplers"),
        ("bounds/x.py", "from safemargin import unheard", "bounds imports unheard"),
        ("audit/x.py", "from safemargin.samplers.geometric import Geometric", "audit imports samplers"),
        ("audit/x.py", "from safemargin.release.plan import Plan", "audit imports release"),
        ("swap/x.py", "from safemargin.topdown.areas import Areas", "swap imports topdown"),
        ("stray.py", "import os", "stray has no tier"),
        ("release/x.py", "import opendp.prelude as dp", "uses opendp"),
        ("release/x.py", "from numpy.random import default_rng", "draws bits: numpy.random"),
        ("release/x.py", "from numpy import random", "draws bits: numpy.random"),
        ("release/x.py", "import numpy as np\nnp.random.default_rng()", "draws bits: numpy.random"),
        ("release/x.py", "import secrets", "draws bits: secrets"),
        ("release/x.py", "import os\nos.urandom(1)", "draws bits: os.urandom"),
        ("web/x.py", "def f():\n    import safemargin.core.table", "imports safemargin.core.table inside a function"),
        ("web/x.py", "\n" * 401, "has 401 lines; split it by noun"),
        ("core/utils.py", "", "is named for nothing in particular"),
    ],
)
def test_a_fault_is_reported(tmp_path: Path, file: str, line: str, fault: str) -> None:
    path = tmp_path / "safemargin" / file
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert fault in faults(path, tmp_path / "safemargin")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("from safemargin.bounds.system import System", "imports bounds.system, not bounds"),
        ("import safemargin.bounds.system", "imports bounds.system, not bounds"),
        ("from safemargin.bounds import system", ""),
        ("from safemargin.samplers.geometric import Geometric", ""),  # this package gives no names here
    ],
)
def test_modules_behind_a_face_are_reported(tmp_path: Path, line: str, fault: str) -> None:
    package = tmp_path / "safemargin"
    for part in ("bounds", "samplers", "swap"):
        (package / part).mkdir(parents=True)
    (package / "bounds" / "__init__.pyi").write_text("from .system import System as System")
    path = package / "swap" / "x.py"
    path.write_text(line)
    assert faults(path, package) == ([fault] if fault else [])


def test_issuing_and_collecting_never_meet() -> None:
    """Whoever knows people and whoever knows answers share no code of each other, directly or through others."""

    def reached(start: str) -> set[str]:
        waiting, seen = [start], set[str]()
        while waiting:
            module = waiting.pop()
            path = PACKAGE / "election" / f"{module}.py"
            if module not in seen and path.exists():
                seen.add(module)
                names = [name for _, name, _ in imports(ast.parse(path.read_text(encoding="utf-8")))]
                waiting += [name.split(".")[2] for name in names if is_within(name, "safemargin.election")]
        return seen

    assert "collecting" not in reached("issuing") and "issuing" not in reached("collecting")
    assert not {"collecting", "issuing", "trustee"} & reached("service"), "a process loads its own role only"
    assert "ballots" not in reached("issuing"), "issuers cannot even read a ballot"


def test_relative_imports_are_refused() -> None:
    with pytest.raises(AssertionError, match="write the full name"):
        list(imports(ast.parse("from . import table")))


def test_importing_the_package_does_not_import_the_extras() -> None:
    script = f"import sys, safemargin; print([name for name in {EXTRAS!r} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr
