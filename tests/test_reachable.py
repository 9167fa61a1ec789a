"""Every installed module serves a public name or a command: from there, imports lead to it."""

import inspect
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import safemargin
from loaded import imported, loaded_by_name
from safemargin import cli
from safemargin.__main__ import MENU
from safemargin.core import CallablePackage
from safemargin.election.rehearsal import STARTER
from safemargin.election.service import CLASSES
from safemargin.io.office import STATISTICS_READER
from safemargin.web.workbench import SERVER

SOURCE = Path(__file__).parent.parent / "src"


def function_of(value: object) -> Any:
    """The function behind a package that is called like one."""
    return inspect.unwrap(value) if isinstance(value, CallablePackage) else value


PUBLIC = [function_of(getattr(safemargin, name)) for name in safemargin.__all__]
SPACES = [value for value in PUBLIC if isinstance(value, ModuleType)]
ENTRANCES = [
    "safemargin.__main__",
    MENU,
    SERVER,
    STARTER,
    STATISTICS_READER,
    "safemargin.checker_intervals",  # which `checker_tables` finds beside itself, whatever both are called
    *(value.__module__ for value in PUBLIC if not isinstance(value, ModuleType)),
    *(space.__name__ for space in SPACES),
    *(getattr(space, name).__module__ for space in SPACES for name in space.__all__),
    *(
        f"safemargin.{place.partition(':')[0]}"
        for place in [
            *(entry.place for entry in cli.COMMANDS.values()),
            *(place for members in cli.ADDED.values() for place in members.values()),
            *cli.OF_PROJECTS.values(),
            *(f"election.{place}" for place in CLASSES.values()),
        ]
    ),
]


def modules(source: Path = SOURCE) -> dict[str, Path]:
    return {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): path
        for path in source.rglob("*.py")
    }


def reached(entrances: Iterable[str], known: dict[str, Path]) -> set[str]:
    """Modules that are loaded, the packages that hold them included."""
    waiting, seen = list(entrances), set[str]()
    while waiting:
        name = waiting.pop()
        parent = name.rpartition(".")[0]
        if parent:
            waiting += [parent] if parent not in seen else []
        if name in known and name not in seen:
            seen.add(name)
            waiting += imported(known[name]) | loaded_by_name(known[name])
    return seen


@pytest.mark.slow
def test_every_module_is_reachable_from_the_public_names_and_the_commands() -> None:
    known = modules()
    found = reached(ENTRANCES, known)
    assert sorted(set(known) - found) == []
    assert {"safemargin.ui.draw", "safemargin.core.randomness", "safemargin.core"} <= found


def test_every_entrance_exists() -> None:
    assert sorted(set(ENTRANCES) - set(modules())) == []


def test_a_dead_module_is_found(tmp_path: Path) -> None:
    for name, text in {
        "__init__": "",
        "used": "",
        "face": "from pack.used import x",
        "dead": "import pack.used",
    }.items():
        (tmp_path / "pack").mkdir(exist_ok=True)
        (tmp_path / "pack" / f"{name}.py").write_text(text)
    known = modules(tmp_path)
    assert set(known) - reached(["pack.face"], known) == {"pack.dead"}
