"""Every command that writes is struck by faults: a new one, or a new option that writes, fails until it is listed."""

from collections.abc import Iterator

import pytest
import typer.main

import fault_election
import fault_sums
from fault_commands import COMMANDS
from safemargin.cli import app

READ = {
    # What names data, tables, projects and earlier results; nothing is written there.
    *("data", "project", "tables", "files", "file", "source", "sources", "first", "second", "certificate", "areas"),
    *("table", "programme", "printed", "records", "plan", "backup", "opening", "objections", "session", "place"),
    *("--roll", "--fact", "--votes", "--published", "--manifest", "--earlier", "--earlier-roll", "--statistics"),
    *("--auditors", "--known", "--records", "--secret", "--ptable", "--after", "--prior", "--before", "--truth"),
    *("--plan", "--parts", "--approvals", "--passphrase-file", "--message", "--data", "--keys", "--clients"),
    *("--parties", "--texts", "--certificate-key"),
}
"""Arguments and options for places that are only read."""
ONLY_READ = {"verify": {"--key"}, "aggregate submit": {"--key"}, "aggregate serve": {"--key", "--certificate"}}
ONLY_READ["aggregate collect"] = {"--key"}
"""The same, where an option of this name is written by another command."""
WRITTEN = {"noise key": {"file"}}
"""Where it is the other way round."""
SAME = {"demo": {"folder"}}
"""Other names of what is struck."""
ELSEWHERE = {"election rehearse": {"--out"}}
"""A rehearsal is parties and commands that are all struck by themselves; `test_killed_rehearsals.py` kills it."""


def leaves(name: str, command: object) -> Iterator[tuple[str, object]]:
    """All commands below a group."""
    members = getattr(command, "commands", None)
    if members is None:
        yield name, command
    for member, below in (members or {}).items():
        yield from leaves(f"{name} {member}".strip(), below)


def written_places() -> list[tuple[str, str]]:
    """Every command with each of its arguments and options for a place that it writes to."""
    found = []
    for name, command in leaves("", typer.main.get_command(app())):
        for each in getattr(command, "params", ()):
            option = each.opts[0]
            if "path" not in str(each.display_type(None)).lower():
                continue
            is_written = option in WRITTEN.get(name, ())
            if is_written or not (option in READ or option in ONLY_READ.get(name, ())):
                if option not in {**SAME, **ELSEWHERE}.get(name, ()):
                    found.append((name, option))
    return found


STRUCK = [
    *(each.command for each in COMMANDS.values()),
    *(turn.command for turn in (*fault_election.TURNS.values(), *fault_sums.TURNS.values())),
    "election serve registrar --port 1",
    "aggregate serve session.json --database one.sqlite --port 1",
]
"""All commands that are struck; services are, where a turn names them."""


@pytest.mark.parametrize(("name", "option"), written_places(), ids=str)
def test_what_is_written_is_struck(name: str, option: str) -> None:
    words = [command.split() for command in STRUCK if command.split()[: len(name.split())] == name.split()]
    assert words, f"list {name!r} in fault_commands.py, or in the turns of fault_election.py or fault_sums.py"
    if option.startswith("-"):
        assert any(option in each for each in words), f"{name} {option}: no command that is struck has this option"


def test_the_list_is_not_empty() -> None:
    """The tree was read: many commands write, and what is said to be elsewhere is there."""
    names = {name for name, _ in leaves("", typer.main.get_command(app()))}
    assert len(written_places()) > 50
    assert {*ONLY_READ, *WRITTEN, *SAME, *ELSEWHERE} <= names
    assert not [command for command in STRUCK if not {" ".join(command.split()[:n]) for n in (1, 2)} & names]
