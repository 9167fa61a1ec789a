"""What is printed where: results on standard output, all else on standard error; and files."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count as numbers
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from safemargin.core import OutputError, Progress

out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def note(words: str) -> None:
    """One line on standard error, whatever a name in it holds."""
    print(f"safemargin: {' '.join(words.splitlines())}", file=sys.stderr)


def print_json(document: dict[str, object]) -> None:
    """One document on standard output."""
    json.dump(document, sys.stdout, ensure_ascii=False)
    sys.stdout.write("\n")


def write(path: Path, text: str) -> None:
    """A file, or one line that says why not."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error


def free_folder(folder: Path) -> Path:
    """The folder, or the first one with a number after its name that does not exist."""
    if not folder.exists():
        return folder
    return next(path for number in numbers(2) if not (path := Path(f"{folder}-{number}")).exists())


@contextmanager
def progress_bar(step: str) -> Iterator[Progress]:
    """A bar on standard error that shows the step at work and, where its size is known, the time left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=notes, transient=True, disable=not notes.is_terminal) as bar:
        task = bar.add_task(step, total=None)

        def report(step: str, done: int = 0, total: int | None = None, /) -> None:
            bar.update(task, description=step, completed=done, total=total)

        yield report
