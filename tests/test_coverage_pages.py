"""The pages on what of each paper is here: every row names a command that runs, or a reason, and tests that exist."""

import inspect
import re
from pathlib import Path

import pytest

import safemargin
from commands import Run, in_process
from safemargin.cli import ADDED, COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = ("coverage_release", "coverage_voting", "coverage_swapping", "coverage_sums", "noise_paper")
TWO_COLUMNS = ("coverage_sums", "noise_paper")
"""Pages with the columns item, shown by: of all tables of the page."""
FUNCTIONS = ("growth", "simulate", "swap_rates")
"""Top-level functions that have no command."""
OWN = ("coverage_release", "coverage_voting", "coverage_swapping")
"""Pages with the columns item, shown by, test."""


def rows(page: str) -> list[list[str]]:
    """The rows of the first table, or of all that start with `in the paper`."""
    found: list[list[str]] = []
    for line in (ROOT / f"docs/{page}.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| "):
            found.append([cell.strip() for cell in line.strip("|").split(" | ")])
        elif found and not line.startswith("|") and page not in TWO_COLUMNS:
            break
    return [row for row in found[1:] if row[0] != "in the paper"]


@pytest.mark.parametrize("page", PAGES)
def test_five_papers_have_a_page_in_the_menu(page: str) -> None:
    assert f"{page}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8") and len(rows(page)) > 5


def check_functions(shown: str, page: str) -> bool:
    """Whether a row names functions; each must exist, with the parameters that stand in brackets."""
    found = re.findall(r"`(?:(noise|aggregate|guarantee)\.)?([a-z_]+)(?:\(([^`]*)\))?`", shown)
    calls = [(space, name, given) for space, name, given in found if space or name in safemargin.__all__]
    for space, name, given in calls:
        function = getattr(getattr(safemargin, space) if space else safemargin, name)
        if not callable(function):
            continue
        known = inspect.signature(function).parameters
        words = [word for word in given.split(", ") if word and not word.startswith('"')]  # others are values
        assert {word.partition("=")[0] for word in words} <= set(known), (page, name, given)
    return any(space or name in FUNCTIONS for space, name, _ in calls)


@pytest.mark.parametrize("page", PAGES)
def test_every_row_has_a_command_or_a_reason(page: str) -> None:
    for item, shown, *_ in rows(page):
        commands = [text.split()[0] for text in re.findall(r"`([a-z][^`]*)`", shown)]
        named = any(command in COMMANDS or command in ADDED for command in commands)
        named |= check_functions(shown, page)
        for file in re.findall(r"`((?:aggregate|examples|tests)/[\w/.-]+)`", shown):
            assert (ROOT / file).exists() or (ROOT / "src/safemargin" / file).exists(), (page, file)
        assert named or len(shown) > 40, (page, item)
        for test in re.findall(r"`(tests/[^`]+)`", " ".join([shown, *_])):
            path, _, name = test.partition("::")
            assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), test


def asked() -> list[str]:
    """All commands that the pages name, with the options that they name."""
    words = set()
    for page in PAGES:
        for _, shown, *_ in rows(page):
            for text in re.findall(r"`([a-z][^`]*)`", shown):
                if text.split()[0] in COMMANDS and not text.startswith("python"):
                    words.add(text)
    return sorted(words)


@pytest.mark.parametrize("text", asked())
def test_commands_and_options_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """The help of the command runs and has every option that the page names."""
    run: Run = in_process(monkeypatch, capsys)
    words = text.split()
    path = [word for word in words[:2] if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-")]
    shown = run(*path, "--help")
    if shown.code and len(path) == 2:
        shown = run(path[0], "--help")
    assert shown.code == 0
    for option in (word for word in words if word.startswith("--")):
        assert option.rstrip(":,") in shown.out.replace("\n", " "), (text, option)
