"""What every public function returns: one value that reads as JSON, as text and as a page."""

import io
from abc import ABC, abstractmethod
from pathlib import Path

from rich.console import Console

from safemargin.ui.document import Document


class Result(ABC):
    """A value with the three forms that commands, notebooks and the workbench show.

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
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()

    def write(self, path: Path | str) -> Path:
        """Write the page to a file."""
        target = Path(path)
        target.write_text(self.to_html(), encoding="utf-8")
        return target
