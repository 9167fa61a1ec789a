"""The public names and commands are the ones documented."""

import ast
import inspect
import os
import random
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

import pytest
import typer.core
import typer.main
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import safemargin
from safemargin.cli import COMMANDS as MENU, FUNCTIONS as CALCULATORS, app
from test_reachable import function_of, modules

pytestmark = pytest.mark.full

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

NAMESPACES = ("aggregate", "election", "guarantee", "noise")
CALLED = {"open": "open_workbench"}
"""Commands whose function has another name: `from safemargin import *` must not replace a builtin."""
FUNCTIONS = {CALLED.get(name, name.replace("-", "_")) for name in MENU if name not in NAMESPACES}
"""One per command; groups of commands are namespaces."""
TYPES = {
    *("Draft", "InputError", "Onlooker", "Project", "RefusedError", "Release"),
    *("Result", "SafemarginError", "Table", "Target"),
}


def words(command: object) -> str:
    """What `--help` says about a command."""
    return f"{getattr(command, 'help', None) or ''}\n{getattr(command, 'epilog', None) or ''}"


def commands() -> dict[str, str]:
    """The help of every command, by its full name."""
    waiting: list[tuple[str, object]] = [("", typer.main.get_command(app()))]
    texts = {}
    while waiting:
        name, command = waiting.pop()
        if isinstance(command, typer.core.TyperGroup):
            waiting += [(f"{name} {member}".strip(), below) for member, below in command.commands.items()]
        else:
            texts[name] = words(command)
    return dict(sorted(texts.items()))


COMMANDS = commands()


def test_there_is_a_function_for_every_command_and_the_types_they_take_and_give() -> None:
    assert sorted(FUNCTIONS - set(safemargin.__all__)) == []
    assert sorted(TYPES - set(safemargin.__all__)) == []
    assert set(NAMESPACES) <= set(safemargin.__all__)
    reader = {"load", "ReadTable"}  # every command reads tables so
    uncalled = {name.replace("-", "_") for name in CALCULATORS if name not in NAMESPACES}
    extra = set(safemargin.__all__) - FUNCTIONS - uncalled - TYPES - set(NAMESPACES) - reader
    assert all(inspect.isclass(getattr(safemargin, name)) for name in extra), "only types beside one name per command"
    assert len(safemargin.__all__) == len(set(safemargin.__all__)) <= 43
    assert len(extra) <= 5, "a type that no command takes or gives needs a reason"


@pytest.mark.parametrize("name", safemargin.__all__)
def test_public_name_is_importable_and_documented(name: str) -> None:
    value = getattr(safemargin, name)
    assert inspect.getdoc(value)
    value = function_of(value)
    if isinstance(value, ModuleType):
        assert name in NAMESPACES and value.__all__
        for member in value.__all__:
            assert callable(getattr(value, member)) and inspect.getdoc(getattr(value, member)), f"{name}.{member}"
    else:
        assert value.__module__.startswith("safemargin.")
        assert inspect.isclass(value) or "return" in inspect.get_annotations(value), "mypy must see the types"


def test_nothing_else_is_visible() -> None:
    visible = {name for name, value in vars(safemargin).items() if name[0] != "_" and not inspect.ismodule(value)}
    assert visible - {"attach"} <= set(safemargin.__all__)
    assert set(safemargin.__all__) <= set(dir(safemargin))
    with pytest.raises(AttributeError, match="nothing"):
        safemargin.nothing  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_functions_stay_callable_in_any_order_of_imports(seed: int) -> None:
    """Every module is imported, in a random order that starts with the folders that are named like functions."""
    folders = [f"safemargin.{name}" for name in sorted(FUNCTIONS)]
    names = sorted(name for name in modules() if name != "safemargin.__main__")
    random.Random(seed).shuffle(names)
    script = f"""
import importlib, safemargin
names = {[name for name in folders if name in names] + names!r}
for name in names:
    importlib.import_module(name)
assert all(callable(getattr(safemargin, name)) for name in {sorted(FUNCTIONS)!r})
from safemargin import *
assert callable(release) and noise.__name__ == "safemargin.noise" and guarantee.__name__ == "safemargin.guarantee"
"""
    ran = subprocess.run([sys.executable, "-c", script], env={**os.environ}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_importing_the_package_loads_nothing_else() -> None:
    script = (
        "import sys, safemargin; print([n for n in sys.modules if n.startswith('safemargin.')], 'numpy' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[] False"


def test_one_version_number() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in project and 'path = "src/safemargin/__init__.py"' in project
    assert f"version: {safemargin.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{safemargin.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_there_are_commands() -> None:
    assert COMMANDS and "" not in COMMANDS


def test_no_command_has_two_options_of_one_name() -> None:
    """The second one would get what is meant for the first: `collect --out` wrote a page instead of the totals."""
    waiting: list[tuple[str, object]] = [("", typer.main.get_command(app()))]
    while waiting:
        name, command = waiting.pop()
        if isinstance(command, typer.core.TyperGroup):
            waiting += [(f"{name} {member}".strip(), below) for member, below in command.commands.items()]
            continue
        flags = [flag for each in getattr(command, "params", ()) for flag in each.opts if flag.startswith("-")]
        assert len(set(flags)) == len(flags), (name, flags)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    help_text = COMMANDS[command]
    assert "Example" in help_text
    assert f"safemargin {command}" in help_text.partition("Example")[2]


@pytest.mark.parametrize("command", sorted({command.split()[0] for command in COMMANDS}))
def test_command_has_a_page(command: str) -> None:
    page = DOCS / f"{command}.md"
    assert page.is_file(), f"write docs/{page.name}"
    assert f"safemargin {command}" in page.read_text(encoding="utf-8")


def foreign_packages(folder: str) -> set[str]:
    """Names of the packages of others that the modules of a feature import."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src/safemargin" / folder).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"safemargin"}


@pytest.mark.parametrize(
    ("extra", "folders"), [("aggregate", ("aggregate",)), ("election", ("election", "aggregate"))], ids=lambda x: str(x)
)
def test_an_extra_holds_what_its_commands_import(extra: str, folders: tuple[str, ...]) -> None:
    """`election` imports `aggregate`; drivers of databases are extras of their own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    held = {canonicalize_name(Requirement(line).name) for line in [*project["dependencies"], *extras[extra]]}
    drivers = {"psycopg"}
    distributions = packages_distributions()
    imported = {name for folder in folders for name in foreign_packages(folder)} - drivers
    assert "cryptography" in imported
    assert [name for name in imported if not held & {canonicalize_name(d) for d in distributions[name]}] == []
