"""A result is one value in all its forms."""

import json
from html import unescape
from pathlib import Path

import pytest

from safemargin.core import OutputError
from safemargin.ui import Document, Paragraph, Report, Result, print_result, unused_folder


class Count(Result):
    """A count of people."""

    def to_json(self) -> Document:
        return {"people": 1200}

    def to_report(self) -> Report:
        return Report("Count", Paragraph("[b]1,200[/b] people " * 10))


def test_text_has_the_width_that_is_asked_for() -> None:
    text = Count().to_text()
    assert str(Count()) == text and "[b]1,200[/b] people" in text, "names are no markup"
    assert max(map(len, text.splitlines())) <= 80 < max(map(len, Count().to_text(200).splitlines()))
    assert "\x1b" not in text


def test_a_notebook_shows_the_page(tmp_path: Path) -> None:
    frame = Count()._repr_html_()
    assert frame.startswith("<iframe sandbox ") and frame.count("<") == 2, "the page is escaped"
    assert unescape(frame.partition('srcdoc="')[2].partition('"')[0]) == Count().to_html()
    assert Count().write(tmp_path / "count.html").read_text(encoding="utf-8") == Count().to_html()


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"count\.html: cannot be written; name a file in a folder that exists"):
        Count().write(tmp_path / "nowhere" / "count.html")


def test_the_three_forms_cannot_be_left_out() -> None:
    class Half(Result):
        def to_json(self) -> Document:
            return {}

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]


def test_print_result(capsys: pytest.CaptureFixture[str]) -> None:
    print_result(Count(), as_json=True)
    assert json.loads(capsys.readouterr().out) == {"people": 1200}


def test_an_unused_folder(tmp_path: Path) -> None:
    first = tmp_path / "out"
    assert unused_folder(first) == first
    first.mkdir()
    (tmp_path / "out-2").mkdir()
    assert unused_folder(first) == tmp_path / "out-3"
