"""The public names and commands are the ones documented."""

import inspect
from pathlib import Path

import pytest
import typer.core
import typer.main

import safemargin
from safemargin.cli import app

DOCS = Path(__file__).parent.parent / "docs"

PUBLIC = {
    "Draft",
    "Exposure",
    "Findings",
    "Onlooker",
    "Plan",
    "Project",
    "Publication",
    "RefusedError",
    "Release",
    "SafemarginError",
    "Table",
    "Target",
    "audit",
    "bound",
    "release",
    "suppress",
}


def words(command: object) -> str:
    """What `--help` says about a command."""
    return f"{getattr(command, 'help', None) or ''}\n{getattr(command, 'epilog', None) or ''}"


def commands() -> dict[str, str]:
    """The help of every command, by its full name."""
    waiting: list[tuple[str, object]] = [("", typer.main.get_command(app()))]
    found = {}
    while waiting:
        name, command = waiting.pop()
        if isinstance(command, typer.core.TyperGroup):
            waiting += [(f"{name} {member}".strip(), below) for member, below in command.commands.items()]
        else:
            found[name] = words(command)
    return dict(sorted(found.items()))


COMMANDS = commands()


def test_public_names() -> None:
    assert set(safemargin.__all__) == PUBLIC
    assert len(safemargin.__all__) == len(PUBLIC) <= 15


def test_public_names_are_importable_and_no_others() -> None:
    assert all(not inspect.ismodule(getattr(safemargin, name)) for name in PUBLIC)
    visible = {name for name, value in vars(safemargin).items() if name[0] != "_" and not inspect.ismodule(value)}
    assert visible - {"TYPE_CHECKING", "ModuleType", "import_module"} == PUBLIC


def test_there_are_commands() -> None:
    assert COMMANDS and "" not in COMMANDS


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
