"""What every public function returns: one value that reads as JSON, as text and as a page."""

import io
import math
from abc import ABC, abstractmethod
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Console

from safemargin.core import OutputError

SCHEMA = 1
"""Version of the JSON documents (`docs/files.md`); a change of meaning raises it."""
UNNAMED_COUNT = "count"
"""Key of a group's only count where the tables have no options."""
Document = dict[str, Any]


def finite(value: float) -> float | str:
    """A number, or the word for what JSON has no number for."""
    return "infinite" if math.isinf(value) else value


class Result(ABC):
    """A value with the forms that commands, notebooks and the workbench show.

    A subclass gives `to_json`, `show` and `to_html`; the rest follows.
    """

    @abstractmethod
    def to_json(self) -> Document:
        """The document that `--json` prints."""

    @abstractmethod
    def show(self, console: Console) -> None:
        """Print the value in a terminal."""

    @abstractmethod
    def to_html(self) -> str:
        """One page that works from a file; nothing is fetched."""

    def to_text(self, width: int = 80) -> str:
        """What a terminal of this width shows."""
        text = io.StringIO()
        self.show(Console(file=text, width=width, highlight=False, no_color=True))
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
    """Write a file, or raise an error of one line."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
