"""Pictures from the process that draws are those that are drawn here, and its end costs nothing but time."""

from safemargin.ui.charts import Spec, to_svg
from safemargin.ui.painter import Painter

BARS: Spec = {"mark": "bar", "data": {"values": [{"a": 1}, {"a": 3}]}, "encoding": {"x": {"field": "a"}}}
DOTS: Spec = {**BARS, "mark": "point"}


def test_a_picture_is_the_same_wherever_it_is_drawn() -> None:
    with Painter() as painter:
        assert painter.order(BARS) == ""
        assert painter.draw(DOTS) == to_svg(DOTS)
        assert painter.draw(BARS) == to_svg(BARS)


def test_a_picture_is_drawn_here_when_the_process_has_ended() -> None:
    with Painter() as painter:
        assert painter._process is not None
        painter._process.kill()
        painter._process.wait()
        assert painter.draw(BARS) == to_svg(BARS)


def test_a_picture_is_drawn_here_when_there_is_no_interpreter_to_start(monkeypatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with Painter() as painter:
        assert painter.draw(BARS) == to_svg(BARS)


def test_the_process_ends_with_the_painter() -> None:
    with Painter() as painter:
        process = painter._process
    assert process is not None and process.poll() is not None


def test_letters_that_cannot_be_drawn_are_replaced() -> None:
    spec: Spec = {**BARS, "data": {"values": [{"a": "N\x01q\x1b\x00\ufffe"}]}}
    assert "<svg" in to_svg(spec)
