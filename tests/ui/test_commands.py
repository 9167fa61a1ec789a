"""Commands made from functions: what is typed, what the function gets, and what the help says."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from safemargin import ui
from safemargin.core import OutputError, Progress, no_progress
from safemargin.ui import command, show_with_page


@dataclass(frozen=True)
class Got(ui.Result):
    """What a function was called with."""

    values: dict[str, Any]

    def to_json(self) -> ui.Document:
        return {name: repr(value) for name, value in self.values.items()}

    def to_report(self) -> ui.Report:
        return ui.Report("Got", repr(self.values))


def count(
    tables: Sequence[Path | str],
    *,
    by: Sequence[str] = (),
    sizes: Sequence[int] = (2, 10),
    targets: Sequence[Sequence[str]] | None = None,
    rate: str | Fraction = "1/20",
    delta: str | float = 1e-10,
    prior: Path | dict[int, float] | None = None,
    times: int = 1,
    whole: bool = False,
    progress: Progress = no_progress,
) -> Got:
    """Count what is typed.

    This is for the library only.
    """
    values = dict(locals())
    assert values.pop("progress") is not no_progress, "a function that reports progress gets a bar"
    return Got(values)


HELPS = {name: f"Help of {name}." for name in ("by", "sizes", "rate", "delta", "prior", "times", "whole")}
TARGETS = typer.Option("--target", help="Help of targets.")
RUN = command(
    count, "count a.csv", show_with_page, "counting", tables=typer.Argument(help="Tables."), targets=TARGETS, **HELPS
)


def typed(*words: str) -> Any:
    program = typer.Typer(rich_markup_mode=None)
    program.command()(RUN)
    return CliRunner().invoke(program, words)


def got(*words: str) -> dict[str, object]:
    seen: list[Got] = []
    own = {"tables": typer.Argument(help="Tables."), "targets": TARGETS}
    program = typer.Typer()
    program.command()(command(count, "count a.csv", lambda result: seen.append(result), **own, **HELPS))
    ran = CliRunner().invoke(program, words)
    assert ran.exit_code == 0, ran.output
    return seen[0].values


def test_what_is_not_typed_is_left_to_the_function() -> None:
    assert got("a.csv") == {
        **{"tables": [Path("a.csv")], "by": (), "sizes": (2, 10), "targets": None, "rate": "1/20", "delta": "1e-10"},
        **{"prior": None, "times": 1, "whole": False},
    }


def test_lists_stand_between_commas_and_paths_are_repeated() -> None:
    values = got("a.csv", "b.csv", "--by", "sex, age", "--sizes", "3,4", "--target", "sex", "--target", "sex,age")
    assert values["tables"] == [Path("a.csv"), Path("b.csv")]
    assert values["by"] == ("sex", "age") and values["sizes"] == (3, 4)
    assert values["targets"] == [("sex",), ("sex", "age")]


def test_numbers_that_may_be_fractions_stay_texts() -> None:
    values = got("a.csv", "--rate", "1/3", "--delta", "1/1000", "--prior", "p.csv", "--times", "3", "--whole")
    assert (values["rate"], values["delta"], values["prior"]) == ("1/3", "1/1000", Path("p.csv"))
    assert (values["times"], values["whole"]) == (3, True)


def test_the_help_has_the_first_line_of_the_function_the_options_and_the_example() -> None:
    text = typed("--help").output
    assert "Count what is typed." in text and "library only" not in text
    assert "Example: safemargin count a.csv" in text and "[default: 2,10]" in text and "[default: 1e-10]" in text
    assert all(f"Help of {name}." in text for name in (*HELPS, "targets")) and "--no-whole" not in text
    assert "--out" in text and "--json" in text


def test_the_result_is_shown(tmp_path: Path) -> None:
    assert '"times": "3"' in typed("a.csv", "--times", "3", "--json").output
    assert "times" in typed("a.csv", "--out", str(tmp_path / "page.html")).output
    assert "<html" in (tmp_path / "page.html").read_text()


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    ran = typed("a.csv", "--out", str(tmp_path / "no" / "page.html"))
    with pytest.raises(OutputError, match="name a file in a folder that exists"):
        raise ran.exception
