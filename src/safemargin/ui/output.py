"""What every public function returns, and how it is printed: results on standard output, all else on standard error."""

import errno
import io
import json
import math
import os
import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape
from itertools import count as numbers
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress as Bar,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from safemargin.core import OutputError, Progress, one_line, printable, write_whole
from safemargin.ui.blocks import Document, Report
from safemargin.ui.page import render_report
from safemargin.ui.terminal import show_report

PROGRESS = "SAFEMARGIN_PROGRESS"
"""Environment variable; with the value `json`, progress is one JSON document per line on standard error."""
PAUSE = 0.2
"""Seconds between two lines about the same step."""
UNPRINTABLE_JSON = "[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


class PlainConsole(Console):
    """A terminal in which names cannot do anything: their control characters are shown as escapes."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """The segments of a renderable; the styles of rich are no part of their text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Leave a closed output to the menu, which knows the exit code and what is done already."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


out = PlainConsole(highlight=False)
notes = PlainConsole(stderr=True, highlight=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def finite(value: float) -> float | str:
    """A number, or the word for what JSON has no number for."""
    return "infinite" if math.isinf(value) else value


class Result(ABC):
    """A value with the forms that commands, notebooks and the workbench show.

    A subclass gives `to_json` and `to_report`; text and page are made from the report.
    """

    @abstractmethod
    def to_json(self) -> Document:
        """The document that `--json` prints."""

    @abstractmethod
    def to_report(self) -> Report:
        """What the value states, in blocks."""

    def show(self, console: Console) -> None:
        """Print the value in a terminal."""
        show_report(console, self.to_report())

    def to_html(self) -> str:
        """One page that works from a file; nothing is fetched."""
        return render_report(self.to_report())

    def to_text(self, width: int = 80) -> str:
        """What a terminal of this width shows."""
        text = io.StringIO()
        self.show(PlainConsole(file=text, width=width, highlight=False, no_color=True))
        return text.getvalue()

    def _repr_html_(self) -> str:
        # A frame, because the style of a whole page would change that of the notebook around it.
        style = "width:100%;height:36rem;border:1px solid #8884"
        return f'<iframe sandbox style="{style}" srcdoc="{escape(self.to_html())}"></iframe>'

    def __str__(self) -> str:
        return self.to_text()

    def write(self, path: Path | str) -> Path:
        """Write the page to a file."""
        target = Path(path)
        write_text(target, self.to_html())
        return target


def write_text(path: Path, text: str) -> None:
    """Write a file whole, or raise an error of one line."""
    if not path.parent.is_dir():
        raise OutputError(f"{path}: cannot be written; name a file in a folder that exists")
    write_whole(path, text.encode())


def note(text: str) -> None:
    """Print one line on standard error, whatever a name in it holds."""
    try:
        print(f"safemargin: {one_line(text)}", file=sys.stderr, flush=True)
    except OSError:  # a full or closed output: the exit code says what happened, and Python must not try again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def print_json(document: Document) -> None:
    """Print one document on standard output."""
    # Controls beyond ASCII and halves of signs, which JSON would leave as they are, are escaped.
    text = json.dumps(document, ensure_ascii=False)
    sys.stdout.write(re.sub(UNPRINTABLE_JSON, lambda match: f"\\u{ord(match[0]):04x}", text) + "\n")


def check_page(page: Path | None) -> None:
    """Raise if a page that is asked for could not be written, before anything is computed for it."""
    if page is not None and (page.is_dir() or not page.parent.is_dir()):
        raise OutputError(f"{page}: cannot be written; name a file in a folder that exists")


def print_result(result: Result, as_json: bool, page: Path | None = None) -> None:
    """Print a result on standard output, as one JSON document or as text; first write its page, where one is asked."""
    if page is not None:
        result.write(page)
    if as_json:
        print_json(result.to_json())
    else:
        result.show(out)


def say(console: Console, text: str) -> None:
    """Print without markup: names of groups may hold brackets."""
    console.print(Text(text))


def unused_folder(folder: Path) -> Path:
    """The folder, or the first one with a number after its name that does not exist."""
    if not folder.exists():
        return folder
    return next(path for number in numbers(2) if not (path := Path(f"{folder}-{number}")).exists())


@contextmanager
def progress_bar(step: str) -> Iterator[Progress]:
    """A bar on standard error: the step at work, the time so far and, where the size is known, the time left."""
    if os.environ.get(PROGRESS) == "json":
        lines = _progress_lines()
        lines(step)
        yield lines
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=notes, transient=True, disable=not notes.is_terminal) as bar:
        task = bar.add_task(step, total=None)

        def report(step: str, done: int = 0, total: int | None = None, /) -> None:
            bar.update(task, description=step, completed=done, total=total)

        yield report


def _progress_lines() -> Progress:
    """Progress for a program that started this one: a line for every step, and now and then for how far it is."""
    last, moment = "", 0.0

    def report(step: str, done: int = 0, total: int | None = None, /) -> None:
        nonlocal last, moment
        if step == last and time.monotonic() - moment < PAUSE:
            return
        last, moment = step, time.monotonic()
        print(json.dumps({"step": step, "done": done, "total": total}), file=sys.stderr, flush=True)

    return report
